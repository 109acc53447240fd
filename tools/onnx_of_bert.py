"""Makes `model.onnx` out of a sentence encoder's `model.safetensors`, for builds with the feature `onnx`.

    python3 -m venv venv && venv/bin/pip install numpy onnx
    venv/bin/python tools/onnx_of_bert.py DIRECTORY

The graph is BERT as `config.json` describes it: input_ids, attention_mask and token_type_ids, each [batch, length], to
last_hidden_state. No framework is needed.
"""

import json
import struct
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def read_safetensors(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, place in json.loads(data[8 : 8 + length]).items():
        if name != "__metadata__" and place["dtype"] == "F32":
            start, end = (8 + length + offset for offset in place["data_offsets"])
            tensors[name] = np.frombuffer(data[start:end], dtype="<f4").reshape(place["shape"])
    return tensors


def bert(tensors, config):
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    nodes, constants = [], []

    def constant(name, value):
        if all(known.name != name for known in constants):
            constants.append(numpy_helper.from_array(np.array(value, order="C"), name))
        return name

    def node(kind, *inputs, name=None, **attributes):
        output = name or f"n{len(nodes)}"
        nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def weight(name):
        return constant(name, tensors[name])

    def linear(x, name):
        matrix = constant(name + ".transposed", tensors[name + ".weight"].T)
        return node("Add", node("MatMul", x, matrix), weight(name + ".bias"))

    def normalize(x, name, output=None):
        scale, bias = weight(name + ".weight"), weight(name + ".bias")
        return node("LayerNormalization", x, scale, bias, name=output, axis=-1, epsilon=config["layer_norm_eps"])

    def split(x, order):
        shape = constant("split", np.array([0, 0, heads, hidden // heads], dtype=np.int64))
        return node("Transpose", node("Reshape", x, shape), perm=order)

    number = lambda name, value: constant(name, np.float32(value))
    integer = lambda name, value: constant(name, np.array(value, dtype=np.int64))

    length = node("Gather", node("Shape", "input_ids"), integer("one_i", 1), axis=0)
    places = node("Range", integer("zero_i", 0), length, integer("one_i", 1))
    x = node("Gather", weight("embeddings.word_embeddings.weight"), "input_ids")
    x = node("Add", x, node("Gather", weight("embeddings.token_type_embeddings.weight"), "token_type_ids"))
    x = node("Add", x, node("Gather", weight("embeddings.position_embeddings.weight"), places))
    x = normalize(x, "embeddings.LayerNorm")
    # Where the mask is 0, attention is as good as none: [batch, 1, 1, length].
    mask = node("Cast", "attention_mask", to=TensorProto.FLOAT)
    mask = node("Mul", node("Sub", mask, number("one", 1)), number("far", 1e9))
    mask = node("Unsqueeze", mask, constant("axes", np.array([1, 2], dtype=np.int64)))
    for layer in range(config["num_hidden_layers"]):
        at = f"encoder.layer.{layer}."
        queries = split(linear(x, at + "attention.self.query"), [0, 2, 1, 3])
        keys = split(linear(x, at + "attention.self.key"), [0, 2, 3, 1])
        values = split(linear(x, at + "attention.self.value"), [0, 2, 1, 3])
        scores = node("Div", node("MatMul", queries, keys), number("root", np.sqrt(hidden // heads)))
        weights = node("Softmax", node("Add", scores, mask), axis=-1)
        found = node("Transpose", node("MatMul", weights, values), perm=[0, 2, 1, 3])
        found = node("Reshape", found, constant("join", np.array([0, 0, hidden], dtype=np.int64)))
        mixed = linear(found, at + "attention.output.dense")
        x = normalize(node("Add", mixed, x), at + "attention.output.LayerNorm")
        inner = linear(x, at + "intermediate.dense")
        erf = node("Erf", node("Div", inner, number("root_two", np.sqrt(2))))
        inner = node("Mul", node("Mul", inner, number("half", 0.5)), node("Add", erf, number("one", 1)))
        last = layer + 1 == config["num_hidden_layers"]
        outer = node("Add", linear(inner, at + "output.dense"), x)
        x = normalize(outer, at + "output.LayerNorm", "last_hidden_state" if last else None)
    rows = ["batch", "length"]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, rows)
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    outputs = [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*rows, hidden])]
    graph = helper.make_graph(nodes, "bert", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


if __name__ == "__main__":
    directory = Path(sys.argv[1])
    configuration = json.loads((directory / "config.json").read_text())
    onnx.save(bert(read_safetensors(directory / "model.safetensors"), configuration), directory / "model.onnx")
