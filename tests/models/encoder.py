"""Holds the vectors of the program against a forward pass of BERT in numpy, double precision.

Run by `tests/models/encoder`: encoder.py PROGRAM DIRECTORY.
"""

import json
import os
import struct
import subprocess
import sys
from math import erf
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

HEADS, EPSILON, WINDOW = 12, 1e-12, 256
# The least cosine to the reference, as the encoder's page promises.
LEAST = 0.9999

PEOPLE = ["Ana", "Ben", "Chioma", "Dmitri", "Elif", "Farid", "Grace", "Hiro"]
FACTS = [
    "{0} moved to Lisbon in March and works for a shipping company now.",
    "Remind {0} that the invoice of the second quarter is still unpaid.",
    "{0} prefers window seats, vegetarian meals and trains over planes!",
    "What did {0} say about the cello lessons on Thursday?",
    "{0} does not drink coffee anymore; tea with lemon (no sugar) is fine.",
]
OTHERS = [
    "ok",
    "The dog bit the postman.",
    "The postman bit the dog.",
    "Build 4711/b failed at 03:15 with exit code 137, see log-2026-11-30.txt.",
    "pip install --no-deps 'tokenizers==0.23.3' && python -m zipfile -e a.whl .",
    "user@example.org wrote: \"don't re-send it, she'll've read it by five o'clock\"",
    "Ünïcödé façade, naïve café, Łódź and São Paulo",
    "Встреча перенесена на четверг, в 15:30.",
    "会議は木曜日に移りました。",
    "تم نقل الاجتماع إلى يوم الخميس",
    "😀 family 👨‍👩‍👧 flag 🇵🇹",
    "1,234.56 € ≈ $1 350,00 — ½ of ²",
    "supercalifragilisticexpialidocious antidisestablishmentarianism",
    "a",
    "....!!!???---",
    "Literal markers [CLS] and [SEP] and [MASK] are text.",
    "tabs\tand\nlines\r\nand\u00a0spaces",
    "zero\u200bwidth soft\u00adhyphen",
    "What is remembered is sealed into a log that anyone can verify. " * 4,
    "A step says that it ran, on which very bytes, and how it ended. " * 9,
    "Nobody vouches for this record, so it counts for less in every recall. " * 14,
    "The ferry leaves at dawn and the crane lifts the cargo over the quay. " * 17,
    "This text has more pieces than the model reads at once, so it is read in windows. " * 40,
    "x" * 300,
]


def texts():
    facts = [fact.format(name) for fact in FACTS for name in PEOPLE]
    return facts + OTHERS


def read_safetensors(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    tensors = {}
    for name, place in header.items():
        if name == "__metadata__" or place["dtype"] != "F32":
            continue
        start, end = (8 + length + offset for offset in place["data_offsets"])
        tensors[name] = np.frombuffer(data[start:end], dtype="<f4").reshape(place["shape"]).astype(np.float64)
    return tensors


class Bert:
    def __init__(self, directory):
        self.tensors = read_safetensors(directory / "model.safetensors")
        self.layers = 1 + max(int(name.split(".")[2]) for name in self.tensors if name.startswith("encoder.layer."))

    def linear(self, x, name):
        return x @ self.tensors[name + ".weight"].T + self.tensors[name + ".bias"]

    def normalize(self, x, name):
        far = x - x.mean(-1, keepdims=True)
        far /= np.sqrt((far * far).mean(-1, keepdims=True) + EPSILON)
        return far * self.tensors[name + ".weight"] + self.tensors[name + ".bias"]

    def states(self, ids):
        part = lambda name: self.tensors[f"embeddings.{name}.weight"]
        x = part("word_embeddings")[ids] + part("position_embeddings")[: len(ids)] + part("token_type_embeddings")[0]
        x = self.normalize(x, "embeddings.LayerNorm")
        for layer in range(self.layers):
            at = f"encoder.layer.{layer}."
            split = lambda name: self.linear(x, at + "attention.self." + name).reshape(len(ids), HEADS, -1).swapaxes(0, 1)
            queries, keys, values = split("query"), split("key"), split("value")
            scores = queries @ keys.swapaxes(1, 2) / np.sqrt(queries.shape[-1])
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            weights /= weights.sum(-1, keepdims=True)
            found = (weights @ values).swapaxes(0, 1).reshape(len(ids), -1)
            x = self.normalize(self.linear(found, at + "attention.output.dense") + x, at + "attention.output.LayerNorm")
            inner = self.linear(x, at + "intermediate.dense")
            inner = 0.5 * inner * (1 + np.vectorize(erf)(inner / np.sqrt(2)))
            x = self.normalize(self.linear(inner, at + "output.dense") + x, at + "output.LayerNorm")
        return x


def reference(directory):
    bert = Bert(directory)
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    start, end = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    for text in texts():
        pieces = tokenizer.encode(text, add_special_tokens=False).ids
        room = WINDOW - 2
        windows = [pieces[at : at + room] for at in range(0, len(pieces), room)]
        mean = np.concatenate([bert.states([start, *window, end]) for window in windows]).mean(0)
        yield mean / np.linalg.norm(mean)


def vectors(program, directory, threads):
    lines = "".join(json.dumps(text) + "\n" for text in texts())
    environment = {**os.environ, "RAYON_NUM_THREADS": str(threads)}
    done = subprocess.run([program, directory], input=lines.encode(), stdout=subprocess.PIPE, env=environment, check=True)
    return done.stdout


def main():
    program, directory = sys.argv[1], Path(sys.argv[2])
    one, two = (vectors(program, directory, threads) for threads in (1, 2))
    assert one == two, "the vectors depend on the number of threads"
    rows = [json.loads(line) for line in one.splitlines()]
    assert len(rows) == len(texts()) == 64, f"{len(rows)} vectors for {len(texts())} texts"
    worst, farthest = 1.0, 0.0
    for text, row, expected in zip(texts(), rows, reference(directory)):
        vector, rounded = np.array(row["vector"]), np.array(row["rounded"], dtype=np.float64)
        cosine = vector @ expected / np.linalg.norm(vector)
        assert cosine >= LEAST, f"{cosine:.6f} to the reference: {text[:60]!r}"
        kept = rounded @ expected / np.linalg.norm(rounded)
        assert kept >= 0.999, f"{kept:.6f} as kept in bytes: {text[:60]!r}"
        worst, farthest = min(worst, cosine), max(farthest, np.abs(vector - expected).max())
    print(f"64 texts, 1 thread and 2: the same bytes; least cosine to numpy {worst:.9f}, largest difference {farthest:.1e}")


if __name__ == "__main__":
    main()
