"""A stand-in for transformers, for tests: a tokenizer whose tokens are bytes; fake.json says how it is."""

import json
from pathlib import Path
from types import SimpleNamespace

BOS, EOS, TURN, THINK, RETURN, END, JUNK = range(256, 263)
SPECIAL = {
    BOS: "<bos>",
    EOS: "<eos>",
    TURN: "<end_of_turn>",
    THINK: "</think>",
    RETURN: "<|return|>",
    END: "<|end|>",
    JUNK: "<|junk|>",
}


def tokens_of(text):
    ids, data = [], text.encode("utf-8")
    while data:
        special = next((token for token, name in SPECIAL.items() if data.startswith(name.encode())), None)
        ids.append(data[0] if special is None else special)
        data = data[1 if special is None else len(SPECIAL[special]) :]
    return ids


def text_of(tokens):
    return b"".join(SPECIAL[t].encode() if t in SPECIAL else bytes([t]) for t in tokens).decode("utf-8", "replace")


def facts_of(folder):
    return json.loads((Path(folder) / "fake.json").read_text(encoding="utf-8"))


class Tokenizer:
    bos_token_id, bos_token, eos_token_id, eos_token = BOS, "<bos>", EOS, "<eos>"
    all_special_ids, all_special_tokens = [BOS, EOS], ["<bos>", "<eos>"]

    def __init__(self, facts):
        self.facts, self.chat_template = facts, facts["template"]
        self.added_tokens_decoder = {
            token: SimpleNamespace(content=name, special=True)
            for token, name in SPECIAL.items()
            if token not in (RETURN, END) or facts.get("harmony")
        }

    def encode(self, text, add_special_tokens=True):
        adds = self.facts.get("always_bos") or (add_special_tokens and self.facts.get("add_bos"))
        return [BOS, *tokens_of(text)] if adds else tokens_of(text)

    def decode(self, ids, clean_up_tokenization_spaces=None):
        assert clean_up_tokenization_spaces is False
        return text_of(ids)


class AutoTokenizer:
    @classmethod
    def from_pretrained(cls, path, trust_remote_code=False):
        facts = facts_of(path)
        if error := facts.get("tokenizer_error"):
            raise ValueError(error)
        return Tokenizer(facts)
