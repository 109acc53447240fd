"""Runs experiments/benign-cost-local.toml with a real model behind the proxy, and grades its answers once more.

Usage: local.py ROOT MODEL.gguf OUT, with `memwarden` (feature `full`) on the path and tests/openai among the modules.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import endpoint

ROOT, MODEL, OUT = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
METER = OUT / "calls.jsonl"
CONDITIONS = ["none", "anomaly", "rerank", "stacked"]
PURPOSES = {"none": [], "anomaly": ["defense:anomaly"], "rerank": ["defense:rerank"],
            "stacked": ["defense:anomaly", "defense:rerank"]}
failures = []
checks = 0


def check(what: str, holds: bool, *shown: object) -> None:
    global checks
    checks += 1
    if not holds:
        failures.append(what)
        print(f"WRONG {what}", *shown, file=sys.stderr)


def start(*command: str) -> tuple[subprocess.Popen, dict]:
    process = subprocess.Popen(["memwarden", "--json", *command], stdout=subprocess.PIPE, text=True)
    return process, json.loads(process.stdout.readline())


def stop(process: subprocess.Popen) -> None:
    process.send_signal(signal.SIGTERM)
    check("ends well", process.wait(timeout=120) == 0, process.args)


def memwarden(*arguments: str, **more: str) -> dict:
    done = subprocess.run(["memwarden", "--json", *arguments], capture_output=True, text=True, env=os.environ | more)
    if done.returncode:
        raise SystemExit(f"`memwarden {' '.join(arguments)}` ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def records() -> list[dict]:
    return [json.loads(line) for line in (OUT / "records.jsonl").read_text(encoding="utf-8").splitlines()]


def tokens_of_records(name: str) -> int:
    """Tokens for a purpose, over all cells."""
    spent = [record["result"]["spent"].get(name) for record in records()]
    return sum(one["prompt_tokens"] + one["completion_tokens"] for one in spent if one)


# One request is computed at a time, and a call waits for those before it.
resumed = METER.exists()
serving, behind = start("serve-model", MODEL, "--listen", "127.0.0.1:0")
# A cell is told by its model's address: a run that goes on needs the port it had.
file = OUT / "plan.toml"
had = re.search(r"127\.0\.0\.1:(\d+)", file.read_text(encoding="utf-8")) if file.exists() else None
port = had[1] if had else "0"
proxy, before = start("proxy", "--listen", f"127.0.0.1:{port}", "--upstream", behind["listening"], "--meter", str(METER))
text = (ROOT / "experiments/benign-cost-local.toml").read_text(encoding="utf-8")
text = text.replace("127.0.0.1:PORT", before["listening"].removeprefix("http://"))
file.write_text(re.sub(r'#SmolLM2[^"]*', "#" + behind["model"], text), encoding="utf-8")
began = time.monotonic()
ran = memwarden("lab", "run", str(file), "--out", str(OUT), "--threads", "1")
seconds = time.monotonic() - began
stop(proxy)
stop(serving)
print(f"{ran['cells']} cells in {seconds:.0f} s, {ran['resumed']} of them finished before")

cells = records()
check("a cell for each condition", [cell["config"]["condition"] for cell in cells] == CONDITIONS, len(cells))
for cell in cells:
    result, condition = cell["result"], cell["config"]["condition"]
    extraction = result["extraction"]
    check("40 turns, at most 15 questions", extraction["turns"] == 40 and 1 <= len(result["questions"]) <= 15, cell["cell"])
    check("nothing is simulated", result["simulated"] is False, cell["cell"])
    check("a model was asked for each defense", all(result["spent"][name]["calls"] > 0 for name in PURPOSES[condition]),
          result["spent"].keys())
    check("no stage was idle", result["void"] is None, result["void"])
    graders = {grade["grader"] for asked in result["questions"] for grade in asked["grades"][:1]}
    check("graded by words and by the detector", graders <= {"exact-or-f1-v1", "abstain-v1"}, graders)
parsed = sum(cell["result"]["extraction"]["parsed"] for cell in cells)
replies = sum(cell["result"]["extraction"]["replies"] for cell in cells)
print(f"extraction replies that are whole and parse: {parsed} of {replies} ({100 * parsed / replies:.1f} %)")

# What the cells say they spent is what went through the proxy. A cell that was cut off and begun anew paid twice.
metered = {row["name"]: row for row in memwarden("meter", "report", str(METER), "--by", "purpose")["rows"]}
for name in ["extract", "answer", "defense:anomaly", "defense:rerank"]:
    seen = metered[name]["prompt_tokens"] + metered[name]["completion_tokens"]
    spent = tokens_of_records(name)
    check(f"tokens for {name} are those of the proxy", seen == spent or (resumed and seen > spent), seen, spent)
    print(f"{name}: {metered[name]['calls']} calls, {seen} tokens, as the proxy counted")

report = memwarden("lab", "report", str(OUT))
check("the report says how answers were graded", any("exact-or-f1" in note for note in report["notes"]), report["notes"])
check("four fifths of the extractions parse, or the report says that the run failed",
      parsed >= 0.8 * replies or report["title"].startswith("FAILED"), report["title"])
(OUT / "by-words.json").write_text(json.dumps(report), encoding="utf-8")
for table in report["tables"]:
    if table["name"] in ("benign-cost", "stages", "tokens", "cells"):
        print(f"\n{table['title']}\n{' | '.join(table['columns'])}")
        for row in table["rows"]:
            values = (row[column] for column in table["columns"])
            print(" | ".join(f"{value:.3f}" if isinstance(value, float) else str(value) for value in values))

# The same answers, graded by a judge of another provider. The endpoint calls everything correct, so what it says is known.
double = endpoint.start(says="correct")
url = f"http://127.0.0.1:{double.server_address[1]}/v1"
ungraded = records()
graded = memwarden("lab", "regrade", str(OUT), "--judge", f"endpoint:{url}#other/judge", MEMWARDEN_LAB_KEY=endpoint.KEY)
core = [asked for cell in records() for asked in cell["result"]["questions"]
        if asked["category"] != "adversarial" and asked["answer"] is not None]
check("every core answer has a grade beside the old one", all(len(asked["grades"]) == 2 for asked in core), len(core))
check("by that judge", all(asked["grades"][1]["grader"].endswith(" by other/judge") for asked in core))
check("which calls all of them correct", all(asked["grades"][1]["correct"] is True for asked in core))
check("one call for each", len(double.requests) == len(core) == graded["answers"], len(double.requests), graded)
first = [asked["grades"][0] for cell in ungraded for asked in cell["result"]["questions"] if asked["grades"]]
kept = [asked["grades"][0] for cell in records() for asked in cell["result"]["questions"] if asked["grades"]]
check("the first grades are as they were", first == kept)
double.shutdown()
print(f"\n{graded['answers']} answers graded once more by an endpoint double of another provider")
print(f"{checks} checks, {len(failures)} failed")
sys.exit(1 if failures else 0)
