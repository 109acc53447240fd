#!/usr/bin/env python3
"""A llama in plain numpy, to hold the one of `memwarden-model` against.

    reference_llama.py tiny DIRECTORY       writes a random model of our own and what it must give
    reference_llama.py seed FILE            writes the smallest one, for fuzzing
    reference_llama.py real MODEL PROGRAM   compares the whole next-token distribution of a real model

Needs the packages `numpy`, `gguf` and `tokenizers`. The random model is no one's: its numbers are drawn from a seed.
`PROGRAM` is the example `weigh` of `memwarden-model`.
"""

import json
import subprocess
import sys
from pathlib import Path

import gguf
import numpy as np
from gguf.quants import dequantize, quantize

CONTROLS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
# Made up, so that some words are one token, some several, and one merge builds on another.
MERGES = ["t h", "th e", "Ġ the", "i n", "o r", "e n", "a t", "Ġ a", "r e", "m e", "me m", "or y", "mem ory", "Ġ memory"]
TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
TEXT = "the memory that we keep is not what the 2 of them said; it is what was written down then, and by whom"
CHAT = "Is it done? <|im_end|>\n<|im_start|>system"


class Llama:
    """Weights as they are stored, all of them as float32."""

    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self.tensors = {t.name: dequantize(t.data, t.tensor_type).astype(np.float32) for t in reader.tensors}
        field = lambda key: reader.get_field(key).contents()
        self.blocks = field("llama.block_count")
        self.heads = field("llama.attention.head_count")
        self.kv_heads = field("llama.attention.head_count_kv")
        self.epsilon = np.float32(field("llama.attention.layer_norm_rms_epsilon"))
        self.base = field("llama.rope.freq_base")
        self.tokens = field("tokenizer.ggml.tokens")
        self.merges = field("tokenizer.ggml.merges")
        self.table = self.tensors["token_embd.weight"]

    def norm(self, x, name):
        scale = np.sqrt((x * x).mean(-1, keepdims=True, dtype=np.float32) + self.epsilon)
        return x / scale * self.tensors[name]

    def rotate(self, x):
        tokens, _, head = x.shape
        angles = np.arange(tokens)[:, None] * self.base ** (-2 * np.arange(head // 2) / head)[None]
        sin, cos = np.sin(angles)[:, None].astype(np.float32), np.cos(angles)[:, None].astype(np.float32)
        out = np.empty_like(x)
        out[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
        out[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
        return out

    def run(self, ids):
        """States of each layer, attention of each block, and log-probabilities of what follows each token."""
        x = self.table[ids]
        states, attention = [x], []
        tokens = len(ids)
        hidden = np.triu(np.full((tokens, tokens), -np.inf, np.float32), 1)
        for block in range(self.blocks):
            w = lambda name: self.tensors[f"blk.{block}.{name}.weight"]
            y = self.norm(x, f"blk.{block}.attn_norm.weight")
            split = lambda name, heads: (y @ w(name).T).reshape(tokens, heads, -1)
            q, k = self.rotate(split("attn_q", self.heads)), self.rotate(split("attn_k", self.kv_heads))
            v = split("attn_v", self.kv_heads)
            share = self.heads // self.kv_heads
            k, v = np.repeat(k, share, 1), np.repeat(v, share, 1)
            scores = np.einsum("qhd,khd->hqk", q, k) / np.float32(np.sqrt(q.shape[-1])) + hidden
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            weights /= weights.sum(-1, keepdims=True)
            attention.append(weights)
            x = x + np.einsum("hqk,khd->qhd", weights, v).reshape(tokens, -1) @ w("attn_output").T
            y = self.norm(x, f"blk.{block}.ffn_norm.weight")
            gate = y @ w("ffn_gate").T
            x = x + (gate / (1 + np.exp(-gate)) * (y @ w("ffn_up").T)) @ w("ffn_down").T
            states.append(x)
        states[-1] = self.norm(x, "output_norm.weight")
        return states, attention, self.log_probabilities(states[-1])

    def log_probabilities(self, states):
        scores = (states @ self.tensors.get("output.weight", self.table).T).astype(np.float64)
        scores -= scores.max(-1, keepdims=True)
        return scores - np.log(np.exp(scores).sum(-1, keepdims=True))

    def tokenizer(self):
        from tokenizers import Tokenizer, models, pre_tokenizers

        merges = [tuple(merge.split(" ")) for merge in self.merges]
        vocabulary = {token: at for at, token in enumerate(self.tokens)}
        tokenizer = Tokenizer(models.BPE(vocabulary, merges))
        split = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), split])
        return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def letters():
    """The letters of byte-level BPE, in the order of GPT-2's vocabulary."""
    itself = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in itself]
    return [chr(byte) for byte in itself] + [chr(0x100 + at) for at in range(len(others))]


