"""What an answer cell means: a letter, a position counted from 0 or 1, or an option's text. Pure.

The rules, from sure to unsure:

1. A letter A–D, in either case and width, with brackets, punctuation and blanks around it, is that letter.
2. Text that equals one option, whole, is that option; several equal options make it unreadable.
3. An integer (also as 1.0) is a position. Where counting starts is decided by the file: a 0 means from 0, a 4 means
   from 1, both are an error; a file with neither takes what the other files of the source agree on, or
   `--answer-base` has to say.
   Integers among letters or texts are refused, and so is an integer that is also the text of an option:
   only `--answer-base` makes it a position.
4. Where one file mixes letters and texts, an answer that could be either (blood types: A, B, O, AB) is refused; where
   it does not, it is read like the rest of its file.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from twlocal.item import LABELS, clean

# The answers that need no thought; everything else goes through `read`.
PLAIN: Mapping[str, str] = MappingProxyType({form: label for label in LABELS for form in (label, label.lower())})

# Signs around a letter, after NFKC: brackets, stops, quotes, emphasis, and characters that cannot be seen.
_AROUND = " \t\n()[]{}<>【】「」『』〔〕〈〉《》.。,、:;!'\"‘’“”`*_\u200b\u200e\u200f\ufeff"
_BETWEEN = frozenset(" \t\n,、.。;/&+|和或及與()[]")


@dataclass(frozen=True)
class Letter:
    """A letter; `text` when the cell is also the text of an option at another place."""

    label: str
    text: bool = False


@dataclass(frozen=True)
class Position:
    """An integer from 0 to 4; `text` when the cell is also the text of an option."""

    number: int
    text: bool = False


@dataclass(frozen=True)
class Text:
    """The text of exactly one option; `instead` is the reason to refuse it where answers are letters ("" for none)."""

    label: str
    instead: str = ""


@dataclass(frozen=True)
class Unreadable:
    """None of them; `reason` says why."""

    reason: str


Reading = Letter | Position | Text | Unreadable


def bare(answer: str) -> str:
    """An answer's core: NFKC, without brackets and punctuation around it, in capitals."""
    return unicodedata.normalize("NFKC", answer).strip(_AROUND).upper()


def letter_of(answer: str) -> str:
    """The letter A–D that `answer` is, or ""."""
    core = bare(answer)
    return core if core in PLAIN else ""


def read(answer: str, options: tuple[str, ...]) -> Reading:
    """What `answer` can mean for a row whose cleaned options are `options`, before the rest of its file is known."""
    whole = clean(answer)
    if not whole:
        return Unreadable("no answer")
    core = bare(whole)
    same = [label for label, option in zip(LABELS, options, strict=True) if option == whole]
    if core in PLAIN:
        return Letter(core, text=bool(same) and same != [core])
    # pandas writes a column of integers in which a cell is missing as 1.0, 2.0, …
    number = core.removesuffix(".0")
    if len(number) == 1 and number in "01234":
        return Position(int(number), text=bool(same))
    refusal = _refusal(whole, core)
    if len(same) > 1:
        return Unreadable(f"the answer {_short(whole)} is the text of options {' and '.join(same)}")
    if same:
        return Text(same[0], instead=refusal if _like_letters(core) else "")
    return Unreadable(refusal)


def _refusal(whole: str, core: str) -> str:
    shown = _short(whole)
    letters = [char for char in core if char not in _BETWEEN]
    if len(core) == 1 and core.isascii() and core.isalpha():
        return f"the answer {shown} is not one of A–D"
    if len(letters) > 1 and set(letters) <= set("ABCDEFGH"):
        if len(set(letters)) == 1:
            return f"the answer {shown} is a doubled letter"
        return f"multi-answer {shown}: exactly one key is needed"
    if core.isdecimal():
        return f"the answer {shown} is out of range: four options have the positions 0–3 or 1–4"
    return f"the answer {shown} is neither a letter A–D nor the whole text of an option"


def _like_letters(core: str) -> bool:
    return core.isascii() and core.isalpha() and len(core) <= 4


def _short(text: str) -> str:
    return repr(text if len(text) <= 24 else text[:23] + "…")


@dataclass(frozen=True)
class Habit:
    """How a file writes its answers: which of the three kinds occur beyond doubt."""

    letters: bool
    texts: bool
    positions: frozenset[int]

    @property
    def base(self) -> int | None:
        """Where this file starts to count: 0, 1, or None when its integers do not tell. Raises ValueError on both."""
        if {0, 4} <= self.positions:
            raise ValueError("both 0 and 4 occur")
        return 0 if 0 in self.positions else 1 if 4 in self.positions else None

    @property
    def counts(self) -> bool:
        """Whether the file's integers are positions: it has some, and nothing else beside them."""
        return bool(self.positions) and not self.letters and not self.texts


def habit_of(readings: Iterable[Reading], *, letters: bool) -> Habit:
    """The habit that a file's readings show; `letters` when plain letters were seen beside them."""
    texts = False
    positions: set[int] = set()
    for reading in readings:
        match reading:
            case Letter(text=False):
                letters = True
            case Text(instead=""):
                texts = True
            case Position(number, text=False):
                positions.add(number)
    return Habit(letters, texts, frozenset(positions))


def settle(reading: Reading, habit: Habit, *, base: int | None, stated: bool) -> str | Unreadable:
    """The key's letter, or why there is none.

    `base` is where positions start (None: not known); `stated` when the caller gave it rather than the file.
    """
    match reading:
        case Unreadable():
            return reading
        case Letter(label, text):
            if text and habit.texts:
                return Unreadable(
                    f"the answer '{label}' is a letter and the text of another option, and this file uses both"
                )
            return label
        case Text(label, instead):
            return Unreadable(instead) if instead and habit.letters else label
        case Position(number, text):
            return _position(number, text, habit, base, stated)


def _position(number: int, text: bool, habit: Habit, base: int | None, stated: bool) -> str | Unreadable:
    if not stated:
        if text:
            return Unreadable(
                f"the answer '{number}' is a position and the text of an option: write the letter, or use --answer-base"
            )
        if not habit.counts or base is None:
            return Unreadable(f"the answer '{number}' is a number where other answers are letters or texts")
    index = number - (base or 0)
    if 0 <= index < len(LABELS):
        return LABELS[index]
    return Unreadable(f"the answer '{number}' is out of range when counting from {base}")
