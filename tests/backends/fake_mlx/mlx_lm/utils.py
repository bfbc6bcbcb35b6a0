"""Models whose tokens are bytes; fake.json in their folder says how they behave."""

import json
from types import SimpleNamespace

import mlx.core as mx

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
VOCABULARY = 263


def tokens_of(text):
    ids, data = [], text.encode("utf-8")
    while data:
        special = next((token for token, name in SPECIAL.items() if data.startswith(name.encode())), None)
        ids.append(data[0] if special is None else special)
        data = data[1 if special is None else len(SPECIAL[special]) :]
    return ids


class Network:
    def __init__(self, facts):
        self.facts, self.dtype, self.read = facts, facts.get("dtype", "bfloat16"), []

    def set_dtype(self, dtype):
        self.dtype = dtype

    def parameters(self):
        return {}

    def __call__(self, tokens, cache):
        (row,) = tokens
        self.read.append(list(row))
        for layer in cache:
            layer.tokens.extend(row)

    def answer(self, tokens):
        """The tokens that follow `tokens`: fake.json's reply to the last user turn, then what ends it."""
        text = "".join(SPECIAL[t] if t in SPECIAL else chr(t) for t in tokens).encode("latin-1").decode("utf-8")
        asked = text.rpartition("[user]")[2].partition("[assistant]")[0]
        if (poison := self.facts.get("die_on")) and poison in asked:
            mx.die()
        if (poison := self.facts.get("raise_on")) and poison in asked:
            raise RuntimeError("[metal::malloc] Attempting to allocate 38654705664 bytes, more than the largest buffer")
        mx.grow(int(self.facts.get("grow_mb", 0)) * mx.MB)
        reply = self.facts.get("reply")
        return [*tokens_of(asked if reply is None else reply), self.facts.get("ends_with", EOS)]


class Tokenizer:
    bos_token_id, bos_token, eos_token_id, eos_token = BOS, "<bos>", EOS, "<eos>"
    all_special_ids, all_special_tokens = [BOS, EOS], ["<bos>", "<eos>"]

    def __init__(self, facts, eos_token_ids):
        self.facts, self.chat_template = facts, facts["template"]
        self.eos_token_ids = {EOS, *(eos_token_ids or ())}
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
        return b"".join(SPECIAL[i].encode() if i in SPECIAL else bytes([i]) for i in ids).decode("utf-8", "replace")


def _facts(path):
    return json.loads((path / "fake.json").read_text(encoding="utf-8"))


def load_model(model_path, lazy=False, strict=True, trust_remote_code=False):
    facts = _facts(model_path)
    if error := facts.get("load_error"):
        raise ValueError(error)
    mx.killed_at = facts.get("killed_at_mb", 10**6) * mx.MB
    return Network(facts), json.loads((model_path / "config.json").read_text(encoding="utf-8"))


def load_tokenizer(model_path, tokenizer_config_extra=None, eos_token_ids=None):
    return Tokenizer(_facts(model_path), eos_token_ids)
