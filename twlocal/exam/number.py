"""Question numbers: one chain that only counts upward, chosen over all candidates at once.

Statute articles, dosages, years and the numbers of a cloze passage also begin lines. Which of them are question numbers
is decided for the whole part of the paper: every step of the chain must go up by one, should have exactly one set of
options before the next step, and should stand in the column where the numbers stand (section 3.1, "phantom questions").
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .glyphs import digits
from .lines import Line
from .options import Mark
from .page import Box

_NUMBER = re.compile(r"(?P<open>第|[(（]?)\s*(?P<run>\d{1,8})\s*(?P<close>題(?:\s*[:：.．、])?|[)）.．、:：]?)")
# An empty bracket for the answer, in front of the number: `（　）1.何者`.
_ANSWER_BRACKET = re.compile(r"[(（]\s*[)）]\s*")
# A number that counts or measures something is part of a sentence; only as a hint, since an item may begin with one.
_MEASURED = re.compile(
    r"\s*(?:[%％℃°]|公[斤克分尺里升噸]|毫|mg|ml|mL|kg|cm|mm|μ|歲|天|小時|年|月|日|條|項|款|元|人|次|倍|題)"
)
_MAX_GAP = 6  # how many numbers in a row may be missing before the chain breaks


class Number(NamedTuple):
    """A place where an item may begin: the first `stop` characters of a line are the number and its full stop."""

    line: int
    number: int
    stop: int
    x1: float
    next_x: float
    delimited: bool
    measured: bool = False
    x0: float = 0.0
    style: str = ""  # what stands around the digits


@dataclass(frozen=True)
class Chain:
    """The chosen numbers in reading order; `images` when the numbers are pictures and were counted, not read.

    `doubtful` when above the first one another stands that looks just like it: a list in the stem, or a passage.
    """

    numbers: tuple[Number, ...]
    images: bool = False
    doubtful: bool = False

    @property
    def missing(self) -> tuple[int, ...]:
        """The numbers between 1 and the last one that no item has."""
        if not self.numbers:
            return ()
        have = {n.number for n in self.numbers}
        return tuple(n for n in range(1, self.numbers[-1].number) if n not in have)


def candidates(lines: Sequence[Line]) -> list[Number]:
    """Every reading of the digits at the beginning of a line as a question number.

    Digits without a separator may belong to the stem: `211分子` is offered as 2, 21 and 211.
    """
    found: list[Number] = []
    for k, line in enumerate(lines):
        first = line.text[0]
        if not (first in "0123456789(（第" or "０" <= first <= "９"):
            continue
        text = digits(line.text)
        bracket = _ANSWER_BRACKET.match(text) if first in "(（" else None
        match = _NUMBER.match(text, bracket.end() if bracket else 0)
        if not match or not _closed(match["open"], match["close"]):
            continue
        run, bracketed = match["run"], bool(match["open"])
        start = line.char_at(match.start("run"))
        # The run as the eye sees it: digits that stand close together. `1 2023年` is the number 1.
        near = 1
        while near < len(run) and _close(line, start + near):
            near += 1
        for length in range(1, min(near, 3) + 1):
            value = int(run[:length])
            if value == 0 or (bracketed and length < len(run)):
                continue
            delimited = length == near
            stop = start + length
            if delimited and length == len(run) and match["close"]:
                stop = min(line.char_at(match.end() - 1) + 1, len(line))
            found.append(
                Number(
                    line=k,
                    number=value,
                    stop=stop,
                    x1=line.ends[start + length - 1],
                    next_x=line.starts[stop] if stop < len(line) else -1.0,
                    delimited=delimited,
                    measured=bool(delimited and not bracketed and _MEASURED.match(line.text[match.end("run") :])),
                    x0=line.starts[start],
                    style=match["open"] + match["close"] if delimited else "",
                )
            )
    return found


def _closed(opening: str, closing: str) -> bool:
    """Whether what stands around the digits goes together: `(1)` and `第1題` do, `(1` and `1題` are parts of a text."""
    if opening in ("第", ""):
        return (opening == "第") == closing.startswith("題")
    return closing in (")", "）")


def _close(line: Line, k: int) -> bool:
    return k < len(line) and line.gap(k) < 0.2 * line.size


def image_candidates(lines: Sequence[Line], boxes: dict[int, Sequence[Box]]) -> list[Number]:
    """Lines that have a small picture just left of their first character: numbers that are images in the layer."""
    found: list[Number] = []
    for k, line in enumerate(lines):
        for box in boxes.get(line.page, ()):
            if box.kind != "image" or not 0.35 * line.size <= box.height <= 1.3 * line.size:
                continue
            middle = (box.top + box.bottom) / 2
            if (
                box.width <= 2.2 * line.size
                and box.x1 <= line.x0 + 0.2 * line.size
                and line.x0 - box.x1 <= 2.5 * line.size
                and line.top - 1 <= middle <= line.bottom + 1
            ):
                found.append(Number(k, len(found) + 1, 0, box.x1, line.x0, True, x0=box.x0))
                break
    return found


def find_chain(found: Sequence[Number], marks: Sequence[Mark], hidden: Sequence[int] = ()) -> Chain:
    """The best increasing chain of candidates, given where the option marks are. Linear in the candidates.

    Positions of `found` and `marks` are those of the same lines; both are in reading order. `hidden` are lines before
    which there is a page without text: numbers may be missing there.
    """
    if not found:
        return Chain(())
    sets = _Sets(marks)
    at = marks_before(found, marks)
    merit = _merit(found)
    best: list[float] = []
    back: list[int] = []
    by_number: dict[int, list[int]] = defaultdict(list)
    steps = _MAX_GAP if not hidden else 5 * _MAX_GAP
    for k, number in enumerate(found):
        own = merit[k] + (3.0 if number.number == 1 else 0.0)
        score, previous = own - 1.0, -1
        for step in range(1, min(steps, number.number - 1) + 1):
            most = 10.0 if hidden or step == 1 else 4.0 - 4.0 * step  # what `gain` can be, but for the likeness
            # The nearest first, which is the best in most cases and spares the others.
            for j in reversed(by_number.get(number.number - step, ())):
                if best[j] + own + most + 3.0 < score:
                    continue
                other = found[j]
                if other.line == number.line:
                    continue
                # The numbers of a paper stand in one column and look alike; those of a list in a stem stand elsewhere.
                like = (2.0 if _in_column(other, number) else 0.0) + (other.style == number.style)
                gain = like + sets.fit(at[j], at[k], other.line)
                if step > 1:
                    unseen = any(other.line < line <= number.line for line in hidden)
                    gain -= 0.1 * step if unseen else 6.0 + 4.0 * step
                    if step > _MAX_GAP and not unseen:
                        continue
                value = best[j] + own + gain
                if value > score or (value == score and previous < 0):
                    score, previous = value, j
        best.append(score)
        back.append(previous)
        by_number[number.number].append(k)
    ends = [best[k] + sets.fit(at[k], len(marks), found[k].line) for k in range(len(found))]
    k = max(range(len(found)), key=lambda i: (ends[i], i))
    chain: list[Number] = []
    while k >= 0:
        chain.append(found[k])
        k = back[k]
    first = chain[-1]
    above = (n for n in found if n.number == first.number and n.line < first.line and n.delimited)
    doubtful = any(n.style == first.style and _in_column(n, first) for n in above)
    return Chain(tuple(reversed(chain)), doubtful=doubtful)


def _in_column(one: Number, other: Number) -> bool:
    return abs(one.x1 - other.x1) < 2 or abs(one.x0 - other.x0) < 2


def astray(chain: Chain, lines: Sequence[Line]) -> set[int]:
    """The numbers that stand in no column with the others of their page, or of the paper where a page has too few.

    They are probably not numbers of questions.
    """
    pages: dict[int, list[Number]] = defaultdict(list)
    for number in chain.numbers:
        pages[lines[number.line].page].append(number)
    found: set[int] = set()
    for own in pages.values():
        column = own if len(own) > 3 else chain.numbers
        for number in own:
            near = 0.75 * lines[number.line].size
            beside = (
                abs(number.x1 - other.x1) < near or abs(number.x0 - other.x0) < near
                for other in column
                if other is not number
            )
            if len(column) > 3 and not any(beside):
                found.add(number.number)
    return found


def marks_before(numbers: Sequence[Number], marks: Sequence[Mark]) -> list[int]:
    """How many option marks stand before each number."""
    places = [(mark.line, mark.start) for mark in marks]
    return [bisect_left(places, (number.line, number.stop)) for number in numbers]


class _Sets:
    """Option marks in reading order, and how well those of a stretch are the options of one item."""

    def __init__(self, marks: Sequence[Mark]) -> None:
        self._lines = [mark.line for mark in marks]
        self._letters = "".join([mark.letter for mark in marks])
        # Those that do not stand apart from the text before them left out.
        self._apart = "".join([mark.letter if mark.apart else "-" for mark in marks])

    def fit(self, start: int, stop: int, line: int) -> float:
        """How well marks `start` to `stop` fit one item on `line`: exactly one of each letter is what an item has."""
        if start >= stop:
            return -2.0
        # The number nearest to its options is preferred: the same number may also begin a line of the passage above.
        far = 0.02 * (self._lines[start] - line)
        letters, apart = self._letters[start:stop], self._apart[start:stop]
        if letters == apart == "ABCD" * (len(letters) // 4):  # most
            return 10.0 - far if len(letters) == 4 else -2.5 * len(letters)
        counts = list(map(letters.count, "ABCDE"))
        *four, e = counts
        least, most = min(four), max(counts)
        if least == 1 and sum(four) == 4 and e <= 1:
            return 10.0 - far
        if most <= 1:
            return 1.0 - far
        if least == 1:
            # One set, and marks that the text mentions (維生素(A)). Which is which is seen when the item is made.
            return max(1.0, 10.0 - 1.5 * (len(letters) - 4)) - far
        if least and apart != letters and list(map(apart.count, "ABCD")) == [1] * 4:
            return 4.0 - far  # one set, and an option that names others: `(D)(A)與(B)皆是`
        return -10.0 * most if least else -2.0 * most


def _merit(found: Sequence[Number]) -> list[float]:
    """How much each candidate looks like a number of this paper: its column, and the column of what follows it."""
    rights = Counter(round(n.x1 / 2) for n in found if n.delimited)
    nexts = Counter(round(n.next_x / 2) for n in found if n.delimited)

    def common(counts: Counter[int]) -> Callable[[float], bool]:
        enough = max(2, 0.3 * max(counts.values(), default=0))
        get = counts.get  # not counts[…], which calls Python for every column that is not there

        def near(x: float) -> bool:
            here = round(x / 2)
            return get(here - 1, 0) + get(here, 0) + get(here + 1, 0) >= enough

        return near

    by_right, by_next = common(rights), common(nexts)
    return [
        (1.5 if by_right(n.x1) else 0.0)
        + (1.5 if by_next(n.next_x) else 0.0)
        + (0.5 if n.delimited else 0.0)
        - (0.8 if n.measured else 0.0)
        for n in found
    ]
