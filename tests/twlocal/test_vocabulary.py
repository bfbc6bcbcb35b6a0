"""A Hugging Face tokenizer as engines that read checkpoints use it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from twlocal.chat import ChatTemplate
from twlocal.errors import ModelError
from twlocal.vocabulary import Vocabulary

NAMES = {1: "<s>", 2: "</s>", 3: "<|end|>", 4: "<think>", 5: "<|return|>", 6: "<|pad|>"}


class Words:
    """A tokenizer of single letters and of NAMES."""

    def __init__(self, *, bos: int | None = 1, adds: bool = False, special: tuple[int, ...] = tuple(NAMES)) -> None:
        self.bos_token_id, self.bos_token = bos, NAMES.get(bos or 0)
        self.eos_token = "</s>"
        self._adds = adds
        self.all_special_ids, self.all_special_tokens = [1, 2], ["<s>", "</s>"]
        self.added_tokens_decoder = {
            token: SimpleNamespace(content=name, special=token in special) for token, name in NAMES.items()
        }

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        ids = [1] if add_special_tokens and self._adds else []
        while text:
            token = next((token for token, name in NAMES.items() if text.startswith(name)), None)
            ids.append(ord(text[0]) if token is None else token)
            text = text[len(NAMES[token]) if token else 1 :]
        return ids

    def decode(self, ids: list[int], **options: Any) -> str:
        assert options == {"clean_up_tokenization_spaces": False}
        return "".join(NAMES.get(token) or chr(token) for token in ids)


def template(end: str) -> ChatTemplate:
    return ChatTemplate("{% for m in messages %}{{ m['role'] }}:{{ m['content'] }}" + end + "{% endfor %}")


@pytest.mark.parametrize(
    ("tokenizer", "text", "ids"),
    [
        (Words(adds=True), "甲", [1, ord("甲")]),
        (Words(adds=True), "<s>甲", [1, ord("甲")]),
        (Words(adds=True), "<s><s>甲", [1, ord("甲")]),
        (Words(), "甲", [ord("甲")]),
        (Words(bos=None), "甲", [ord("甲")]),
    ],
)
def test_a_prompt_has_one_begin_token_where_the_model_has_one(tokenizer: Words, text: str, ids: list[int]) -> None:
    assert Vocabulary(tokenizer, {2}).prompt(text) == ids


def test_text_keeps_what_readers_need_and_no_other_special_token() -> None:
    assert Vocabulary(Words(), {2}).text([4, ord("想"), 6, ord("A"), 2]) == "<think>想A"
    # What is added without being special is a word like any other.
    assert Vocabulary(Words(special=(1, 2)), {2}).text([6, ord("A")]) == "<|pad|>A"


def test_ends_are_the_known_ones_and_what_closes_a_turn_in_the_template() -> None:
    assert Vocabulary(Words(), {2}).ends(template("<|pad|>")) == {2, 6}
    assert Vocabulary(Words(), {2}).ends(template("\n\n")) == {2}
    # In Harmony <|end|> closes a message, and the answer may have another.
    assert Vocabulary(Words(), {5}).ends(template("<|end|>")) == {5}
    with pytest.raises(ModelError, match="nothing says which token ends"):
        Vocabulary(Words(), ()).ends(template("\n"))
