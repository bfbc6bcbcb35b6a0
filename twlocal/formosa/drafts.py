"""Drafted items: what a generator wrote of a window, taken as it is. Pure but for reading the file given.

A draft may be malformed: a missing option or a key that is no letter is for the rules to name, not for the reader to
hide. A line that is no JSON object is an error, with its number.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from twlocal.errors import DatasetError
from twlocal.item import LABELS, clean


@dataclass(frozen=True, slots=True)
class Draft:
    """A drafted item: the hash of its window, the stem, four options in the order written, the letter called right."""

    window: str
    question: str
    options: tuple[str, str, str, str]
    answer: str

    @property
    def key(self) -> str:
        """The text of the option called right; "" where the letter is none of ours."""
        return self.options[LABELS.index(self.answer)] if self.is_keyed else ""

    @property
    def distractors(self) -> tuple[str, ...]:
        """The other options, in order."""
        return tuple(text for letter, text in zip(LABELS, self.options, strict=True) if letter != self.answer)

    @property
    def is_keyed(self) -> bool:
        """Whether the key is one of A–D."""
        return len(self.answer) == 1 and self.answer in LABELS


def read_drafts(path: Path) -> Iterator[Draft]:
    """The drafts in a JSONL file with `window, question, A, B, C, D, answer`; more columns are passed over.

    Texts are NFC and trimmed. A missing column is empty text. Raises DatasetError for a file that cannot be read, and
    for a line that is no JSON object or names no window.
    """
    try:
        # Never splitlines(): U+2028, U+2029 and U+0085 are legal inside a JSON string.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"cannot read {path} ({error})", hint="drafts are JSONL in UTF-8") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _draft(line, f"{path}:{number}")


def _draft(line: str, place: str) -> Draft:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise DatasetError(f"{place} is not JSON ({error})", hint="one JSON object a line") from error
    if not isinstance(row, dict) or not isinstance(row.get("window"), str) or not row["window"]:
        raise DatasetError(
            f"{place} names no window", hint='each draft needs "window": the hash of the window it was written from'
        )
    return Draft(
        row["window"].strip().lower(),
        _text(row, "question"),
        (_text(row, "A"), _text(row, "B"), _text(row, "C"), _text(row, "D")),
        _text(row, "answer").upper(),
    )


def _text(row: dict[str, object], name: str) -> str:
    value = row.get(name)
    return clean(value if isinstance(value, str) else "" if value is None else str(value))
