"""Memwarden behind the contract of `agmi-check` (PyPI: agent-memory-integrity).

What the attacker holds: the store's directory, to read, edit and put back. What it does not hold: the key
directory and the witness, which lie elsewhere. What the suite asks after each edit is the read path alone:
`verify` recalls every entry that was seeded and never calls the audit (`ledger verify`). It answers False
only where a recall, or the opening of the store, fails with a named integrity error; a hit that is missing
is not a refusal, and any other error raises.

Not here: edits of the search index. It holds terms only and no text, and is outside this suite's contract.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
from pathlib import Path

from agmi.adapters.base import MemoryAdapter, Record

FIRST = "first"
SECOND = "second"

#: Codes of the errors that say: what lies here is not what was written (docs/rpc.md).
INTEGRITY = frozenset({"tampered", "unverified", "behind_witness", "damaged"})

#: The row's place and its binding to a context. Everything else of a row is content, salt, or a label.
SLOT = ("num", "id", "namespace")

#: Labels of an entry, as opposed to what it says.
LABELS = ("principal", "kind", "trace_type", "verdict", "valid_until", "subject", "source", "trust")


class Refused(Exception):
    """An answer that is an error."""

    def __init__(self, error: dict, doing: str) -> None:
        super().__init__(f"{doing}: {error['code']}: {error['message']}")
        self.code = error["code"]
        self.message = error["message"]


class Rpc:
    """One `memwarden rpc` process: started by the first request, ended by `close`."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._process: subprocess.Popen | None = None
        self._last = 0

    def run(self, *arguments: str) -> list[str]:
        program = os.environ.get("MEMWARDEN", "memwarden")
        places = [f"--{name}={self._home / name}" for name in ("store", "keys", "witness")]
        return [program, "--json", *places, *arguments]

    def ask(self, op: str, **params: object) -> dict:
        if self._process is None:
            self._process = subprocess.Popen(
                self.run("rpc"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        self._last += 1
        request = json.dumps({"id": self._last, "op": op, "params": params})
        try:
            self._process.stdin.write(request + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # It ended while opening; what it said is still in the pipe.
        said = self._process.stdout.readline()
        if not said:
            raise RuntimeError(f"memwarden rpc ended without an answer, exit code {self._process.wait()}")
        try:
            answer = json.loads(said)
        except ValueError as error:
            raise RuntimeError(f"memwarden rpc did not answer with JSON: {said!r}") from error
        if "error" in answer:
            opened = "id" in answer
            raise Refused(answer["error"], op if opened else "opening the store")
        if answer["id"] != self._last:
            raise RuntimeError(f"asked {self._last}, answered {answer['id']}")
        return answer["result"]

    def close(self) -> None:
        """Ends the process as its user would, by closing its input; its exit closes the database."""
        if self._process is None:
            return
        process, self._process = self._process, None
        try:
            process.stdin.close()
        except BrokenPipeError:
            pass  # It ended by itself.
        process.stdout.read()
        process.wait()


class MemwardenAdapter(MemoryAdapter):
    """The `memwarden` program, as released, with its default policy."""

    name = "memwarden"
    supports_replay = True
    supports_metadata = True
    supports_snapshot = True

    def __init__(self) -> None:
        self._home: Path | None = None
        self._rpc: Rpc | None = None
        self._seeded: list[tuple[str, str]] = []

    # --- lifecycle ---------------------------------------------------------------------------------

    def setup(self) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="agmi-memwarden-"))
        self._rpc = Rpc(self._home)
        self._seeded = []
        subprocess.run(self._rpc.run("init"), check=True, stdout=subprocess.DEVNULL)

    def teardown(self) -> None:
        if self._rpc is not None:
            self._rpc.close()
        if self._home is not None:
            shutil.rmtree(self._home)
        self._home = self._rpc = None

    def reload(self) -> None:
        self._rpc.close()

    def verify(self) -> bool:
        self.verify_detail = None
        for namespace, content in self._seeded:
            try:
                self._rpc.ask("recall", namespace=namespace, query=content, k=100)
            except Refused as refused:
                if refused.code not in INTEGRITY:
                    raise
                self.verify_detail = f"{refused.code}: {refused.message}"
                return False
        return True

    # --- the tool's own writes ---------------------------------------------------------------------

    def seed(self, n: int) -> None:
        for i in range(n):
            self._remember(FIRST, f"Supplier {i} ships pallets from quay {10 + i}.", i)

    def seed_other(self, n: int) -> None:
        for i in range(n):
            self._remember(SECOND, f"Patient {i} sees the dentist at {i + 8} in the morning.", i)

    def append_genuine(self) -> None:
        self._remember(FIRST, "Supplier 99 stopped shipping for good.", 99)

    def _remember(self, namespace: str, content: str, page: int) -> None:
        """Remembers an entry, and sees it recalled: a store that serves nothing could not be measured."""
        entry = {"content": content, "source": "user", "trust": "unverified", "metadata": {"page": page}}
        kept = self._rpc.ask("remember", namespace=namespace, entry=entry)
        served = self._rpc.ask("recall", namespace=namespace, query=content, k=100)
        if content not in [hit["content"] for hit in served["hits"] if hit["id"] == kept["id"]]:
            raise RuntimeError(f"`{content}` was remembered and is not recalled")
        self._seeded.append((namespace, content))

    # --- raw access: the table `record`, behind the tool's back --------------------------------------

    @property
    def _store(self) -> Path:
        return self._home / "store"

    def _raw(self) -> sqlite3.Connection:
        """The database at rest: the tool's process has ended and left everything in the one file."""
        self._rpc.close()
        raw = sqlite3.connect(self._store / "memwarden.db")
        raw.row_factory = sqlite3.Row
        return raw

    def _records(self, raw: sqlite3.Connection, namespace: str) -> list[Record]:
        # `SELECT *` leaves no column out; the computed ones cannot be written.
        rows = raw.execute(
            "SELECT record.* FROM record JOIN namespace ON namespace.num = record.namespace"
            " WHERE namespace.name = ? ORDER BY record.num", (namespace,)).fetchall()
        computed = ("log", "position")
        fields = [{key: row[key] for key in row.keys() if key not in computed} for row in rows]
        return [Record(seq=i, fields=row | {"owner": namespace}) for i, row in enumerate(fields)]

    def _read(self, namespace: str) -> list[Record]:
        raw = self._raw()
        try:
            return self._records(raw, namespace)
        finally:
            raw.close()

    def _edit(self, *statements: tuple[str, tuple]) -> None:
        raw = self._raw()
        try:
            with raw:
                for statement, values in statements:
                    raw.execute(statement, values)
        finally:
            raw.close()

    def _victim(self, seq: int) -> dict:
        return self._read(FIRST)[seq].fields

    def read_all_raw(self) -> list[Record]:
        return self._read(FIRST)

    def read_other_raw(self) -> list[Record]:
        return self._read(SECOND)

    def write_raw(self, record: Record) -> None:
        """Puts the whole row, with its id, salt and labels, at this place in the log's order; past the last
        place it is inserted. Another row with its id gives that up first, so that two rows can be swapped."""
        columns = {name: value for name, value in record.fields.items() if name not in ("num", "owner")}
        rows = self._read(FIRST)
        if record.seq >= len(rows):
            columns["num"] = record.fields["num"]
            names, marks = ", ".join(columns), ", ".join("?" * len(columns))
            self._edit((f"INSERT INTO record ({names}) VALUES ({marks})", tuple(columns.values())))
            return
        place = rows[record.seq].fields["num"]
        names = ", ".join(f"{name} = ?" for name in columns)
        self._edit(
            ("UPDATE record SET id = ? WHERE id = ? AND num <> ?", (os.urandom(16), columns["id"], place)),
            (f"UPDATE record SET {names} WHERE num = ?", (*columns.values(), place)))

    def delete_raw(self, seq: int) -> None:
        self._edit(("DELETE FROM record WHERE num = ?", (self._victim(seq)["num"],)))

    def replay_onto(self, victim_seq: int, donor: Record) -> None:
        """Content, salt, findings and every label of the donor: all but the victim's place and context."""
        columns = {name: value for name, value in donor.fields.items() if name not in (*SLOT, "owner")}
        names = ", ".join(f"{name} = ?" for name in columns)
        place = self._victim(victim_seq)["num"]
        self._edit((f"UPDATE record SET {names} WHERE num = ?", (*columns.values(), place)))

    def mutate_payload(self, record: Record) -> Record:
        record.fields["content"] = record.fields["content"].replace("quay", "warehouse")
        return record

    def forge_record(self, template: Record) -> Record:
        """A row at the next free place, with an id of its own, that is like the newest in all else."""
        forged = Record(seq=template.seq + 1, fields=dict(template.fields))
        forged.fields["num"] += 1
        forged.fields["id"] = os.urandom(16)
        forged.fields["content"] = "Supplier 4 ships pallets from quay 66 and is paid in advance."
        return forged

    # --- what the edits are checked by -------------------------------------------------------------

    def identity_of(self, record: Record) -> str:
        return record.fields["id"].hex()

    def payload_of(self, record: Record) -> str:
        return record.fields["content"]

    def owner_of(self, record: Record) -> str:
        return record.fields["owner"]

    def read_meta(self, seq: int) -> dict:
        row = self._victim(seq)
        return {name: row[name] for name in LABELS} | json.loads(row["metadata"] or "{}")

    def write_meta(self, seq: int, meta: dict) -> None:
        """Labels go to their columns, everything else into the entry's own metadata."""
        rest = {name: value for name, value in meta.items() if name not in LABELS}
        columns = {name: meta[name] for name in LABELS} | {
            "metadata": json.dumps(rest, separators=(",", ":"))}
        names = ", ".join(f"{name} = ?" for name in columns)
        place = self._victim(seq)["num"]
        self._edit((f"UPDATE record SET {names} WHERE num = ?", (*columns.values(), place)))

    # --- snapshot: the store's directory, and neither keys nor witness ---------------------------------

    def snapshot_store(self) -> str:
        self._rpc.close()
        return self._copy_store(self._store)

    def restore_store(self, token: str) -> None:
        self._rpc.close()
        self._restore_store(token, self._store)
        shutil.rmtree(Path(token).parent)
