"""Runs the experiments on the price of a defense and holds what is published against the real files.

Usage: check.py WORK ROOT quick|full, with `memwarden` (feature `lab`) on the path.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

# ../shared/data/locomo/ALIGNMENT.md: raw, aligned, core, adversarial, then categories 1 to 4.
ALIGNED = {
    "conv-26": (86, 75, 66, 9, 8, 18, 6, 34), "conv-30": (51, 51, 38, 13, 4, 11, 0, 23),
    "conv-41": (32, 32, 25, 7, 4, 5, 1, 15), "conv-42": (42, 42, 33, 9, 4, 9, 4, 16),
    "conv-43": (55, 55, 38, 17, 2, 8, 4, 24),
}
ALIGNED_BESIDE = {"conv-44": (28, 21, 7), "conv-47": (34, 30, 4), "conv-48": (56, 47, 9), "conv-49": (59, 45, 14),
                  "conv-50": (41, 33, 8)}
# Mean of replicates from the paper's own cells, in points.
CORE = {"sanitize": 0.04, "provenance": -0.22, "anomaly": 1.13, "rerank": -7.31, "stacked": -4.61}
ADVERSARIAL = {"sanitize": -6.65, "provenance": -1.69, "anomaly": -2.95, "rerank": 0.95, "stacked": 1.09}
FQR = {"rerank": 0.337, "stacked": 0.299}
RERANK_BY_REPLICATE = (-7.9, -10.7, -3.4)
COLUMNS = ["condition", "set", "delta_vote", "ci_low", "ci_high", "delta_mean", "mcnemar_p", "signflip_p",
           "token_overhead", "fqr", "cells", "resolvable_effect"]


class Tally:
    def __init__(self) -> None:
        self.passed = self.failed = 0

    def check(self, what: str, right: bool, seen: object = None) -> None:
        if right:
            self.passed += 1
        else:
            self.failed += 1
            print(f"WRONG {what}: {str(seen)[:400]}")


def memwarden(*arguments: str) -> tuple[int, dict]:
    done = subprocess.run(["memwarden", "--json", *arguments], capture_output=True, text=True, encoding="utf-8")
    if not done.stdout.strip():
        return done.returncode, {"stderr": done.stderr}
    return done.returncode, json.loads(done.stdout)


def run(file: Path, out: Path, *more: str) -> dict:
    code, said = memwarden("lab", "run", str(file), "--out", str(out), *more)
    if code:
        raise SystemExit(f"`lab run {file}` ended with {code}: {said}")
    return said


def killed_and_resumed(tally: Tally, file: Path, out: Path, after: int) -> None:
    """Kills a run once it has some records, and lets another finish it."""
    process = subprocess.Popen(["memwarden", "--json", "lab", "run", str(file), "--out", str(out)],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    records = out / "records.jsonl"
    deadline = time.monotonic() + 300
    while process.poll() is None and time.monotonic() < deadline:
        if records.exists() and records.read_bytes().count(b"\n") >= after:
            process.send_signal(signal.SIGKILL)
            break
        time.sleep(0.005)
    process.wait()
    tally.check("the run was killed before its end", process.returncode == -signal.SIGKILL, process.returncode)
    said = run(file, out)
    tally.check("and resumed, not begun anew", 0 < said["resumed"] < said["cells"], said)


def published(tally: Tally, shared: Path) -> None:
    _, said = memwarden("lab", "dialogues", str(shared / "locomo/locomo10.json"))
    rows = {row["conversation"]: row for row in said["tables"][0]["rows"]}
    kinds = ("multi-hop", "temporal", "open-domain", "single-hop")
    for name, wanted in ALIGNED.items():
        row = rows[name]
        seen = tuple(row[key] for key in ("raw", "aligned", "core", "adversarial", *kinds))
        tally.check(f"alignment of {name}", seen == wanted and row["turns"] == 150, seen)
    for name, wanted in ALIGNED_BESIDE.items():
        row = rows[name]
        tally.check(f"alignment of {name}", (row["aligned"], row["core"], row["adversarial"]) == wanted, row)

    _, said = memwarden("lab", "recompute", str(shared / "price-of-safety/table5.csv"))
    main = {(row["condition"], row["set"]): row for row in said["tables"][0]["rows"]}
    for kind, wanted in (("core", CORE), ("adversarial", ADVERSARIAL)):
        for condition, delta in wanted.items():
            seen = main[condition, kind]["delta_mean"]
            tally.check(f"{condition}, {kind}, by the mean", abs(seen - delta) < 0.005, seen)
    for condition, fqr in FQR.items():
        tally.check(f"rate of {condition}", abs(main[condition, "core"]["fqr_at_3"] - fqr) < 0.0005, main)
    replicates = [row["delta"] for row in said["tables"][1]["rows"]
                  if row["condition"] == "rerank" and row["set"] == "core"]
    close = all(abs(seen - wanted) < 0.05 for seen, wanted in zip(replicates, RERANK_BY_REPLICATE, strict=True))
    tally.check("rerank by replicate", close, replicates)


def reported(tally: Tally, out: Path, conditions: int) -> None:
    code, report = memwarden("lab", "report", str(out))
    tally.check("report", code == 0, report)
    main = report["tables"][0]
    tally.check("the rows have their columns", main["columns"] == COLUMNS, main["columns"])
    tally.check("a row for each condition and set", len(main["rows"]) == 2 * (conditions - 1), len(main["rows"]))
    tally.check("what is simulated says so", any("SIMULATED" in note for note in report["notes"]), report["notes"])
    page = (out / "report.html").read_text(encoding="utf-8")
    outside = [word for word in ("http://", "https://", "<script", "url(") if word in page]
    tally.check("the page needs nothing else", not outside, outside)


def main() -> int:
    work, root, how = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    tally = Tally()
    quick = root / "experiments/benign-cost-quick.toml"
    run(quick, work / "whole")
    run(quick, work / "one-thread", "--threads", "1")
    killed_and_resumed(tally, quick, work / "killed", 3)
    whole = (work / "whole/records.jsonl").read_bytes()
    for name in ("one-thread", "killed"):
        tally.check(f"the same bytes, {name}", (work / name / "records.jsonl").read_bytes() == whole)
    reported(tally, work / "whole", 8)

    shared = root.parent / "shared/data"
    if (shared / "locomo/locomo10.json").exists():
        published(tally, shared)
        if how == "full":
            file = root / "experiments/benign-cost.toml"
            began = time.monotonic()
            run(file, work / "full")
            print(f"benign-cost: 90 cells in {time.monotonic() - began:.0f} s")
            killed_and_resumed(tally, file, work / "full-killed", 20)
            same = (work / "full/records.jsonl").read_bytes() == (work / "full-killed/records.jsonl").read_bytes()
            tally.check("the full grid, killed and resumed, has the same bytes", same)
            reported(tally, work / "full", 6)
    else:
        print("DID NOT RUN: ../shared is missing, so no published table was held against real files")
    print(f"price of a defense: {tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
