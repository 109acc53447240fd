"""Makes crates/memwarden-cli/tests/fixtures/mem0.json with the real mem0 package.

The importer's mem0 test reads what mem0 itself lists, not what we believe it lists. Everything mem0 does
runs for real (qdrant on disk, in a temporary directory) except the paid model service: embeddings come from
`EmbeddingServiceDouble` on 127.0.0.1, and `infer=False` keeps the language model out of it.

Run it again after a release of mem0 (ids and times will differ, the shape should not):

    python3 -m venv /tmp/mem0-fixture
    /tmp/mem0-fixture/bin/pip install mem0ai==2.2.1
    /tmp/mem0-fixture/bin/python tools/mem0_fixture.py
    cargo test --release -p memwarden-cli mem0
"""

import base64
import hashlib
import json
import os
import struct
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

DIMENSIONS = 16
OUTPUT = Path(__file__).resolve().parent.parent / "crates/memwarden-cli/tests/fixtures/mem0.json"

# What is remembered: the text, whose it is, and what the caller says about it.
MEMORIES = [
    ("I am vegetarian and allergic to walnuts.", {"user_id": "alice"}, {"category": "diet"}),
    ("Book aisle seats; the override for exit rows needs a manager.", {"user_id": "alice"}, None),
    (
        "Decision log: picked the cheaper fare after comparing three listings.",
        {"user_id": "alice", "agent_id": "travel-agent", "run_id": "run-7"},
        {"source": "agent", "step": 4, "tags": ["fare", "compare"]},
    ),
    ("Quarterly report goes to finance on the 5th — “no exceptions”, 必ず。", {"user_id": "alice"}, {}),
]


class EmbeddingServiceDouble(BaseHTTPRequestHandler):
    """Answers `POST /v1/embeddings` as an OpenAI-compatible service would, with vectors made from a hash.

    Any other route is refused: a call to the language model would mean that mem0 rewrote the text.
    """

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/embeddings":
            self.send_error(404, "this double only embeds")
            return
        texts = request["input"] if isinstance(request["input"], list) else [request["input"]]
        data = [
            {"object": "embedding", "index": index, "embedding": encode(vector(text), request)}
            for index, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        body = json.dumps(
            {"object": "list", "data": data, "model": request["model"], "usage": usage}
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def vector(text):
    """A vector that depends on nothing but the text."""
    digest = hashlib.sha256(str(text).encode()).digest()
    return [byte / 255 - 0.5 for byte in digest[:DIMENSIONS]]


def encode(values, request):
    if request.get("encoding_format") == "base64":
        return base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()
    return values


def listed_by_mem0(base_url, directory):
    """Adds the memories and returns what `get_all` says, untouched."""
    os.environ["MEM0_TELEMETRY"] = "False"
    os.environ["MEM0_DIR"] = str(directory / "home")
    from mem0 import Memory

    service = {"api_key": "unused-by-the-double", "openai_base_url": base_url}
    memory = Memory.from_config(
        {
            "vector_store": {
                "provider": "qdrant",
                "config": {
                    "collection_name": "fixture",
                    "embedding_model_dims": DIMENSIONS,
                    "path": str(directory / "qdrant"),
                    "on_disk": True,
                },
            },
            "embedder": {
                "provider": "openai",
                "config": {**service, "model": "double", "embedding_dims": DIMENSIONS},
            },
            "llm": {"provider": "openai", "config": {**service, "model": "double"}},
            "history_db_path": str(directory / "history.db"),
        }
    )
    for text, owner, metadata in MEMORIES:
        memory.add(text, metadata=metadata, infer=False, **owner)
    return memory.get_all(filters={"user_id": "alice"})


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), EmbeddingServiceDouble)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as directory:
        listed = listed_by_mem0(f"http://127.0.0.1:{server.server_port}/v1", Path(directory))
    server.shutdown()
    assert len(listed["results"]) == len(MEMORIES), listed
    OUTPUT.write_text(json.dumps(listed, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    print(f"{OUTPUT}: {len(listed['results'])} memories")


if __name__ == "__main__":
    main()
