"""The Python package `openai` through the proxy: what it got, and what the meter says of it.

Run by tests/openai/run with the directory in which the program lies.
"""

import json
import os
import signal
import subprocess
import sys
from collections import Counter

import openai

import endpoint

WORK = sys.argv[1]
MEMWARDEN = os.path.join(WORK, "memwarden")
METER = os.path.join(WORK, "calls.jsonl")
PRICES = os.path.join(WORK, "prices.toml")
ASK = [{"role": "user", "content": "what is the capital of Norway"}]
failures = []
checks = 0


def check(what, holds, *shown):
    global checks
    checks += 1
    if not holds:
        failures.append(what)
        print(f"WRONG {what}", *shown, file=sys.stderr)


def raised(kind, call):
    """The error that a call must end with."""
    try:
        call()
    except kind as error:
        return error
    except Exception as error:  # noqa: BLE001
        check(f"expected {kind.__name__}", False, repr(error))
    else:
        check(f"expected {kind.__name__}, got an answer", False)
    return None


def start(upstream, *more):
    command = [MEMWARDEN, "--json", "proxy", "--listen", "127.0.0.1:0", "--upstream", upstream, *more]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return process, json.loads(process.stdout.readline())["listening"]


def stop(process, by):
    process.send_signal(by)
    out, err = process.communicate(timeout=30)
    check(f"ends well at {by.name}", process.returncode == 0, process.returncode, err)
    check("says nothing of the key", endpoint.KEY not in out + err)


def client(base, **more):
    return openai.OpenAI(api_key=endpoint.KEY, base_url=base, max_retries=0, timeout=20, **more)


def report(*more):
    command = [MEMWARDEN, "--json", "meter", "report", METER, *more]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


with open(PRICES, "w") as prices:
    prices.write('date = "2026-11-30"\n[[price]]\nmodel = "toy"\nprompt = 2.0\ncompletion = 8.0\n')
server = endpoint.start()
upstream = f"http://127.0.0.1:{server.server_port}"
process, base = start(upstream, "--meter", METER, "--prices", PRICES)

# The usage that the client sees, by purpose.
seen = {}


def saw(purpose, usage):
    calls, prompt, completion = seen.get(purpose, (0, 0, 0))
    seen[purpose] = (calls + 1, prompt + usage.prompt_tokens, completion + getattr(usage, "completion_tokens", 0))


# A chat, its purpose in a header of this call.
named = client(f"{base}/v1")
chat = named.chat.completions.create(
    model="toy", messages=ASK, extra_headers={"x-memwarden-purpose": "extract"}, extra_body={"unheard_of": {"kept": 1}}
)
check("a chat is answered", chat.choices[0].message.content == "Oslo is the capital.", chat)
saw("extract", chat.usage)
path, headers, body = server.requests[-1]
check("fields that nobody knows arrive", json.loads(body)["unheard_of"] == {"kept": 1}, body)
check("the key arrives", headers["authorization" if "authorization" in headers else "Authorization"].endswith(endpoint.KEY))
check("the label does not", not any("memwarden" in name.lower() for name in headers), headers)

# A stream, its purpose in the base address.
answering = client(f"{base}/purpose/answer/v1")
pieces = list(
    answering.chat.completions.create(
        model="toy", messages=ASK, stream=True, stream_options={"include_usage": True}
    )
)
text = "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)
check("a stream is answered", text == "Oslo is the capital.", text)
saw("answer", pieces[-1].usage)
saw("answer", answering.chat.completions.create(model="toy", messages=ASK).usage)

# An embedding, its purpose in a header of the client.
tagged = client(f"{base}/v1", default_headers={"x-memwarden-purpose": "embed"})
vectors = tagged.embeddings.create(model="toy", input=["one two", "three"])
check("an embedding is answered", [item.embedding for item in vectors.data] == [[0.25, -0.5]] * 2, vectors)
saw("embed", vectors.usage)

# The list of models needs none.
check("models are listed", [model.id for model in named.models.list()] == ["toy"])

