"""What twlocal read, a row a response, without a word of the question or of the response; and every number made of it.

The board's rows (`exchange`) hold its own lenient reading only. The published score is the strict reading, so a bundle
without responses must bring that too. No letter is in here: with `correct` beside it, it would tell the key. Pure.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from twlocal.bundle.exchange import BoardRow
from twlocal.bundle.strict import Malformed, parse
from twlocal.judge import PUBLISHED, Judged
from twlocal.record import Record
from twlocal.tally import Tally

_CH = re.compile(r"[0-9a-f]{64}")
MOST_ROWS = 10_000_000


@dataclass(frozen=True, slots=True)
class ReadingRow:
    """One answered row as twlocal's readers see it; `occurrence` tells equal rows of one subject apart."""

    no: int
    repeat: int
    ch: str
    subject: str
    occurrence: int
    correct: bool
    lenient_correct: bool
    wrote_box: bool
    parsed: bool
    lenient_parsed: bool
    truncated: bool


_FIELDS = tuple(field.name for field in fields(ReadingRow))
FACTS = _FIELDS[_FIELDS.index("correct") :]


def reading_row(record: Record, judged: Judged, occurrence: int) -> ReadingRow:
    """A judged record without its text."""
    return ReadingRow(
        no=record.no,
        repeat=record.repeat,
        ch=record.content_hash,
        subject=record.subject,
        occurrence=occurrence,
        correct=judged.correct,
        lenient_correct=judged.correct_lenient,
        wrote_box=judged.wrote_box,
        parsed=judged.box.letter is not None,
        lenient_parsed=judged.lenient.letter is not None,
        truncated=judged.truncated,
    )


def to_line(row: ReadingRow) -> str:
    """The row as its line of JSON, with the line end."""
    return json.dumps(asdict(row), ensure_ascii=False) + "\n"


def from_line(line: str, reader: str = PUBLISHED) -> ReadingRow:
    """The row in a line of JSON, read under `reader`. Raises Malformed, also where its facts exclude each other."""
    data = parse(line)
    if not isinstance(data, dict) or set(data) != set(_FIELDS):
        raise Malformed(f"does not hold exactly {', '.join(_FIELDS)}")
    for name in ("no", "repeat", "occurrence"):
        if type(data[name]) is not int or not 0 <= data[name] < MOST_ROWS:
            raise Malformed(f"{name} is no count")
    for name in FACTS:
        if type(data[name]) is not bool:
            raise Malformed(f"{name} is neither true nor false")
    if not isinstance(data["subject"], str) or not isinstance(data["ch"], str) or not _CH.fullmatch(data["ch"]):
        raise Malformed("subject is no text, or ch not 64 hexadecimal digits")
    row = ReadingRow(**data)
    if why := _impossible(row, reader):
        raise Malformed(why)
    return row


def _impossible(row: ReadingRow, reader: str) -> str:
    if row.correct and not row.parsed:
        return "correct, although nothing was read"
    if row.lenient_correct and not row.lenient_parsed:
        return "lenient_correct, although nothing was read"
    if reader == PUBLISHED:
        # The lenient reader begins with the strict one.
        if row.parsed and not row.wrote_box:
            return "parsed, although no box was written"
        if row.parsed and (not row.lenient_parsed or row.correct != row.lenient_correct):
            return "the strict and the lenient reading of one box differ"
    return ""


def summary(board: Iterable[BoardRow], rows: Iterable[ReadingRow]) -> dict[str, Any]:
    """Every number that a bundle states of a run, from its rows alone. Rates are fractions of 1, null for no row."""
    subjects: defaultdict[str, list[ReadingRow]] = defaultdict(list)
    for row in rows:
        subjects[row.subject].append(row)
    tallies = {name: tally(subjects[name]) for name in sorted(subjects)}
    overall = sum(tallies.values(), Tally())
    return {
        "board": board_numbers(board),
        "score": numbers(overall),
        "subjects": [{"subject": name, **numbers(one)} for name, one in tallies.items()],
    }


def tally(rows: Iterable[ReadingRow]) -> Tally:
    """The counts of rows of one subject; what rows without text cannot tell stays 0."""
    counts = dict.fromkeys(FACTS, 0)
    numbers_asked, n = set(), 0
    for n, row in enumerate(rows, 1):  # noqa: B007 - its last value is the answer
        numbers_asked.add(row.no)
        for name in FACTS:
            counts[name] += getattr(row, name)
    return Tally(
        n=n,
        planned=n,
        items=len(numbers_asked),
        correct=counts["correct"],
        lenient_correct=counts["lenient_correct"],
        boxes=counts["wrote_box"],
        parsed=counts["parsed"],
        lenient_parsed=counts["lenient_parsed"],
        truncated=counts["truncated"],
    )


def numbers(counted: Tally) -> dict[str, Any]:
    """A tally's counts and rates, as far as rows without text tell them."""
    return {
        "n": counted.n,
        "items": counted.items,
        "correct": counted.correct,
        "accuracy": counted.accuracy,
        "interval": _interval(counted.interval.low, counted.interval.high, counted.n),
        "lenient_correct": counted.lenient_correct,
        "lenient_accuracy": counted.lenient_accuracy,
        "lenient_interval": _interval(counted.lenient_interval.low, counted.lenient_interval.high, counted.n),
        "boxes": counted.boxes,
        "box_rate": counted.box_rate,
        "parsed": counted.parsed,
        "parse_rate": counted.parse_rate,
        "lenient_parsed": counted.lenient_parsed,
        "lenient_parse_rate": counted.lenient_parse_rate,
        "truncated": counted.truncated,
    }


def _interval(low: float, high: float, n: int) -> list[float] | None:
    return [low, high] if n else None


def board_numbers(rows: Iterable[BoardRow]) -> dict[str, Any]:
    """The public board's counts and rates over its rows."""
    n = ok = boxp = lenp = 0
    for row in rows:
        n, ok, boxp, lenp = n + 1, ok + row.ok, boxp + row.boxp, lenp + row.lenp
    counted = Tally(n=n, planned=n, items=n, correct=ok, boxes=boxp, lenient_parsed=lenp)
    return {
        "n": n,
        "ok": ok,
        "accuracy": counted.accuracy,
        "interval": _interval(counted.interval.low, counted.interval.high, n),
        "boxp": boxp,
        "box_rate": counted.box_rate,
        "lenp": lenp,
        "lenient_parse_rate": counted.lenient_parse_rate,
    }


def differences(stated: Any, found: Any, where: str = "") -> list[str]:
    """Where a stated summary differs from the recomputed one; the last digits of a fraction may."""
    if isinstance(stated, Mapping) and isinstance(found, Mapping):
        names = [*found, *(name for name in stated if name not in found)]
        return [
            one
            for name in names
            for one in (
                differences(stated[name], found[name], f"{where}.{name}" if where else str(name))
                if name in stated and name in found
                else [f"{where}.{name} is {'missing' if name in found else 'of no known meaning'}".lstrip(".")]
            )
        ]
    if isinstance(stated, list) and isinstance(found, list) and len(stated) == len(found):
        return [one for at in range(len(found)) for one in differences(stated[at], found[at], f"{where}[{at}]")]
    same = (
        abs(stated - found) <= 1e-9
        if type(stated) is float and type(found) is float
        else type(stated) is type(found) and stated == found
    )
    return [] if same else [f"{where} is stated as {_short(stated)}, and the rows give {_short(found)}"]


def _short(value: Any) -> str:
    said = json.dumps(value, ensure_ascii=False)
    return said if len(said) <= 60 else said[:57] + "…"
