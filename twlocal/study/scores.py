"""Scores of many models on several benchmarks: from a table, or from everything in the database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from twlocal.errors import UsageError
from twlocal.study import tables

if TYPE_CHECKING:
    from twlocal.study.load import Source

LENIENT = "_lenient"  # the ending of a column that holds the lenient score


@dataclass(frozen=True)
class Entry:
    """A model's scores (shares of 1) by column: a benchmark's name, or that with `_lenient` behind it."""

    model: str
    scores: Mapping[str, float]
    family: str = ""
    day: date | None = None


def from_table(path: Path, columns: Sequence[str]) -> list[Entry]:
    """Entries from a CSV, TSV or JSON with a column `model`, optionally `family` and `date`, and a column a benchmark.

    Scores are percentages or shares, a whole column at a time: one that holds anything above 1 is in percent. Raises
    UsageError, naming row and column.
    """
    rows = tables.read(path)
    tables.need(rows, ["model", *columns], path)
    names = [*columns, *(f"{name}{LENIENT}" for name in columns if f"{name}{LENIENT}" in rows[0])]
    values: dict[str, list[float | None]] = {
        name: [tables.number(row[name], f"{path}, row {at}, {name}") for at, row in enumerate(rows, 1)]
        for name in names
    }
    for name, column in values.items():
        if any(one is not None and one > 1 for one in column):
            values[name] = column = [None if one is None else tables.share(one) for one in column]
        for at, one in enumerate(column, 1):
            if one is not None and not 0 <= one <= 1:
                raise UsageError(f"{path}, row {at}, {name}: {rows[at - 1][name]!r} is no score")
    entries = []
    for at, row in enumerate(rows):
        scores = {name: score for name in names if (score := values[name][at]) is not None}
        entries.append(
            Entry(row["model"], scores, row.get("family", ""), _day(row.get("date", ""), f"{path}, row {at + 1}"))
        )
    twice = sorted({one.model for one in entries if sum(other.model == one.model for other in entries) > 1})
    if twice:
        raise UsageError(f"{path} names a model twice: {', '.join(twice[:5])}")
    return entries


def _day(text: str, where: str) -> date | None:
    if not text.strip():
        return None
    try:
        return datetime.fromisoformat(text.strip()).date()
    except ValueError as error:
        raise UsageError(f"{where}: {text!r} is no date such as 2026-08-24") from error


def from_database(source: Source, columns: Sequence[str]) -> list[Entry]:
    """Entries from complete runs and imported results over the named benchmarks; the newest of a model counts.

    The day is the one on which the first of them was made.
    """
    found: dict[str, dict[str, float]] = {}
    days: dict[str, date] = {}
    for model, bench, scores, made in _results(source, set(columns)):
        found.setdefault(model, {}).update({f"{bench}{ending}": score for ending, score in scores.items()})
        day = datetime.fromisoformat(made).date()
        days[model] = min(day, days.get(model, day))
    return [Entry(model, scores, day=days[model]) for model, scores in found.items()]


def _results(source: Source, benches: set[str]) -> Iterator[tuple[str, str, dict[str, float], str]]:
    from twlocal.bundle.known import known
    from twlocal.score import score

    for row in source.runs.all():
        if row.bench not in benches or not row.complete:
            continue
        run = source.runs.get(row.name)
        reader = run.manifest["protocol"]["reader"]
        overall = score(source.runs.records(run.id), source.runs.planned(run.id), reader, repeats=run.repeats).overall
        yield run.model, run.bench, _scores(overall.accuracy, overall.lenient_accuracy), run.created_at
    for result in source.stored.results():
        tally = known(result, source.stored.rows(result.id)).tally if result.bench in benches else None
        if tally is not None:
            yield result.model, result.bench, _scores(tally.accuracy, tally.lenient_accuracy), result.imported_at


def _scores(strict: float | None, lenient: float | None) -> dict[str, float]:
    both = {"": strict, LENIENT: lenient}
    return {ending: score for ending, score in both.items() if score is not None}


def in_family(entries: Sequence[Entry], family: str, names: Sequence[str]) -> list[Entry]:
    """The entries with those put into `family` whose name contains one of `names`, whatever the case.

    Raises UsageError where a name is in no model's.
    """
    for name in names:
        if not any(name.casefold() in one.model.casefold() for one in entries):
            raise UsageError(f"no model's name contains {name!r}")
    return [
        Entry(one.model, one.scores, family, one.day)
        if any(name.casefold() in one.model.casefold() for name in names)
        else one
        for one in entries
    ]
