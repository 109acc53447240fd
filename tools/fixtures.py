"""Makes the tiny models under crates/memwarden-model/tests/fixtures/{bert,deberta} and what they should answer.

The weights are random and our own, the vocabularies a few dozen entries of our own; the answers come from the
classes of `transformers`, so that the program's forward passes are checked against somebody else's. Runs by hand:
neither torch nor transformers is installed by any check.

    python3 -m venv venv && venv/bin/pip install torch==2.15.0 transformers==5.24.0 tokenizers==0.23.3
    venv/bin/python tools/fixtures.py
"""

import json
import shutil
import string
from pathlib import Path

import tokenizers
import torch
import transformers
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel, DebertaV2Config, DebertaV2ForSequenceClassification

HOME = Path(__file__).resolve().parent.parent / "crates/memwarden-model/tests/fixtures"

WORDS = "the a of to in is was not paid late invoice tea train window seat cat sat on mat moves ##s ##ed ##ing".split()

TEXTS = [
    "The cat sat on the mat.",
    "The invoice was paid late.",
    "invoice",
    "A window seat, not the train; tea is moved to Thursday, 15:30!",
    "Überraschung: 37 naïve cafés moved in.",
    "...",
    "",
    "the train moves " * 12,
    # Longer than the model's 40 places: read in windows.
    "paid tea mat " * 40,
    "[CLS] is written out [SEP]",
]

PAIRS = [
    ("The cat sat on the mat.", "A cat was on the mat."),
    ("The invoice was paid late.", "The invoice was not paid."),
    ("tea", "tea"),
    ("", "The train moves."),
    ("The train to the window seat moves; the tea is late. " * 3, "The cat was paid."),
    ("a [SEP] b", "a"),
]


def wordpiece():
    """Lower-case words and single characters, as BERT cuts them."""
    characters = string.ascii_lowercase + string.digits + ".,;:!?'\"-()#[]"
    entries = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *characters]
    entries += ["##" + c for c in string.ascii_lowercase + string.digits]
    vocabulary = {entry: index for index, entry in enumerate(dict.fromkeys(entries))}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    made.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    made.post_processor = processors.BertProcessing(("[SEP]", vocabulary["[SEP]"]), ("[CLS]", vocabulary["[CLS]"]))
    # As the files of sentence encoders often have it, and as the program must not do.
    made.enable_truncation(16)
    made.enable_padding(length=16)
    return made


def unigram():
    """Pieces with scores and a mark for the space, as DeBERTa v3 cuts them."""
    characters = string.ascii_letters + string.digits + ".,;:!?'\"-()[]"
    entries = [("[PAD]", 0.0), ("[CLS]", 0.0), ("[SEP]", 0.0), ("[UNK]", 0.0), ("▁", -3.0)]
    entries += [("▁" + word.removeprefix("##"), -5.0 - 0.1 * i) for i, word in enumerate(WORDS)]
    entries += [("▁The", -5.5), ("▁A", -5.6)]
    entries += [(c, -8.0) for c in characters]
    made = Tokenizer(models.Unigram(entries, unk_id=3, byte_fallback=False))
    made.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(tokenizers.Regex(" {2,}"), " ")])
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    made.add_special_tokens(["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"])
    made.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    return made


def without_limits(tokenizer):
    tokenizer = Tokenizer.from_str(tokenizer.to_str())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    # What is written in a text is text.
    tokenizer.encode_special_tokens = True
    return tokenizer


def randomize(model, spread):
    """Weights that matter: the usual start would make every answer alike."""
    for name, weight in model.named_parameters():
        with torch.no_grad():
            noise = torch.randn_like(weight)
            if name.endswith("LayerNorm.weight"):
                weight.copy_(1 + 0.2 * noise)
            elif name.endswith("bias"):
                weight.copy_(0.05 * noise)
            else:
                weight.copy_(spread * noise)


def write(directory, model, tokenizer, extra):
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    weights = {name: tensor.contiguous() for name, tensor in model.state_dict().items() if tensor.is_floating_point()}
    save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})
    (directory / "model.safetensors").chmod(0o644)
    config = {**model.config.to_dict(), **extra}
    config = {key: value for key, value in config.items() if value is not None}
    (directory / "config.json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")
    (directory / "tokenizer.json").write_text(tokenizer.to_str() + "\n")


def bert():
    torch.manual_seed(7)
    tokenizer = wordpiece()
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        max_position_embeddings=40,
        hidden_act="gelu",
    )
    model = BertModel(config, add_pooling_layer=False).eval()
    randomize(model, 0.4)
    write(HOME / "bert", model, tokenizer, {"architectures": ["BertModel"]})
    whole = without_limits(tokenizer)
    cls, sep = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    expected = []
    for text in TEXTS:
        pieces = whole.encode(text, add_special_tokens=False).ids
        room = config.max_position_embeddings - 2
        windows = [pieces[at : at + room] for at in range(0, max(len(pieces), 1), room)]
        states = []
        for window in windows:
            ids = torch.tensor([[cls, *window, sep]])
            with torch.no_grad():
                states.append(model(ids, torch.ones_like(ids)).last_hidden_state[0].double())
        mean = torch.cat(states).mean(0)
        vector = mean / mean.norm()
        # A text without a piece has no direction.
        vector = vector.tolist() if pieces else None
        expected.append({"text": text, "pieces": len(pieces), "vector": vector})
    rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in expected)
    (HOME / "bert/expected.json").write_text(f"[\n{rows}\n]\n")


def deberta():
    torch.manual_seed(11)
    tokenizer = unigram()
    config = DebertaV2Config(
        vocab_size=tokenizer.get_vocab_size() + 3,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        max_position_embeddings=128,
        relative_attention=True,
        position_buckets=8,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        pos_att_type=["p2c", "c2p"],
        position_biased_input=False,
        type_vocab_size=0,
        layer_norm_eps=1e-7,
        pooler_hidden_act="gelu",
        pooler_hidden_size=32,
        id2label={0: "entailment", 1: "neutral", 2: "contradiction"},
        label2id={"entailment": 0, "neutral": 1, "contradiction": 2},
    )
    model = DebertaV2ForSequenceClassification(config).eval()
    randomize(model, 0.3)
    write(HOME / "deberta", model, tokenizer, {"architectures": ["DebertaV2ForSequenceClassification"]})
    whole = without_limits(tokenizer)
    expected = []
    for premise, hypothesis in PAIRS:
        ids = torch.tensor([whole.encode(premise, hypothesis).ids])
        with torch.no_grad():
            logits = model(ids, torch.ones_like(ids)).logits[0].double()
        expected.append(
            {
                "premise": premise,
                "hypothesis": hypothesis,
                "pieces": ids.shape[1],
                "probabilities": logits.softmax(0).tolist(),
            }
        )
    rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in expected)
    (HOME / "deberta/expected.json").write_text(f"[\n{rows}\n]\n")


if __name__ == "__main__":
    bert()
    deberta()
    made = f"torch {torch.__version__.split('+')[0]}, transformers {transformers.__version__}, tokenizers {tokenizers.__version__}"
    for name in ("bert", "deberta"):
        size = sum(path.stat().st_size for path in (HOME / name).iterdir())
        print(f"{name}: {size} bytes, with {made}")
