"""An endpoint that speaks as much of OpenAI's protocol as the package needs, with answers that are always the same.

What it does is in the model's name: `toy` answers, `toy-401`, `toy-429`, `toy-500` refuse, `toy-cut` breaks off in the
middle of a stream, `toy-html` answers what is no JSON. It keeps the requests that it got, byte for byte.
"""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = "sk-of-the-client-0123456789"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.server.requests.append((self.path, dict(self.headers), b""))
        self.answer(200, {"object": "list", "data": [{"id": "toy", "object": "model", "created": 0, "owned_by": "us"}]})

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.requests.append((self.path, dict(self.headers), body))
        asked = json.loads(body)
        model = asked["model"]
        if self.headers.get("authorization") != f"Bearer {KEY}":
            return self.refuse(401, "invalid_api_key")
        if model.startswith("toy-") and model[4:].isdigit():
            return self.refuse(int(model[4:]), "refused_by_the_endpoint")
        if model == "toy-html":
            return self.answer(200, "<html>busy</html>")
        if self.path == "/v1/embeddings":
            texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
            data = [{"object": "embedding", "index": n, "embedding": [0.25, -0.5]} for n in range(len(texts))]
            count = sum(len(text.split()) for text in texts)
            usage = {"prompt_tokens": count, "total_tokens": count}
            return self.answer(200, {"object": "list", "model": model, "data": data, "usage": usage})
        words = self.server.words
        prompt = sum(len(message["content"].split()) for message in asked["messages"])
        usage = {"prompt_tokens": prompt, "completion_tokens": len(words), "total_tokens": prompt + len(words)}
        if asked.get("stream"):
            return self.stream(model, words, usage, asked.get("stream_options") or {})
        message = {"role": "assistant", "content": "".join(words)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        if model == "toy-short":
            choice = {"index": 0, "message": {"role": "assistant", "content": "Os"}, "finish_reason": "length"}
        whole = {"id": "c-1", "object": "chat.completion", "created": 0, "model": model, "choices": [choice]}
        if model != "gpt-4o":
            whole["usage"] = usage
        self.answer(200, whole)

    def answer(self, status, value, *headers):
        body = (value if isinstance(value, str) else json.dumps(value)).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status, code):
        error = {"message": "the endpoint says no", "type": "endpoint", "param": None, "code": code}
        self.answer(status, {"error": error}, *([("retry-after", "3")] if status == 429 else []))

    def stream(self, model, words, usage, options):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        head = {"id": "c-2", "object": "chat.completion.chunk", "created": 0, "model": model}
        for word in words[:2] if model == "toy-cut" else words:
            self.event({**head, "choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]})
        if model == "toy-cut":
            self.close_connection = True
            return
        self.event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        if options.get("include_usage"):
            self.event({**head, "choices": [], "usage": usage})
        self.chunk(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def event(self, value):
        self.chunk(b"data: " + json.dumps(value).encode() + b"\n\n")

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


def start(says="Oslo is the capital."):
    """An endpoint on a free port, in the background, that answers every chat with the same words."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.requests = []
    server.words = re.findall(r"\S+\s*", says)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
