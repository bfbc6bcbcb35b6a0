r"""`box`, the strict reader: the first `\boxed{…}` whose content is one letter of the item's labels.

Boxes with other content (`\boxed{}`, `\boxed{選項字母}`, a formula) are passed over. White space is allowed between the
command and its brace, as LaTeX allows it. `\\boxed{B}`, doubly escaped, holds `\boxed{B}` and is read.
"""

from __future__ import annotations

import re
import unicodedata

from twlocal.readers.final import Final
from twlocal.readers.reading import ORDINAL, Reading

ORDINALS = "甲乙丙丁戊己庚辛壬癸"

# One character that is not white space is all that can be a letter: NFKC never makes one letter out of two characters.
# The repeats are each ended by another class of characters, so that the search stays linear.
_LETTER_BOX = re.compile(r"\\boxed\s*\{\s*(\S)\s*\}")
_ANY_BOX = re.compile(r"\\boxed\s*\{")
_EMPTY_BOX = re.compile(r"\\boxed\s*\{\s*\}")


def label(character: str, labels: str) -> tuple[str | None, bool]:
    """The label that a character stands for after NFKC, in either case or as an ordinal, and whether as an ordinal."""
    if character in labels:
        return character, False
    folded = unicodedata.normalize("NFKC", character)
    if len(folded) != 1:
        return None, False
    if folded in ORDINALS:
        position = ORDINALS.index(folded)
        return (labels[position], True) if position < len(labels) else (None, True)
    upper = folded.upper()
    return (upper, False) if len(upper) == 1 and upper in labels else (None, False)


def wrote_box(final: Final) -> bool:
    r"""Whether the final text holds a `\boxed{` at all: what the box rate counts."""
    return final.text is not None and "\\boxed" in final.text and _ANY_BOX.search(final.text) is not None


def box(final: Final, labels: str = "ABCD") -> Reading:
    """The strict reading of a final text (protocol: "Protocol (fixed)", `box`)."""
    text = final.text
    if text is None:
        return Reading(None, "no_final_text", None, final.flags)
    at = text.find("\\boxed")
    if at < 0:
        return Reading(None, "no_box" if text.strip() else "empty", None, final.flags)
    for found in _LETTER_BOX.finditer(text, at):
        letter, ordinal = label(found[1], labels)
        if letter is not None:
            span = (found.start() + final.start, found.end() + final.start)
            return (
                Reading(letter, "ordinal", span, (*final.flags, ORDINAL))
                if ordinal
                else Reading(letter, "box", span, final.flags)
            )
    return _unread(final, text, at)


def _unread(final: Final, text: str, at: int) -> Reading:
    """Why no box could be read, told of the first one."""
    first = _ANY_BOX.search(text, at)
    if first is None:
        return Reading(None, "no_box", None, final.flags)
    why, end = "box_not_a_letter", first.end()
    empty = _EMPTY_BOX.match(text, first.start())
    letter = _LETTER_BOX.match(text, first.start())
    if empty:
        why, end = "box_empty", empty.end()
    elif letter:
        end = letter.end()
        if letter[1].isalpha():
            why = "box_outside_labels"
    return Reading(None, why, (first.start() + final.start, end + final.start), final.flags)
