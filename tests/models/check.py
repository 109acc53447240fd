"""The Python package `openai` asks a real model through the proxy; afterwards the meter must show what the client saw.

Run by tests/models/run with the directory in which the program lies, and the model.
"""

import json
import os
import signal
import subprocess
import sys

import openai

WORK, MODEL = sys.argv[1:]
MEMWARDEN = os.path.join(WORK, "memwarden")
METER = os.path.join(WORK, "calls.jsonl")
NAME = os.path.basename(MODEL).removesuffix(".gguf")
failures = []
checks = 0


def check(what, holds, *shown):
    global checks
    checks += 1
    if not holds:
        failures.append(what)
        print(f"WRONG {what}", *shown, file=sys.stderr)


def start(*command):
    process = subprocess.Popen(
        [MEMWARDEN, "--json", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    return process, json.loads(process.stdout.readline())["listening"]


def stop(process):
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    check("ends well", process.returncode == 0, process.returncode, err)


model, address = start("serve-model", MODEL, "--listen", "127.0.0.1:0")
proxy, base = start("proxy", "--upstream", address, "--meter", METER)
seen = {}


def client(purpose):
    return openai.OpenAI(api_key="none", base_url=f"{base}/purpose/{purpose}/v1", max_retries=0, timeout=300)


def saw(purpose, usage):
    calls, prompt, completion = seen.get(purpose, (0, 0, 0))
    seen[purpose] = (calls + 1, prompt + usage.prompt_tokens, completion + usage.completion_tokens)


def ask(purpose, text, **more):
    messages = [{"role": "user", "content": text}]
    return client(purpose).chat.completions.create(model=NAME, messages=messages, temperature=0, **more)


check("the model is listed", [listed.id for listed in client("list").models.list()] == [NAME])

# Whole, with the log-probabilities of its tokens.
chat = ask("answer", "What is the capital of France? Answer with one short sentence.", max_tokens=40, logprobs=True)
saw("answer", chat.usage)
choice = chat.choices[0]
check("it knows a capital", "Paris" in choice.message.content, choice)
check("it ends by itself", choice.finish_reason == "stop", choice)
tokens = choice.logprobs.content
check("its tokens are its text", "".join(token.token for token in tokens) == choice.message.content, tokens)
check("they are likely, and no more than certain", all(-12 < token.logprob <= 0 for token in tokens), tokens)
check("its usage is that of its tokens", chat.usage.completion_tokens - len(tokens) in (0, 1), chat.usage)

# As a stream: the same question at temperature 0 has the same answer.
pieces = list(
    client("stream").chat.completions.create(
        model=NAME,
        messages=[{"role": "user", "content": "What is the capital of France? Answer with one short sentence."}],
        temperature=0,
        max_tokens=40,
        stream=True,
        stream_options={"include_usage": True},
    )
)
text = "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)
check("a stream says the same", text == choice.message.content, text)
saw("stream", pieces[-1].usage)

# JSON by a schema.
schema = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "is_capital": {"type": "boolean"}},
    "required": ["city", "is_capital"],
    "additionalProperties": False,
}
shaped = ask(
    "extract",
    "Paris is the capital of France. Give the city and whether it is a capital, as JSON.",
    max_tokens=200,
    response_format={"type": "json_schema", "json_schema": {"name": "place", "schema": schema, "strict": True}},
)
saw("extract", shaped.usage)
place = json.loads(shaped.choices[0].message.content)
check("JSON has its shape", set(place) == {"city", "is_capital"} and isinstance(place["is_capital"], bool), place)

# Cut off at its limit, and said so on every way.
cut = ask("cut", "Count from one to one hundred.", max_tokens=5)
saw("cut", cut.usage)
check("a cut reply says so", cut.choices[0].finish_reason == "length" and cut.usage.completion_tokens == 5, cut)

# What it cannot do is a refusal of the endpoint, which the proxy passes on.
try:
    ask("wrong", "x", n=2)
except openai.BadRequestError as error:
    check("a refusal names its field", "`n`" in error.message, error.message)
else:
    check("two replies are refused", False)

stop(proxy)
stop(model)
report = subprocess.run([MEMWARDEN, "--json", "meter", "report", METER], check=True, capture_output=True, text=True)
rows = {row["name"]: row for row in json.loads(report.stdout)["rows"]}
for purpose, (calls, prompt, completion) in seen.items():
    row = rows.get(purpose, {})
    metered = (row.get("calls"), row.get("prompt_tokens"), row.get("completion_tokens"))
    check(f"the meter agrees on {purpose}", metered == (calls, prompt, completion), row)
check("the meter has nothing else", set(rows) == {*seen, "wrong"}, rows)
check("what was cut is entered as cut", rows["cut"]["failed"] == {"truncated": 1}, rows["cut"])
print(f"{checks} checks, {len(failures)} wrong; the model said: {choice.message.content!r}")
sys.exit(1 if failures else 0)
