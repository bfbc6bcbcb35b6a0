"""One four-option question: its text, its identity, and the order in which its options are shown.

Pure: no I/O, no clock, no global state.
"""

from __future__ import annotations

import hashlib
import random
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter

LABELS = "ABCD"
UNIT_SEPARATOR = "\x1f"


def clean(text: str) -> str:
    """The form in which a text is kept, hashed, shuffled by and asked: NFC, LF line ends, trimmed.

    One form for all four, so that equal content hashes always mean equal prompts.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return unicodedata.normalize("NFC", text).strip()


@dataclass(frozen=True, slots=True, init=False)
class Item:
    """A question with four options in the order A–D of its source, and the letter of the keyed one.

    `id` is the source's own and may be empty or unique only within its subject: identity is `content_hash`.
    `meta` holds other columns (field, year, source, …); none of them ever enters a prompt.
    """

    # Question and options as one text, joined by U+001F: five of them take twice the memory, and there may be a quarter
    # of a million items. Five where that could not be undone.
    _texts: str | tuple[str, ...]
    answer: str
    subject: str
    id: str
    meta: Mapping[str, str] = field(compare=False)
    # A slot, not a cached property: each item would have a dictionary for it.
    _content_hash: str = field(repr=False, compare=False)

    def __init__(
        self,
        question: str,
        options: tuple[str, str, str, str],
        answer: str,
        subject: str = "",
        id: str = "",
        meta: Mapping[str, str] | None = None,
    ) -> None:
        texts = (question, *options)
        joined = UNIT_SEPARATOR.join(texts)
        whole = len(options) == len(LABELS) == joined.count(UNIT_SEPARATOR)
        self._fill(joined if whole else texts, answer, subject, id, {} if meta is None else meta, "")

    @classmethod
    def joined(cls, texts: str, answer: str, subject: str, id: str, meta: Mapping[str, str], digest: str) -> Item:
        """An item whose texts the caller has as they are hashed (five, joined by U+001F), and their content hash."""
        item = cls.__new__(cls)
        item._fill(texts, answer, subject, id, meta, digest)
        return item

    def _fill(
        self, texts: str | tuple[str, ...], answer: str, subject: str, id: str, meta: Mapping[str, str], digest: str
    ) -> None:
        put = object.__setattr__  # nothing else may
        put(self, "_texts", texts)
        put(self, "answer", answer)
        put(self, "subject", subject)
        put(self, "id", id)
        put(self, "meta", meta)
        put(self, "_content_hash", digest)

    @property
    def texts(self) -> tuple[str, ...]:
        """The question and its options. Each call makes them anew: whoever needs several of them asks once."""
        return tuple(self._texts.split(UNIT_SEPARATOR)) if isinstance(self._texts, str) else self._texts

    @property
    def question(self) -> str:
        return self.texts[0]

    @property
    def options(self) -> tuple[str, str, str, str]:
        _, a, b, c, d = self.texts
        return a, b, c, d

    @property
    def content_hash(self) -> str:
        """sha256 (hex) over question, A, B, C, D and answer, each NFC and trimmed, joined by U+001F."""
        if not self._content_hash:
            question, *options = self.texts
            object.__setattr__(self, "_content_hash", content_hash(question, tuple(options), self.answer))
        return self._content_hash

    @property
    def stem_hash(self) -> str:
        """sha256 (hex) of the question text; its first 16 digits are the board's `qh`. Computed when asked for."""
        return hashlib.sha256(self.question.encode("utf-8")).hexdigest()


def content_hash(question: str, options: tuple[str, ...], answer: str) -> str:
    """sha256 (hex) over the row's texts, each NFC and trimmed, joined by U+001F (see `Item.content_hash`)."""
    joined = UNIT_SEPARATOR.join(clean(part) for part in (question, *options, answer))
    return hashlib.sha256(joined.encode("utf-8")).hexdigest()


def set_hash(items: Iterable[Item], separator: str) -> str:
    """sha256 (hex) over a set of items, whatever their order: their content hashes, each with its subject behind a
    separator, sorted, a line each."""
    ordered = sorted(sorted(items, key=attrgetter("subject")), key=attrgetter("content_hash"))
    digest, before = hashlib.sha256(), ""
    for item in ordered:  # one by one: all lines at once would be 60 MB of a quarter of a million items
        digest.update(f"{before}{item.content_hash}{separator}{item.subject}".encode())
        before = "\n"
    return digest.hexdigest()


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