# What goes wrong.
failing = client(f"{base}/purpose/wrong/v1")
ask = lambda model, **more: failing.chat.completions.create(model=model, messages=ASK, **more)  # noqa: E731
raised(openai.InternalServerError, lambda: ask("toy-500"))
limited = raised(openai.RateLimitError, lambda: ask("toy-429"))
check("retry-after passes", limited is not None and limited.response.headers.get("retry-after") == "3")
stranger = openai.OpenAI(api_key="another", base_url=f"{base}/purpose/wrong/v1", max_retries=0)
denied = raised(
    openai.AuthenticationError, lambda: stranger.chat.completions.create(model="toy", messages=ASK)
)
check("its refusal is the endpoint's", denied is not None and denied.code == "invalid_api_key", denied)
cut = []
raised(Exception, lambda: cut.extend(ask("toy-cut", stream=True)))
check("a stream that is cut raises after its pieces", len(cut) == 2, cut)
check("a reply at its limit passes", ask("toy-short").choices[0].finish_reason == "length")
try:
    check("a reply that is none is no chat", not hasattr(ask("toy-html"), "choices"))
except Exception:  # noqa: BLE001
    pass
nameless = raised(openai.BadRequestError, lambda: named.chat.completions.create(model="toy", messages=ASK))
check("a call without a purpose is refused", nameless is not None and nameless.code == "missing_purpose", nameless)

# An endpoint that does not count.
client(f"{base}/purpose/uncounted/v1").chat.completions.create(model="gpt-4o", messages=ASK)

stop(process, signal.SIGTERM)

# What the meter says.
rows = {row["name"]: row for row in report("--by", "purpose")["rows"]}
for purpose, (calls, prompt, completion) in seen.items():
    row = rows.get(purpose, {})
    said = (row.get("calls"), row.get("prompt_tokens"), row.get("completion_tokens"))
    check(f"`{purpose}` has the usage that the client saw", said == (calls, prompt, completion), said, row)
    check(f"`{purpose}` lost nothing", row.get("failed") == {} and row.get("counted") == 0, row)
wrong = Counter(rows["wrong"]["failed"])
expected = Counter({"upstream": 3, "cut": 1, "truncated": 1, "malformed": 1})
check("what went wrong is counted by name", wrong == expected, rows["wrong"])
uncounted = rows["uncounted"]
check(
    "what the endpoint did not count is counted and marked",
    (uncounted["calls"], uncounted["counted"]) == (1, 1) and uncounted["completion_tokens"] >= 4,
    uncounted,
)
check("nothing else is in the meter", set(rows) == {*seen, "wrong", "uncounted"}, sorted(rows))
with open(METER) as lines:
    meter = lines.read()
calls = [json.loads(line) for line in meter.splitlines()]
check("no key is in the meter", endpoint.KEY not in meter)
chat_line = next(call for call in calls if call["purpose"] == "extract")
# Picodollars: 2 dollars for a million tokens are 2,000,000 a token.
cost = chat.usage.prompt_tokens * 2_000_000 + chat.usage.completion_tokens * 8_000_000
check("a call costs what the table says", chat_line["cost_picousd"] == cost, chat_line, cost)
check(
    "a call without a price costs nobody knows what",
    next(call for call in calls if call["purpose"] == "uncounted")["cost_picousd"] is None,
)

# An endpoint that is down, and the other signal.
process, base = start("http://127.0.0.1:9", "--meter", METER)
down = raised(
    openai.InternalServerError,
    lambda: client(f"{base}/purpose/down/v1").chat.completions.create(model="toy", messages=ASK),
)
check("an endpoint that is down is a 502 with a name", down is not None and down.code == "upstream_unreachable", down)
stop(process, signal.SIGINT)
rows = {row["name"]: row for row in report("--by", "purpose")["rows"]}
check("a second proxy appends to the meter", "extract" in rows and rows["down"]["failed"] == {"unreachable": 1}, rows)

print(f"openai {openai.__version__}: {checks - len(failures)} passed, {len(failures)} failed")
sys.exit(1 if failures else 0)
