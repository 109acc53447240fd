"""Makes the seeds of the fuzz targets in fuzz/seeds: small files of our own, one folder for each target.

    python3 tools/fuzz_seeds.py
    cargo test --release -p memwarden-cli seeds

The same bytes come out each time. What a fuzzer found is added by hand under a name that says what it was.
"""

import json
import pickle
import sqlite3
import struct
import tempfile
from pathlib import Path

SEEDS = Path(__file__).resolve().parent.parent / "fuzz/seeds"
DIGEST = "0a" * 32


def put(target, name, content):
    path = SEEDS / target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def lines(*rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def database(*statements, rows=()):
    """The bytes of a database with small pages."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "seed.db"
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA page_size = 512")
        for statement in statements:
            connection.execute(statement)
        for statement, values in rows:
            connection.execute(statement, values)
        connection.commit()
        connection.execute("VACUUM")
        connection.close()
        return path.read_bytes()


def packed(value):
    """MessagePack, as little of it as the seeds need."""
    if value is None:
        return b"\xc0"
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        return struct.pack(">Bq", 0xD3, value)
    if isinstance(value, str):
        text = value.encode()
        return struct.pack(">BB", 0xD9, len(text)) + text
    if isinstance(value, bytes):  # An extension of kind 5, which names a class and its arguments.
        return struct.pack(">BHB", 0xC8, len(value), 5) + value
    if isinstance(value, list):
        return struct.pack(">BH", 0xDC, len(value)) + b"".join(map(packed, value))
    return struct.pack(">BH", 0xDE, len(value)) + b"".join(packed(k) + packed(v) for k, v in value.items())


def messages():
    human = packed(["chat.messages", "Human", {"content": "Which batches came?", "id": "m-1", "type": "human"}])
    return packed({"v": 4, "channel_values": {"messages": [human, {"role": "user", "content": "And today?"}]}, "n": None})


def text_files():
    entity = {"type": "entity", "name": "Gate", "entityType": "fact", "observations": ["Opens at nine.", "Shuts at six."]}
    relation = {"type": "relation", "from": "Gate", "to": "Yard", "relationType": "leads to"}
    put("mcp_memory", "lines", lines(entity, relation))
    put("mcp_memory", "graph", json.dumps({"entities": [entity], "relations": [relation]}))
    put("mcp_memory", "damaged", lines(entity) + '{"type":"entity","name":"Gate","observ\n' + lines({"type": "checkpoint"}))
    put("jsonl", "rows", lines({"id": 1, "content": "The gate opens at nine.", "kind": "general", "source": "web"}))
    put("jsonl", "other", lines({"id": "a", "content": "x y", "kind": "unheard of", "metadata": 7}, {"text": "two words"}))
    memory = {"id": "m", "memory": "Tea, not coffee.", "metadata": {"note": "said at breakfast"}, "user_id": "alice"}
    put("mem0", "results", json.dumps({"results": [memory], "relations": [{"source": "a b", "target": "c d"}]}))
    put("mem0", "list", json.dumps([memory, 7]))
    agent = {
        "agents": [{"messages": [{"role": "user", "content": [{"type": "text", "text": "The gate, please."}]}]}],
        "blocks": [{"label": "human", "value": "Speaks Polish."}, {"label": "persona", "value": None}],
    }
    put("letta", "agent", json.dumps(agent))
    put("letta", "twice", json.dumps(json.dumps(agent)))
    put("json", "notes", json.dumps({"id": "n", "notes": ["Shuts at six.", {"inner": json.dumps({"a": "two words"})}]}))
    put("json", "deep", "[" * 200 + '"the bottom of it"' + "]" * 200)
    put("json", "cut", '{"notes": ["Shuts at six.", "and opens \\ud800 at')
    chroma = {"chroma:document": "Shuts at six.", "summary": "the gate in short"}
    put("chroma_dump", "rows", json.dumps([{"id": "a", "metadata": chroma}, {"id": 7}]))
    put("chroma_dump", "get", json.dumps({"ids": ["a", "b"], "documents": ["Shuts at six.", None], "metadatas": [None, chroma]}))
    put("chroma_dump", "map", json.dumps({"a": {"document": "Shuts at six.", "metadata": {"k": "v"}}}))
    task = {"id": 1, "task_description": "List the batches.", "metadata": json.dumps({"suggestions": ["Name the scale."]})}
    put("crewai_dump", "rows", json.dumps([task, "a stray text", {"task_description": ""}]))
    put("markdown", "notes", "---\nname: x\n---\n# Gate\n\nOpens at nine,\nsays @docs/gate.md.\n\n```sh\nopen\n```\n- one\n  1. two\n"
        "* * *\n<!-- shut -->\n~~~\nunclosed\n")
    put("text", "utf16", "\ufeffThe gate opens.\n\nAt nine.".encode("utf-16-le"))
    put("text", "latin", "caf\xe9 at the gate\n".encode("latin-1"))
    known = {"content": DIGEST, "rule": "keyword/word", "file": "MEMORY.md", "place": "line 3"}
    put("baseline", "one", json.dumps({"version": 1, "findings": [known]}))
    put("baseline", "broken", json.dumps({"version": 1, "findings": [{**known, "content": "no digest"}]}))


def databases():
    put("langgraph_value", "msgpack", messages())
    put("langgraph_value", "json", json.dumps({"channel_values": {"messages": [{"kwargs": {"content": "x", "id": "m"}}]}}))
    checkpoint = ("INSERT INTO checkpoints VALUES ('t', '', 'c', NULL, ?, ?, ?)", ("msgpack", messages(), b'{"step": 1}'))
    put("langgraph", "current", database(
        "CREATE TABLE checkpoints (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, parent_checkpoint_id TEXT, "
        "type TEXT, checkpoint BLOB, metadata BLOB)",
        "CREATE TABLE writes (thread_id TEXT, channel TEXT, type TEXT, value BLOB)",
        rows=[checkpoint, ("INSERT INTO writes VALUES ('t', 'm', 'pickle', ?)", (pickle.dumps("x", 4),))]))
    old = json.dumps({"channel_values": {"messages": [{"kwargs": {"content": "At nine.", "id": "m"}}]}})
    put("langgraph", "old", database(
        "CREATE TABLE checkpoints (thread_id TEXT, thread_ts TEXT, parent_ts TEXT, checkpoint BLOB, metadata BLOB)",
        rows=[("INSERT INTO checkpoints VALUES ('t', '1', NULL, ?, ?)", (old.encode(), b"{}"))]))
    put("langgraph_store", "items", database(
        "CREATE TABLE store (prefix TEXT, key TEXT, value TEXT, PRIMARY KEY (prefix, key))",
        rows=[("INSERT INTO store VALUES ('m.a', 'k', ?)", (json.dumps({"content": "Shuts at six."}),))]))
    put("chroma", "two", database(
        "CREATE TABLE embeddings (id INTEGER PRIMARY KEY, embedding_id TEXT)",
        "CREATE TABLE embedding_metadata (id INTEGER, key TEXT, string_value TEXT, int_value INTEGER)",
        rows=[
            ("INSERT INTO embeddings VALUES (1, 'a')", ()),
            ("INSERT INTO embedding_metadata VALUES (1, 'chroma:document', 'Shuts at six.', NULL)", ()),
            ("INSERT INTO embedding_metadata VALUES (1, 'summary', 'the gate in short', NULL)", ()),
            ("INSERT INTO embedding_metadata VALUES (2, 'summary', 'without a document', NULL)", ()),
        ]))
    put("crewai", "tasks", database(
        "CREATE TABLE long_term_memories (id INTEGER PRIMARY KEY, task_description TEXT, metadata TEXT, score REAL)",
        rows=[("INSERT INTO long_term_memories VALUES (1, 'List the batches.', ?, 8.0)",
               (json.dumps({"suggestions": ["Name the scale."]}),))]))
    put("qdrant", "points", database(
        "CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)",
        rows=[("INSERT INTO points VALUES ('a', ?)", (pickle.dumps({"payload": "x"}, 4),))]))
    put("sqlite", "any", database(
        "CREATE TABLE history (id TEXT, memory TEXT, extra) WITHOUT ROWID" .replace("id TEXT", "id TEXT PRIMARY KEY"),
        "CREATE VIEW v AS SELECT * FROM history",
        rows=[("INSERT INTO history VALUES ('a', 'Tea, not coffee.', ?)", (b"a blob of text",))]))


if __name__ == "__main__":
    text_files()
    databases()
    print(f"{SEEDS}: {sum(1 for path in SEEDS.rglob('*') if path.is_file())} files")
