"""Runs → a bundle: checked first, then written whole or not at all.

    bundle.json                                what is in it, and every number
    SHA256SUMS
    results/<org_model>/<bench>.jsonl          the board's rows: the first asking of every question
    results/<org_model>/.done
    results/<org_model>/_provenance/<bench>.json
    readings/<org_model>/<bench>.jsonl         twlocal's readings of every response, no text
    manifests/<org_model>/<bench>.json         the whole apparatus
    responses/<org_model>/<bench>.jsonl        with --full: every response

The same runs always give the same bytes: nothing in it tells when or where it was written.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import twlocal
from twlocal.bundle import eligible, exchange, pack, readings, text
from twlocal.bundle import manifest as manifests
from twlocal.bundle.eligible import Allowed, Bar
from twlocal.bundle.manifest import RunManifest
from twlocal.bundle.stored import Stored
from twlocal.dataset import Dataset
from twlocal.errors import UsageError
from twlocal.export import as_row
from twlocal.item import LABELS
from twlocal.judge import judge
from twlocal.plan import Wish
from twlocal.record import Record
from twlocal.runs import RunRow, Runs
from twlocal.score import score

FORMAT = "twlocal-bundle/1"
NAME = "bundle.json"
_TIMES = ("latency", "attempt", "answered_at", "engine", "engine_version")


@dataclass(frozen=True)
class Written:
    """What was bundled: the runs with their marks, what could not be checked, and the checksum that `verify` tells."""

    marks: Mapping[str, Sequence[str]]
    full: bool
    notes: tuple[str, ...]
    digest: str


@dataclass(frozen=True)
class _Ready:
    row: RunRow
    run: RunManifest
    places: Mapping[int, int]  # a sitting's id → its place
    flags: Counter[str]


def bundle(
    runs: Runs,
    stored: Stored,
    chosen: Sequence[RunRow],
    target: Path,
    *,
    full: bool,
    allowed: Allowed,
    load: Callable[[Wish], Dataset | None],
) -> Written:
    """Check the runs and write their bundle at `target`. Raises UsageError naming every bar at once.

    full: with responses, and with questions where they are public. load: a run's dataset as it is today, None where it
    cannot be reached.
    """
    ready, found, notes = [], [], []
    for row in chosen:
        one = _ready(stored, row)
        ready.append(one)
        bars = eligible.bars(row, one.run, one.flags, allowed, full=full)
        bar, note = eligible.dataset_bar(one.run, stored.hashes(row.id), row.wish, load)
        found += [(row.name, bar) for bar in [*bars, *([bar] if bar else [])]]
        notes += [f"{row.name}: {note}"] if note else []
    if found:
        raise UsageError(_refusal(found))
    _distinct(ready)
    digest = pack.write(target, lambda folder: _fill(folder, runs, stored, ready, full))
    marks = {one.row.name: manifests.marks(one.run, one.flags, full=full) for one in ready}
    return Written(marks, full, tuple(notes), digest)


def _refusal(found: Sequence[tuple[str, Bar]]) -> str:
    return "\n".join(["not bundled:", *(f"  {name}: {bar}" for name, bar in found)])


def described(stored: Stored, row: RunRow) -> RunManifest:
    """A run of this database as its bundle describes it."""
    return _ready(stored, row).run


def _ready(stored: Stored, row: RunRow) -> _Ready:
    sittings, places, hosts = stored.sittings(row.id)
    labels = {
        "name": row.name,
        "model": row.model,
        "backend": row.backend,
        "bench": row.bench,
        "protocol": row.protocol,
        "repeats": row.repeats,
        "rows": row.rows,
        "private": row.private,
        "created_at": row.created_at,
        "completed_at": row.completed_at,
    }
    return _Ready(row, manifests.describe(labels, row.manifest, sittings, hosts), places, stored.flags(row.id))


def place(run: RunManifest) -> str:
    """Where a run's files lie below results/, readings/, …, without suffix."""
    return f"{exchange.folder(run.model)}/{exchange.file(run.bench)}"


def _distinct(ready: Sequence[_Ready]) -> None:
    seen: dict[str, str] = {}
    for one in ready:
        where = place(one.run).casefold()
        if where in seen:
            raise UsageError(
                f"{seen[where]} and {one.row.name} are both {place(one.run)}: "
                "the exchange format holds one result of a model on a dataset",
                hint="bundle them one by one",
            )
        seen[where] = one.row.name


