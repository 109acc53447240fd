"""Imports the exports that `run` names into a fresh store and asks for words of each file.

Usage: check.py WORK EXPORTS, with `memwarden` on the path.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

FORMATS = {"mcp-memory": "mcp-memory", "letta-af": "letta-agent-file"}

#: Describes where the files come from; it is no memory file and must be named as such.
NOT_MEMORY = "SOURCE.md"


class Store:
    def __init__(self, work: Path) -> None:
        self._places = [f"--{name}={work / name}" for name in ("store", "keys", "witness")]

    def run(self, *arguments: str) -> tuple[int, object]:
        """Exit code and answer."""
        done = subprocess.run(
            ["memwarden", "--json", *self._places, *arguments], capture_output=True, text=True, encoding="utf-8")
        return done.returncode, json.loads(done.stdout) if done.stdout.strip() else None


class Tally:
    def __init__(self) -> None:
        self.passed = self.failed = 0

    def check(self, what: str, right: bool, seen: object = None) -> None:
        if right:
            self.passed += 1
        else:
            self.failed += 1
            print(f"WRONG {what}: {str(seen)[:400]}")


def active(store: Store) -> int:
    _, status = store.run("status")
    return sum(namespace["records"]["active"] for namespace in status["namespaces"])


def telling_words(text: str, common: Counter) -> str:
    """The text's five rarest words, longest first among equals; the whole text if it has none."""
    words = sorted(set(re.findall(r"\w{4,}", text)), key=lambda word: (common[word], -len(word), word))
    return " ".join(words[:5]) or text


def main() -> int:
    work, exports = Path(sys.argv[1]), Path(sys.argv[2])
    store, tally = Store(work), Tally()
    code, _ = store.run("init")
    tally.check("init", code == 0, code)

    imported_of: dict[str, int] = {}
    for folder, wanted in FORMATS.items():
        for path in sorted((exports / folder).iterdir()):
            code, reports = store.run("--namespace", path.name.replace("@", "-"), "import", str(path))
            report = reports[0]
            if path.name == NOT_MEMORY:
                tally.check(f"{folder}/{path.name} is no memory file and is named", code == 1 and not report["format"],
                            report)
                continue
            name = f"{folder}/{path.name}"
            tally.check(f"{name} is recognized as {wanted}", report["format"] == wanted, report)
            tally.check(f"{name} has no problem", code == 0 and not report["problems"], report)
            imported_of[str(path)] = report["imported"]
            print(f"{name}: {report['imported']} imported, {report['already_there']} repeated in the file")
            recalled(store, tally, name, path.name)
    kept = active(store)
    tally.check("every entry that was reported is in the store", kept == sum(imported_of.values()), imported_of)
    tally.check("the files held something", kept > 100, kept)

    code, report = store.run("ledger", "verify", "--deep")
    tally.check("the store verifies", code == 0 and report["intact"], report)

    for path, before in imported_of.items():
        code, reports = store.run("--namespace", Path(path).name, "import", path)
        tally.check(f"{Path(path).name} again brings nothing", code == 0 and reports[0]["imported"] == 0, reports)
        tally.check(f"{Path(path).name} again finds what it brought", reports[0]["already_there"] >= before, reports)
    tally.check("the second import changed nothing", active(store) == kept, active(store))

    print(f"shared exports: {tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed else 0


def recalled(store: Store, tally: Tally, name: str, namespace: str) -> None:
    """Each entry of the file is found by its own words, and nothing that was imported may support an action."""
    code, status = store.run("status")
    if namespace not in [found["name"] for found in status["namespaces"]]:
        return  # It held no entries; there is nothing to ask for.
    asked = {"id": 0, "op": "list", "params": {"namespace": namespace, "status": "active", "body": True}}
    records = rpc(store, [asked])[0]["result"]
    common = Counter(word for record in records for word in set(re.findall(r"\w{4,}", record["content"])))
    asked = []
    for number, record in enumerate(records):
        query = " ".join(filter(None, [record["subject"], telling_words(record["content"], common)]))[:2_000]
        asked.append({"id": number, "op": "recall", "params": {"namespace": namespace, "query": query, "k": 100}})
    missed = []
    for record, said in zip(records, rpc(store, asked)):
        hits = said.get("result", {}).get("hits", [])
        found = [hit for hit in hits if hit["id"] == record["id"]]
        if not found or found[0]["effective"] != "none" or found[0]["content"] != record["content"]:
            missed.append((record["id"], record["content"][:80], said.get("error")))
    tally.check(f"{name}: all {len(records)} entries are found by their words, with authority none", not missed, missed)


def rpc(store: Store, requests: list[dict]) -> list[dict]:
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run(["memwarden", *store._places, "rpc"], input=lines, capture_output=True, text=True,
                          encoding="utf-8")
    return [json.loads(line) for line in done.stdout.splitlines()]


if __name__ == "__main__":
    sys.exit(main())