def write_random(path, width=64, inner=96, heads=4, kv_heads=2, blocks=2, alphabet=256):
    head = width // heads
    spelled = letters()
    # The least that a tokenizer must spell: ASCII, and what stands for space and line end.
    spelled = spelled if alphabet == 256 else [*spelled[:94], "Ġ", "Ċ"]
    tokens = CONTROLS + spelled + [merge.replace(" ", "") for merge in MERGES]
    kinds = gguf.GGMLQuantizationType
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny, random")
    writer.add_block_count(blocks)
    writer.add_context_length(192)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_rope_freq_base(1000.0)
    writer.add_rope_dimension_count(head)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([3] * len(CONTROLS) + [1] * (len(tokens) - len(CONTROLS)))
    writer.add_token_merges(MERGES)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)
    random = np.random.default_rng(20261201)

    def add(name, shape, kind, scale):
        numbers = (random.standard_normal(shape) * scale).astype(np.float32)
        if len(shape) == 1:
            numbers = 1 + numbers
        if kind == kinds.F32:
            writer.add_tensor(name, numbers)
        else:
            writer.add_tensor(name, quantize(numbers, kind), raw_dtype=kind)

    add("token_embd.weight", (len(tokens), width), kinds.Q8_0, 0.5)
    add("output_norm.weight", (width,), kinds.F32, 0.2)
    for block in range(blocks):
        for name, shape, kind in [
            ("attn_norm", (width,), kinds.F32),
            ("attn_q", (heads * head, width), kinds.Q4_1),
            ("attn_k", (kv_heads * head, width), kinds.Q4_1),
            ("attn_v", (kv_heads * head, width), kinds.F16),
            ("attn_output", (width, heads * head), kinds.Q8_0),
            ("ffn_norm", (width,), kinds.F32),
            ("ffn_gate", (inner, width), kinds.Q4_1),
            ("ffn_up", (inner, width), kinds.Q5_0),
            ("ffn_down", (width, inner), kinds.F32),
        ]:
            add(f"blk.{block}.{name}.weight", shape, kind, 0.2)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def rounded(numbers):
    return [float(f"{number:.7g}") for number in np.asarray(numbers, np.float64).ravel()]


def tiny(directory):
    directory.mkdir(parents=True, exist_ok=True)
    write_random(directory / "tiny.gguf")
    llama = Llama(directory / "tiny.gguf")
    encode = llama.tokenizer()
    ids = encode(TEXT)
    assert len(ids) > 70, "the text must be longer than one pass"
    states, attention, logs = llama.run(np.array(ids))
    # A chat, by hand: control tokens where the template puts them and nowhere else.
    rows = {"user": encode("user\n" + CHAT), "reply": encode("\n"), "assistant": encode("assistant\n")}
    prompt = [1, *rows["user"], 2, *rows["reply"], 1, *rows["assistant"]]
    _, _, after = llama.run(np.array(prompt))
    expected = {
        "text": TEXT,
        "tokens": len(ids),
        "text_log_probabilities": rounded(logs[np.arange(len(ids) - 1), ids[1:]]),
        "states": [
            {"layer": layer, "position": at, "values": rounded(states[layer][at])}
            for layer in range(llama.blocks + 1)
            for at in (0, 66)
        ],
        "attention": {"block": 1, "position": 66, "heads": [rounded(head[66]) for head in attention[1]]},
        "chat": CHAT,
        "chat_tokens": len(prompt),
        "chat_next": rounded(after[-1]),
    }
    (directory / "expected.json").write_text(json.dumps(expected, indent=0) + "\n")
    print(f"{len(ids)} and {len(prompt)} tokens, a vocabulary of {len(llama.tokens)}")


def real(model, program):
    texts = [
        "The capital of France is Paris, and the capital of Italy is",
        "Batch 0412 of the northern clinic was validated on 3 May 2026 by the night shift. The next step is to",
        "def total(rows):\n    return sum(row.cost for row in rows if row.cost is not None)\n",
        "Wer hat die Rechnung geprüft? Niemand weiß es genau, aber sie wurde am 12. bezahlt. 東京 – it's 7°C.",
        "word " * 90,
    ]
    llama = Llama(model)
    encode = llama.tokenizer()
    asked = "".join(json.dumps(text) + "\n" for text in texts)
    answers = subprocess.run([program, model], input=asked, text=True, check=True, capture_output=True).stdout
    worst, worst_score = 0.0, 0.0
    for text, line in zip(texts, answers.splitlines(), strict=True):
        answer = json.loads(line)
        ids = encode(text)
        _, _, logs = llama.run(np.array(ids))
        states = np.array(answer["states"], np.float32).reshape(len(ids), -1)
        ours = llama.log_probabilities(states)
        worst = max(worst, np.abs(np.exp(ours) - np.exp(logs)).max())
        scores = np.array(answer["log_probabilities"])
        worst_score = max(worst_score, np.abs(scores - logs[np.arange(len(ids) - 1), ids[1:]]).max())
    print(f"largest difference of a next token's probability: {worst:.2e}; of a log-probability given: {worst_score:.2e}")
    # Both passes round to 32 bits, and an unlikely token shows it in its logarithm first.
    assert worst < 1e-3 and worst_score < 5e-3, "further apart than they may be"


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["tiny", directory]:
            tiny(Path(directory))
        case ["seed", file]:
            write_random(file, width=32, inner=32, heads=2, kv_heads=1, blocks=1, alphabet=96)
        case ["real", model, program]:
            real(model, program)
        case _:
            sys.exit(__doc__)