def _fill(folder: Path, runs: Runs, stored: Stored, ready: Sequence[_Ready], full: bool) -> None:
    entries = [_run(folder, runs, stored, one, full) for one in sorted(ready, key=lambda one: place(one.run))]
    for model in sorted({exchange.folder(one.run.model) for one in ready}):
        benches = sorted({exchange.file(one.run.bench) for one in ready if exchange.folder(one.run.model) == model})
        _text(folder / exchange.RESULTS / model / exchange.DONE, "".join(f"{bench}\n" for bench in benches))
    head = {"format": FORMAT, "twlocal": twlocal.__version__, "full": full, "runs": entries}
    _text(folder / NAME, _pretty(head))


def _run(folder: Path, runs: Runs, stored: Stored, one: _Ready, full: bool) -> dict[str, Any]:
    """Write the files of a run; what bundle.json says of it."""
    run, occurrences = one.run, stored.occurrences(one.row.id)
    names = files(run, full=full)
    board: list[exchange.BoardRow] = []
    read: list[readings.ReadingRow] = []
    with _lines(folder, names.get("responses")) as say:
        records = _passing(runs, one, occurrences, board, read, say)
        scored = score(
            records,
            runs.planned(one.row.id),
            run.reader,
            repeats=run.repeats,
            max_tokens=run.manifest["decoding"]["max_tokens"],
            temperature=run.manifest["decoding"]["temperature"],
        )
    _text(folder / names["board"], "".join(map(exchange.to_line, board)))
    _text(folder / names["readings"], "".join(map(readings.to_line, read)))
    _text(folder / names["manifest"], _pretty(run.as_json()))
    _text(folder / names["provenance"], _pretty(manifests.provenance(run)))
    return entry(run, one.flags, [alarm.kind for alarm in scored.alarms], readings.summary(board, read), full=full)


def files(run: RunManifest, *, full: bool) -> dict[str, str]:
    """The names of a run's files inside its bundle, by what they are."""
    model, bench = exchange.folder(run.model), exchange.file(run.bench)
    found = {
        "board": f"{exchange.RESULTS}/{model}/{bench}.jsonl",
        "provenance": f"{exchange.RESULTS}/{model}/{exchange.PROVENANCE}/{bench}.json",
        "readings": f"readings/{model}/{bench}.jsonl",
        "manifest": f"manifests/{model}/{bench}.json",
    }
    return found | ({"responses": f"responses/{model}/{bench}.jsonl"} if full else {})


def entry(
    run: RunManifest, flags: Mapping[str, int], alarms: Sequence[str], summary: Mapping[str, Any], *, full: bool
) -> dict[str, Any]:
    """What bundle.json says of a run. A flag is counted where it bears on the marks; an alarm is named, not quoted."""
    return {
        "name": run.name,
        "model": run.model,
        "bench": run.bench,
        "protocol": run.protocol,
        "reader": run.reader,
        "key": run.key,
        "rows": run.rows,
        "repeats": run.repeats,
        "quantised": manifests.quantised(run.sittings),
        "marks": manifests.marks(run, flags, full=full),
        "flags": {flag: flags[flag] for flag in sorted(flags) if manifests.is_deviation(flag)},
        "deviations": manifests.deviations(run, flags),
        "alarms": sorted(alarms),
        "files": files(run, full=full),
        "summary": dict(summary),
    }


def _passing(
    runs: Runs,
    one: _Ready,
    occurrences: Mapping[int, int],
    board: list[exchange.BoardRow],
    read: list[readings.ReadingRow],
    say: Callable[[str], object] | None,
) -> Iterator[Record]:
    """The records of a run on their way to being scored, each leaving its rows behind."""
    timings = runs.timings(one.row.id)
    for record, time in zip(runs.records(one.row.id), timings, strict=True):
        judged = judge(record, one.run.reader)
        occurrence = occurrences[record.no]
        if record.repeat == 0:
            board.append(exchange.board_row(record))
        read.append(readings.reading_row(record, judged, occurrence))
        if say is not None:
            row: dict[str, Any] = as_row(record, judged)
            if not one.run.private and (words := runs.words(record.content_hash)):
                row |= {"question": words[0], **dict(zip(LABELS, words[1], strict=True))}
            row |= {name: time[name] for name in _TIMES}
            say(text.to_line(row, record, occurrence=occurrence, sitting=one.places[time["sitting_id"]] + 1))
        yield record


class _lines:
    """A file of lines, or nothing where it has no name."""

    def __init__(self, folder: Path, name: str | None) -> None:
        self._path = folder / name if name else None

    def __enter__(self) -> Callable[[str], object] | None:
        self._file = None
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("w", encoding="utf-8", newline="\n")
        return self._file.write if self._file else None

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._file.close()


def _text(path: Path, said: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(said, encoding="utf-8", newline="\n")


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
