"""Rows of text cells → items, or the reason why not. Pure.

Most rows are clean and keyed by a plain letter; they become items at once. The others wait until their file has been
read, because what an answer means can depend on its neighbours (see `answers`).
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from twlocal.dataset.answers import PLAIN, Habit, Letter, Position, Reading, Unreadable, habit_of, read, settle
from twlocal.dataset.columns import Columns
from twlocal.dataset.damage import blank, damaged, hides, suspect
from twlocal.dataset.model import Rejected
from twlocal.item import LABELS, UNIT_SEPARATOR, Item, clean


@dataclass(frozen=True)
class Bad:
    """A row that its format's reader could not make out."""

    line: int
    reason: str


# Where it begins, what its cells are, and the cells: text, except the list of options.
Row = tuple[int, Columns, Sequence[Any]]


@dataclass(frozen=True)
class Waiting:
    """A row whose key is not a plain letter: all of the item but its answer. `place` is its index in the file."""

    place: int
    reading: Reading
    question: str
    options: tuple[str, str, str, str]
    subject: str
    id: str
    meta: dict[str, str]


@dataclass
class FileRows:
    """What one file holds so far. `items` has None where a row waits; `lines` runs parallel to it."""

    file: str
    items: list[Item | None] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)
    normalised: list[int] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)
    hiding: list[int] = field(default_factory=list)
    plain: bool = False

    def reject(self, line: int, reason: str) -> None:
        """Notes a row that is not taken."""
        self.rejected.append(Rejected(self.file, line, reason))

    def position_of(self, number: int) -> str:
        """Where the integer answer `number` first stands, for an error."""
        first = next(row for row in self.waiting if isinstance(row.reading, Position) and row.reading.number == number)
        return f"{number} on line {self.lines[first.place]}"

    def look(self, place: int, texts: tuple[str, ...]) -> None:
        """Notes what is odd about the characters of the row at `place`."""
        if damaged(texts):
            self.damaged.append(place)
        if hides(texts):
            self.hiding.append(place)

    @property
    def habit(self) -> Habit:
        """How this file writes its answers."""
        return habit_of((row.reading for row in self.waiting), letters=self.plain)


def read_rows(rows: Iterable[Row | Bad], file: str, subject: str, *, escapes: bool = True) -> FileRows:
    """Items out of `rows`; `subject` is for rows that name none.

    `escapes`: whether cells can hold NULs and halves of surrogate pairs, as JSON's \\u escapes can spell them.
    """
    found = FileRows(file)
    subjects = {"": subject}
    nothing: dict[str, str] = {}  # shared by all rows that have no other columns
    items, lines = found.items, found.lines
    sha256, normal = hashlib.sha256, unicodedata.is_normalized
    for row in rows:
        if isinstance(row, Bad):
            found.reject(row.line, row.reason)
            continue
        line, columns, cells = row
        if columns.choices is None:
            question, a, b, c, d, answer = columns.pick(cells)
        else:
            question, choices, answer = columns.pick(cells)
            options = _choices(choices)
            if isinstance(options, str):
                found.reject(line, options)
                continue
            a, b, c, d = options
        text = f"{question}\x1f{a}\x1f{b}\x1f{c}\x1f{d}"
        clean_already = (
            (text.isascii() or normal("NFC", text))
            and "\r" not in text
            and question.strip() == question
            and a.strip() == a
            and b.strip() == b
            and c.strip() == c
            and d.strip() == d
        )
        if not clean_already:
            question, a, b, c, d = clean(question), clean(a), clean(b), clean(c), clean(d)
            text = UNIT_SEPARATOR.join((question, a, b, c, d))
        key = PLAIN.get(answer)
        try:
            digest = sha256(f"{text}\x1f{key}".encode())
        except UnicodeEncodeError:
            found.reject(line, "half of a surrogate pair in the text (damaged \\u escape)")
            continue
        odd = suspect(text)
        if odd or not (question and a and b and c and d) or columns.fifth or text.count("\x1f") != 4 or "\0" in text:
            fault = _fault(question, (a, b, c, d), columns, cells, text)
            if fault:
                found.reject(line, fault)
                continue
        cell = "" if columns.subject is None else cells[columns.subject]
        own_subject = subjects.get(cell)
        if own_subject is None:
            own_subject = subjects[cell] = clean(cell) or subject
        ident = "" if columns.id is None else cells[columns.id]
        if not (ident.isascii() and ident.isalnum()):
            ident = clean(ident)
        meta = {name: cells[index] for name, index in columns.meta} if columns.meta else nothing
        if escapes and not _encodable(own_subject, ident, meta):
            found.reject(line, "half of a surrogate pair or a NUL in its subject, id or another column")
            continue
        if not clean_already:
            found.normalised.append(len(items))
        if odd:
            found.look(len(items), (question, a, b, c, d))
        lines.append(line)
        if key is None:
            reading = read(answer, (a, b, c, d))
            found.waiting.append(Waiting(len(items), reading, question, (a, b, c, d), own_subject, ident, meta))
            items.append(None)
            continue
        found.plain = True
        # What Item.content_hash would compute; the texts are known to be clean here, which spares cleaning them again.
        items.append(Item.joined(text, key, own_subject, ident, meta, digest.hexdigest()))
    return found


