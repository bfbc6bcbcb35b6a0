"""One four-option question: its text, its identity, and the order in which its options are shown.

Pure: no I/O, no clock, no global state.
"""

from __future__ import annotations

import hashlib
import random
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

LABELS = "ABCD"
UNIT_SEPARATOR = "\x1f"


def clean(text: str) -> str:
    """The form in which a text is kept, hashed, shuffled by and asked: NFC, LF line ends, trimmed.

    One form for all four, so that equal content hashes always mean equal prompts.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return unicodedata.normalize("NFC", text).strip()


@dataclass(frozen=True, slots=True)
class Item:
    """A question with four options in the order A–D of its source, and the letter of the keyed one.

    `id` is the source's own and may be empty or unique only within its subject: identity is `content_hash`.
    `meta` holds other columns (field, year, source, …); none of them ever enters a prompt.
    """

    question: str
    options: tuple[str, str, str, str]
    answer: str
    subject: str = ""
    id: str = ""
    meta: Mapping[str, str] = field(default_factory=dict, compare=False)

    # A slot, not a cached property: a quarter of a million items would each have a dictionary for it.
    _content_hash: str = field(default="", init=False, repr=False, compare=False)

    @property
    def content_hash(self) -> str:
        """sha256 (hex) over question, A, B, C, D and answer, each NFC and trimmed, joined by U+001F."""
        return self._content_hash or self.hashed(content_hash(self.question, self.options, self.answer))

    def hashed(self, digest: str) -> str:
        """Remember (and return) the content hash of these texts, for a caller that has just computed it."""
        object.__setattr__(self, "_content_hash", digest)
        return digest

    @property
    def stem_hash(self) -> str:
        """sha256 (hex) of the question text; its first 16 digits are the board's `qh`. Computed when asked for."""
        return hashlib.sha256(self.question.encode("utf-8")).hexdigest()


def content_hash(question: str, options: tuple[str, ...], answer: str) -> str:
    """sha256 (hex) over the row's texts, each NFC and trimmed, joined by U+001F (see `Item.content_hash`)."""
    joined = UNIT_SEPARATOR.join(clean(part) for part in (question, *options, answer))
    return hashlib.sha256(joined.encode("utf-8")).hexdigest()


def permutation(question: str, repeat: int = 0) -> str:
    """The order in which the four options are shown, as source letters: `"CADB"` shows option C first.

    The seed is the first 8 bytes (big-endian) of sha256 of the question text; a repeat after the first mixes its
    number into the hashed text. Deterministic over machines and Python versions.
    """
    text = question if repeat == 0 else f"{question}{UNIT_SEPARATOR}{repeat}"
    seed = int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:8], "big")
    order = list(LABELS)
    random.Random(seed).shuffle(order)
    return "".join(order)


def source_letter(shown: str, order: str) -> str:
    """The source's letter of the option shown as `shown` under the permutation `order`."""
    return order[LABELS.index(shown)]


def shown_letter(source: str, order: str) -> str:
    """The letter under which the source's option `source` is shown under the permutation `order`."""
    return LABELS[order.index(source)]
