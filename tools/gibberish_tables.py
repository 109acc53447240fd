"""Makes crates/memwarden-guard/lists/gibberish-v1.toml from the texts of this repository.

Usage: python3 tools/gibberish_tables.py > crates/memwarden-guard/lists/gibberish-v1.toml

Reads what git tracks: Rust, Markdown, TOML, JSON and Python, some two million characters of English prose and code.
Writes two tables: what joins two words in them, and how unlikely one letter is after another within a word.
The tables are frozen with the file's version; run it again only to make a new version, since the thresholds in
`gibberish.rs` belong to these figures.
"""

import collections
import math
import pathlib
import re
import subprocess

JOINT = re.compile(r"(?<=[A-Za-z]{2})[!-/:-@\[-^`{-~]{1,8}(?=[A-Za-z]{2})")
SYMBOLS = " abcdefghijklmnopqrstuvwxyz"
STEPS = 25  # `a` is certain, `z` is FLOOR nats or worse
FLOOR = 7.0
SMOOTHING = 0.1

root = pathlib.Path(__file__).resolve().parent.parent
names = subprocess.check_output(["git", "-C", str(root), "ls-files"], text=True).split()
names = [n for n in names if n.endswith((".rs", ".md", ".toml", ".json", ".py")) and "lists/gibberish" not in n]

joints, pairs, firsts = set(), collections.Counter(), collections.Counter()
for name in names:
    text = (root / name).read_text(encoding="utf-8")
    joints.update(JOINT.findall(text))
    if not name.endswith((".rs", ".md")):
        continue
    for word in re.findall("[a-z]+", text.lower()):
        word = f" {word} "
        for pair in zip(word, word[1:]):
            pairs[pair] += 1
            firsts[pair[0]] += 1

print("# Made by tools/gibberish_tables.py from the texts of this repository; not to be edited.")
print('version = "gibberish-v1"')
print("# What stands between two words in ordinary prose and code.")
print("joints = [")
for joint in sorted(joints):
    print("    '''" + joint + "''',") if "'" not in joint else print('    "' + joint.replace("\\", "\\\\").replace('"', '\\"') + '",')
print("]")
print("# How unlikely each letter (column) is after another (row); the first row and column are the edge of a word.")
print("# From a, certain, in steps of 0.28 nats to z, 7 nats or worse.")
print("letters = [")
for a in SYMBOLS:
    row = ""
    for b in SYMBOLS:
        p = (pairs[a, b] + SMOOTHING) / (firsts[a] + SMOOTHING * len(SYMBOLS))
        row += chr(ord("a") + round(min(FLOOR, -math.log(p)) / FLOOR * STEPS))
    print(f'    "{row}",')
print("]")
