"""What can be said of an imported result, and what cannot. Pure.

A number is only made where every row tells what it needs; a result that tells less shows less.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from twlocal.bundle import readings
from twlocal.bundle.readings import ReadingRow
from twlocal.bundle.stored import Imported, ResultRow
from twlocal.stats import wilson
from twlocal.tally import Tally

FORMAT = 1


@dataclass(frozen=True)
class Known:
    """An imported result with everything that its rows give.

    ok: responses right as their source read them, of `n_ok`; None where no row tells. boxp, lenp: likewise, of the rows
    that tell. tally, subjects: twlocal's own readings; None and empty where a row lacks them. repeated: rows with the
    stem hash of an earlier one. unknown: names of what cannot be said (keys of `words.UNKNOWN`).
    """

    result: Imported
    n: int
    n_ok: int
    ok: int | None
    boxp: int | None
    lenp: int | None
    tally: Tally | None
    subjects: tuple[tuple[str, Tally], ...]
    repeated: int
    unknown: tuple[str, ...]


def known(result: Imported, rows: Iterable[ResultRow]) -> Known:
    """Count an imported result's rows."""
    listed = list(rows)
    first = [row for row in listed if row.ok is not None]
    read = _read(listed)
    return Known(
        result=result,
        n=len(listed),
        n_ok=len(first),
        ok=_count(first, "ok"),
        boxp=_count(first, "boxp"),
        lenp=_count(first, "lenp"),
        tally=sum(read.values(), Tally()) if read else None,
        subjects=tuple(read.items()) if all(row.subject is not None for row in listed) else (),
        repeated=len(listed) - len({(row.qh, row.ch, row.repeat) for row in listed}),
        unknown=tuple(_unknown(result, listed, bool(read))),
    )


def _count(rows: Sequence[ResultRow], name: str) -> int | None:
    values = [getattr(row, name) for row in rows]
    return sum(values) if values and None not in values else None


def _read(rows: Sequence[ResultRow]) -> dict[str, Tally]:
    """Tallies by subject, or nothing where a row lacks one of our readings."""
    if not rows or any(row.correct is None for row in rows):
        return {}
    subjects: defaultdict[str, list[ReadingRow]] = defaultdict(list)
    for at, row in enumerate(rows):
        subjects[row.subject or ""].append(
            ReadingRow(
                no=at,
                repeat=row.repeat,
                ch=row.ch or "",
                subject=row.subject or "",
                occurrence=0,
                **{name: bool(getattr(row, name)) for name in readings.FACTS},
            )
        )
    return {name: _items(readings.tally(subjects[name]), subjects[name]) for name in sorted(subjects)}


def _items(counted: Tally, rows: Sequence[ReadingRow]) -> Tally:
    """The tally with its number of questions: repeats of one are no new questions."""
    return replace(counted, items=sum(row.repeat == 0 for row in rows))


def _unknown(result: Imported, rows: Sequence[ResultRow], read: bool) -> Iterator[str]:
    if result.kind != "twinkle":
        yield "responses"
    if not read:
        yield "strict"
    if any(row.ch is None for row in rows):
        yield "content_hash"
    if result.complete is None:
        yield "complete"
    if result.quantised is None:
        yield "precision"
    if not result.protocol:
        yield "protocol"
    if any(row.subject is None for row in rows):
        yield "subjects"


def as_dict(found: Known) -> dict[str, Any]:
    """A result's report as JSON-able data: rates are fractions of 1, an unknown is null."""
    result = found.result
    return {
        "format": FORMAT,
        "imported": True,
        "run": result.name,
        "kind": result.kind,
        "source": result.source,
        "imported_at": result.imported_at,
        "checksum": result.checksum,
        "model": {"id": result.model, "quantised": result.quantised},
        "bench": result.bench,
        "protocol": {"name": result.protocol or None},
        "complete": result.complete,
        "marks": list(result.marks),
        "rows": found.n,
        "repeated_rows": found.repeated,
        "source_reading": {
            "n": found.n_ok,
            "ok": found.ok,
            "accuracy": _share(found.ok, found.n_ok),
            "interval": _interval(found.ok, found.n_ok),
            "boxp": found.boxp,
            "box_rate": _share(found.boxp, found.n_ok),
            "lenp": found.lenp,
            "lenient_parse_rate": _share(found.lenp, found.n_ok),
        },
        "score": readings.numbers(found.tally) if found.tally else None,
        "subjects": [{"subject": name, **readings.numbers(one)} for name, one in found.subjects],
        "unknown": list(found.unknown),
        "provenance": dict(result.provenance),
    }


def _share(count: int | None, n: int) -> float | None:
    return None if count is None or not n else count / n


def _interval(count: int | None, n: int) -> list[float] | None:
    if count is None or not n:
        return None
    found = wilson(count, n)
    return [found.low, found.high]
