"""Makes crates/memwarden-encode/tests/fixtures/pieces.jsonl with the Python package `tokenizers`.

Each line is a text of ours and the word pieces that the reference implementation cuts it into, so that the
encoder's own reading of the vocabulary is checked against somebody else's.

    python3 -m venv venv && venv/bin/pip install tokenizers==0.23.3
    venv/bin/python tools/pieces_fixture.py
"""

import json
from pathlib import Path

from tokenizers import Tokenizer

ROOM = Path(__file__).resolve().parent.parent / "crates/memwarden-encode"

TEXTS = [
    "Prefers window seats, vegetarian meals and trains over planes.",
    "THE INVOICE OF Q2 WAS PAID 14 DAYS LATE (see #4711/b)!",
    "don't re-send it; she'll've read o'clock e.g. v1.2.3-rc.4",
    "unbelievably counterproductive micromanagement",
    "snake_case and kebab-case, CamelCase, path/to/file.txt, user@example.org",
    "café naïve façade Ångström Zürich São Paulo Łódź ﬁne",
    "e\u0301 is é, and n\u0303 is ñ",
    "Straße STRASSE ß ẞ",
    "İstanbul'da ılık bir gün",
    "Встреча перенесена на четверг, в 15:30.",
    "Ο Σίσυφος και ο λόγος",
    "הפגישה הועברה ליום חמישי",
    "تم نقل الاجتماع إلى يوم الخميس",
    "बैठक गुरुवार को होगी",
    "ประชุมย้ายไปวันพฤหัสบดี",
    "会議は木曜日に移りました。カタカナもある",
    "会议改到星期四，下午三点。",
    "회의가 목요일로 옮겨졌습니다",
    "Cuộc họp chuyển sang thứ Năm",
    "հանդիպումը, შეხვედრა, ስብሰባ",
    "😀 family 👨‍👩‍👧 flag 🇵🇹 thumbs 👍🏽",
    "1,234.56 € ≈ $1 350,00 — ½ of ² and ٣",
    "tabs\tand\nlines\r\nand\u00a0spaces\u3000here\u2009too",
    "zero\u200bwidth soft\u00adhyphen bell\u0007 null\u0000 bom\ufeff repl\ufffd",
    "quotes “curly” ‘single’ «guillemets» „low“ 「corner」",
    "math ∑∫√∞ ≤ ≥ ± × ÷ and `code` ^~|<>=+$",
    "[CLS] literal [SEP] markers [MASK] and [UNK] [PAD] [unused5] inside",
    "a" * 100,
    "b" * 101 + " after",
    "ﷺ ℡ ㎏ Ⅷ ① ｆｕｌｌｗｉｄｔｈ",
    "क्षत्रिय ज्ञान \u0903 spacing mark ကြောင့်",
    "𝒻𝒶𝓃𝒸𝓎 𐍈 𠜎 𪚥",
    "....!!!???---",
    " leading and trailing  ",
    "",
    " \t\n",
    "\u200d\u200b",
]


def main():
    tokenizer = Tokenizer.from_file(str(ROOM / "data/tokenizer.json"))
    output = ROOM / "tests/fixtures/pieces.jsonl"
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("w", encoding="utf-8") as lines:
        for text in TEXTS:
            pieces = tokenizer.encode(text, add_special_tokens=False).ids
            lines.write(json.dumps({"text": text, "pieces": pieces}) + "\n")


if __name__ == "__main__":
    main()
