"""A Hugging Face tokenizer as engines that read checkpoints use it: text → ids, ids → text, where answers end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from twlocal import box_stop
from twlocal.backend import Message
from twlocal.chat import ChatTemplate, bos_ids
from twlocal.decode import MARKERS
from twlocal.errors import ModelError

_PROBE = "twlocal probe of the assistant turn"
# Harmony ends each of a response's messages with <|end|>, and the response with <|return|>.
_HARMONY = ("<|return|>", "<|end|>")


class Vocabulary:
    """`tokenizer` (of transformers, or a wrapper that acts like one), and the ids by which answers are known to end."""

    def __init__(self, tokenizer: Any, ends: Iterable[int]) -> None:
        self._tokenizer, self._ends = tokenizer, frozenset(ends)

    @cached_property
    def bos_id(self) -> int | None:
        """The begin token's id; None where the model has none."""
        found = self._tokenizer.bos_token_id
        return None if found is None else int(found)

    @cached_property
    def bos_token(self) -> str:
        """The begin token's text, "" for none."""
        return str(self._tokenizer.bos_token or "")

    @cached_property
    def eos_token(self) -> str:
        """The end token's text, "" for none."""
        return str(self._tokenizer.eos_token or "")

    @cached_property
    def adds_bos(self) -> bool:
        """Whether the tokenizer, left alone, begins a text with the begin token."""
        return self.bos_id is not None and list(self._tokenizer.encode("x"))[:1] == [self.bos_id]

    def encode(self, text: str) -> list[int]:
        """Token ids of `text`; special tokens in it are read as such, none is added."""
        return list(self._tokenizer.encode(text, add_special_tokens=False))

    def prompt(self, text: str) -> list[int]:
        """Token ids of a rendered prompt, with exactly one begin token where the model has one."""
        return bos_ids(text, self.encode, bos_token=self.bos_token, bos_id=self.bos_id, add_bos=self.adds_bos)

    def text(self, tokens: Sequence[int]) -> str:
        """What `tokens` say: without special tokens, but for those that readers need (thoughts, channels)."""
        shown = [token for token in tokens if token not in self._hidden]
        # The clean-up that some tokenizers ask for takes blanks out of what the model wrote.
        return str(self._tokenizer.decode(shown, clean_up_tokenization_spaces=False))

    def boxed(self, tokens: Sequence[int], opened: str) -> bool:
        """Whether an answer of `tokens` may end at its box (see `box_stop.enough`); asked after each of its tokens."""
        # Only a token that closes a brace can have closed a box.
        return "}" in self.text(tokens[-1:]) and box_stop.enough(self.text(tokens), opened)

    def ends(self, template: ChatTemplate) -> frozenset[int]:
        """Ids that end an answer: the known ones, and what ends a turn in the template. Raises ModelError for none."""
        found = frozenset({*self._ends, *self._turn_end(template)})
        if not found:
            raise ModelError(
                "nothing says which token ends an answer of this model",
                hint="its generation_config.json or config.json should name one as eos_token_id",
            )
        return found

    @cached_property
    def _special(self) -> dict[int, str]:
        added = getattr(self._tokenizer, "added_tokens_decoder", {})
        special = {int(token): str(what.content) for token, what in added.items() if what.special}
        names = zip(self._tokenizer.all_special_ids, self._tokenizer.all_special_tokens, strict=False)
        return {int(token): str(name) for token, name in names} | special

    @cached_property
    def _hidden(self) -> frozenset[int]:
        return frozenset(token for token, name in self._special.items() if name not in MARKERS)

    def _turn_end(self, template: ChatTemplate) -> list[int]:
        """The special token that follows an assistant's turn: many conversions lose it from the configurations."""
        chat = [Message("user", "?"), Message("assistant", _PROBE)]
        try:
            after = template.render(chat, add_generation_prompt=False).text.partition(_PROBE)[2].lstrip()
        except ModelError:  # a template may refuse to show an answered chat
            return []
        first = self.encode(after)[:1]
        names = set(self._special.values())
        known = [token for token in first if token in self._special and token != self.bos_id]
        return [token for token in known if not (names.issuperset(_HARMONY) and self._special[token] == _HARMONY[1])]
