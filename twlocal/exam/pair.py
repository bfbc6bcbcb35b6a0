"""Question paper + answer key + correction → keyed items.

A correction overrides the key it corrects. `#` is resolved from the 備註, or the item is left out with a reason. A key
that is not this paper's (試題代號, subject, number of answers) keys nothing: a shifted key is worse than none.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from . import notes
from .model import Key, Paper, PaperItem, Rejection

LETTERS = ("A", "B", "C", "D")


@dataclass(frozen=True)
class KeyedItem:
    """An item with its official answer after corrections.

    `answer` is one letter, or None when no single letter is the key; `accepted` are then the answers that are credited
    (letters, or several as in `BD`; all four when everyone is). `excluded` says why an item cannot be used: the reasons
    of the paper's item, `several_answers`, `everyone_credited`, `unexplained_mark`, `five_letter_answer`.
    `original` is the letter before the correction, `note` the 備註's words.
    """

    item: PaperItem
    answer: str | None
    accepted: tuple[str, ...]
    original: str | None = None
    note: str = ""
    excluded: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pairing:
    """`items` is empty when there are `rejections`; `flags` are doubts (`code_unverified`, `changed_without_note`)."""

    items: tuple[KeyedItem, ...] = ()
    flags: tuple[str, ...] = ()
    rejections: tuple[Rejection, ...] = ()


def pair(paper: Paper, answer: Key | None, correction: Key | None = None) -> Pairing:
    """Joins a paper with its key, its correction, or both."""
    rejections = [*paper.rejections]
    keys = [key for key in (answer, correction) if key is not None]
    if not keys:
        return Pairing(rejections=(*rejections, Rejection("no_key", "neither a key nor a correction was given")))
    for key in keys:
        rejections += [Rejection(f"key_{r.reason}", r.detail) for r in key.rejections]
        rejections += _mismatches(paper, key)
    if answer and correction and not rejections and len(answer.cells) != len(correction.cells):
        counts = f"{len(answer.cells)} answers and {len(correction.cells)} corrected ones"
        rejections.append(Rejection("key_count_mismatch", counts))
    elif answer and correction and not rejections:
        rejections += _contradiction(answer, correction)
    if rejections:
        return Pairing(rejections=tuple(rejections))
    flags = [] if any(_same_code(paper, key) for key in keys) else ["code_unverified"]
    last = correction or answer
    assert last is not None  # one of the two was given
    items: list[KeyedItem] = []
    for item in paper.items:
        before = answer.cells.get(item.number) if answer and correction else None
        keyed = _keyed(item, last.cells[item.number], before, _note(item.number, answer, last))
        if before is not None and before != "#" and keyed.answer not in (before, None) and not keyed.note:
            flags.append(f"changed_without_note:{item.number}")
        items.append(keyed)
    return Pairing(tuple(items), tuple(flags))


def same_codes(paper: Paper, key: Key) -> bool | None:
    """Whether the key's 試題代號 is one of the paper's 代號. None when one of the two says nothing."""
    if key.code is None or not paper.header.codes:
        return None
    return any(_covers(code, key.code) for code in paper.header.codes)


def _same_code(paper: Paper, key: Key) -> bool:
    return same_codes(paper, key) is True


def _covers(code: str, wanted: str) -> bool:
    first, _, last = code.partition("-")
    return first <= wanted <= last if last and len(first) == len(last) == len(wanted) else code == wanted


_ORDINAL = re.compile(r"\(([一二三四五六七八九十])\)")
_HAN = re.compile("[\u4e00-\u9fff]{2,}")


def differ(subject: str, other: str) -> bool:
    """Whether two subjects surely are not one: another ordinal (醫學(一), 醫學(二)), or no two characters in common.

    The same subject is worded in several ways, and keys cut long ones off: doubtful ones are not told apart.
    """
    one, two = (re.sub(r"\s+", "", unicodedata.normalize("NFKC", text)) for text in (subject, other))
    ordinals = [set(_ORDINAL.findall(text)) for text in (one, two)]
    pairs = [{run[k : k + 2] for run in _HAN.findall(text) for k in range(len(run) - 1)} for text in (one, two)]
    return any(all(sides) and not sides[0] & sides[1] for sides in (ordinals, pairs))


def _contradiction(answer: Key, correction: Key) -> list[Rejection]:
    """A correction marks what it changes with `#`. One that has other letters in many cells corrects another key."""
    changed = sum(cell != "#" and cell != answer.cells[number] != "#" for number, cell in correction.cells.items())
    if changed <= max(2, len(correction.cells) // 10):
        return []
    return [Rejection("key_contradicts_correction", f"{changed} of {len(correction.cells)} answers differ without a #")]


def _mismatches(paper: Paper, key: Key) -> list[Rejection]:
    found: list[Rejection] = []
    same = same_codes(paper, key)
    if same is False:
        codes = ", ".join(paper.header.codes)
        found.append(Rejection("code_mismatch", f"the key is for {key.code}, the paper is {codes}"))
    subject = paper.header.fields.get("科目", "")
    if same is None and differ(subject, key.subject):
        found.append(Rejection("key_subject_mismatch", f"the key is for {key.subject}, the paper is {subject}"))
    if paper.accepted and key.accepted and len(paper.items) != len(key.cells):
        found.append(Rejection("key_count_mismatch", f"{len(paper.items)} items, {len(key.cells)} answers"))
    # Its number may have been read wrongly: then it is another item's note.
    if paper.accepted and (strange := sorted(key.notes.keys() - {item.number for item in paper.items})):
        found.append(
            Rejection("key_strange_remarks", f"a note on question {strange[0]}, which the paper does not have")
        )
    return found


def _note(number: int, answer: Key | None, last: Key) -> notes.Note | None:
    """The note on an item. One of the first key holds unless the correction has one of its own, or a `#`."""
    if number in last.notes or answer is None or last.cells[number] == "#":
        return last.notes.get(number)
    return answer.notes.get(number)


def _keyed(item: PaperItem, cell: str, before: str | None, note: notes.Note | None) -> KeyedItem:
    words = note.text if note else ""
    original = before if before and before != "#" else None
    answer, accepted, reason = _resolve(cell, note)
    # A note that says what it replaces, and replaces something else, is not about this item.
    if original and note and note.replaced and original not in note.replaced:
        answer, accepted, reason = None, (), "unexplained_mark"
    excluded = [*item.excluded, *([reason] if reason else [])]
    if answer and answer not in item.options and "five_letter_answer" not in excluded:
        answer, excluded = None, [*excluded, "answer_without_option"]
    return KeyedItem(item, answer, accepted, original, words, tuple(excluded))


def _resolve(cell: str, note: notes.Note | None) -> tuple[str | None, tuple[str, ...], str | None]:
    """A cell and its note → the single letter (or None), the credited answers, the reason for leaving the item out."""
    if note is None:
        if cell == "#":
            return None, (), "unexplained_mark"
        if len(cell) > 1:
            return None, (cell,), "several_answers"
        if cell not in LETTERS:
            return None, (cell,), "five_letter_answer"
        return cell, (cell,), None
    if note.kind == notes.CHANGED:
        letter = note.accepted[0]
        # A note that gives another letter than a cell which is no # contradicts the grid.
        if cell not in ("#", letter) or letter not in LETTERS:
            return None, (), "unexplained_mark"
        return letter, (letter,), None
    if note.kind == notes.SEVERAL:
        return None, note.accepted, "several_answers"
    if note.kind in (notes.EVERYONE, notes.ALL_ANSWERED):
        return None, LETTERS, "everyone_credited"
    return None, (), "unexplained_mark"