def _choices(cell: Any) -> tuple[str, ...] | str:
    """The four options of a list cell, or why not. In CSV the list is written as JSON.

    An object is a list where it names its options itself: {"A": …, "B": …}, or {"label": ["A", …], "text": […]}.
    """
    if isinstance(cell, str) and cell.lstrip().startswith(("[", "{")):
        try:
            cell = json.loads(cell, parse_int=str, parse_float=str)
        except (ValueError, RecursionError):
            return "choices is not a list written as JSON"
    if isinstance(cell, dict):
        labels, texts = cell.get("label"), cell.get("text")
        if set(cell) == {"label", "text"} and isinstance(labels, list) and isinstance(texts, list):
            if len(labels) != len(texts):
                return "choices has another number of labels than of texts"
            named = list(zip(labels, texts, strict=True))
        else:
            named = list(cell.items())
        if [label for label, _ in named[: len(LABELS)]] not in (list(LABELS), list(LABELS.lower())):
            return "choices is an object whose labels are not A, B, C, D in this order"
        cell = [text for _, text in named]
    if not isinstance(cell, list):
        return "choices is not a list"
    texts = ["" if one is None else one for one in cell]
    if not all(isinstance(one, str) for one in texts):
        return "choices holds something that is not text"
    if len(texts) != len(LABELS):
        return f"{len(texts)} choices where four are needed"
    return tuple(texts)


def _fault(question: str, options: tuple[str, ...], columns: Columns, cells: Sequence[Any], text: str) -> str:
    for name, part in (("question", question), *((f"option {x}", y) for x, y in zip(LABELS, options, strict=True))):
        if not part:
            return f"empty {name}"
        if blank(part):
            return f"empty {name}: it holds nothing but characters that cannot be seen"
    if any(cells[index].strip() for index in columns.fifth):
        return "a fifth option: four are needed"
    if text.count(UNIT_SEPARATOR) != len(LABELS) or "\0" in text:
        return "a control character (NUL or U+001F) in the text"
    return ""


def _encodable(subject: str, ident: str, meta: dict[str, str]) -> bool:
    joined = "".join((subject, ident, *meta.values()))
    if joined.isascii():
        return "\0" not in joined
    try:
        joined.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in joined


def settle_rows(found: FileRows, *, base: int | None, stated: bool) -> None:
    """Gives the waiting rows of a file their keys, in place; those without one move to the rejected."""
    habit = found.habit
    drop: set[int] = set()
    for row in found.waiting:
        key = settle(row.reading, habit, base=base, stated=stated)
        if isinstance(key, Unreadable):
            found.reject(found.lines[row.place], key.reason)
            drop.add(row.place)
        else:
            found.items[row.place] = Item(row.question, row.options, key, row.subject, row.id, row.meta)
    if habit.texts and habit.letters:
        drop |= _doubtful(found, habit)
    if drop:
        kept = [place for place in range(len(found.items)) if place not in drop]
        moved = {place: index for index, place in enumerate(kept)}
        found.items[:] = [found.items[place] for place in kept]
        found.lines[:] = [found.lines[place] for place in kept]
        for places in (found.normalised, found.damaged, found.hiding):
            places[:] = [moved[place] for place in places if place in moved]
    found.waiting.clear()
    found.rejected.sort(key=lambda rejected: rejected.line)


def _doubtful(found: FileRows, habit: Habit) -> set[int]:
    """Plain letters that are also another option's text, in a file that answers with texts too."""
    waiting = {row.place for row in found.waiting}
    doubtful = set()
    for place, item in enumerate(found.items):
        if place in waiting or item is None or item.answer not in item.options:
            continue
        reading = Letter(item.answer, text=item.options[LABELS.index(item.answer)] != item.answer)
        fault = settle(reading, habit, base=None, stated=False)
        if isinstance(fault, Unreadable):
            found.reject(found.lines[place], fault.reason)
            doubtful.add(place)
    return doubtful
