"""Anything that holds results → the database: bundles, the public runners' directories, Twinkle Eval's files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from twlocal.bundle import manifest as manifests
from twlocal.bundle import runner, sums, text, twinkle, unpack, verify, write
from twlocal.bundle.stored import Result, ResultRow, Row, Stored
from twlocal.bundle.unpack import Refused
from twlocal.bundle.verify import Checked, Verified
from twlocal.errors import UsageError
from twlocal.plural import counted

if TYPE_CHECKING:
    from twlocal.runs import Runs

_SHOWN = 10
_TEXT = (".json", ".jsonl")


@dataclass(frozen=True)
class Wanted:
    """How an import is to be done. model, bench: overrule what a source without a manifest says of itself."""

    model: str = ""
    bench: str = ""
    skip_bad: bool = False
    limit: int = unpack.LIMIT


@dataclass(frozen=True)
class Outcome:
    """What became of one run or result. kind: run, or an imported result's kind. new: False where it was there."""

    name: str
    kind: str
    rows: int
    new: bool
    marks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def import_(path: Path, runs: Runs, stored: Stored, wanted: Wanted, *, at: str) -> list[Outcome]:
    """Import what is at `path`. Raises UsageError where it holds no result, Refused where a bundle does not verify.

    at: the time of the import (UTC, ISO 8601).
    """
    if path.is_file() and path.suffix in _TEXT:
        return _loose(path, path.name, stored, wanted, at)
    with unpack.opened(path, limit=wanted.limit) as folder:
        root = unpack.root(folder, write.NAME)
        if root is None:
            return _loose(folder, path.resolve().name, stored, wanted, at)
        verified = verify.verify(root)
        if not verified.clean:
            raise Refused(_unsound(path, verified), hint=f"ask for it again; twlocal verify {path} tells all of it")
        return [_checked(root, path.resolve().name, one, verified.full, runs, stored, at) for one in verified.runs]


def _unsound(path: Path, verified: Verified) -> str:
    found = verified.findings
    lines = [f"  {finding}" for finding in found[:_SHOWN]]
    more = [f"  … and {len(found) - _SHOWN:,} more"] if len(found) > _SHOWN else []
    return "\n".join([f"{path} is not imported, for it does not hold together:", *lines, *more])


def _loose(path: Path, source: str, stored: Stored, wanted: Wanted, at: str) -> list[Outcome]:
    """Results without a manifest of ours. Everything is read before anything is stored."""
    row_files = [path] if path.is_file() and runner.is_rows(path) else runner.files(path) if path.is_dir() else []
    how = {"model": wanted.model, "bench": wanted.bench}
    found = [runner.read(file, source, **how, skip_bad=wanted.skip_bad) for file in row_files]
    found += twinkle.read(twinkle.find(path), source, **how, skip_bad=wanted.skip_bad)
    if not found:
        raise UsageError(
            f"{path if path.exists() else source} holds no result that is known here",
            hint="a bundle (folder, .tar.gz, .zip), a public runner's results folder with <model>/<bench>.jsonl, or "
            "Twinkle Eval's results_*.json with its eval_results_*.jsonl",
        )
    if wanted.bench and len(found) > 1:
        raise UsageError(
            f"--bench names one result, and there are {len(found)} in {source}", hint="name one of its files"
        )
    return [_stored(stored, result, at) for result in found]


def _stored(stored: Stored, result: Result, at: str) -> Outcome:
    name, new = stored.add_result(result, at=at)
    return Outcome(name, result.kind, len(result.rows), new, result.marks, tuple(notes_of(result)))


def notes_of(result: Result) -> Iterator[str]:
    """What a person should hear about an imported result."""
    repeated = len(result.rows) - len({(row.qh, row.repeat) for row in result.rows})
    if repeated and any(row.ch is None for row in result.rows):
        same = counted(repeated, "row has", "rows have")
        yield f"{same} the stem hash of an earlier row: all kept, but which is which nobody can tell"
    if result.complete is False:
        yield "no .done marker: it may be incomplete"
    if rejected := result.provenance.get("rejected"):
        yield f"{counted(rejected, 'row')} left out"
    yield from result.provenance.get("notes", ())


def _checked(root: Path, source: str, one: Checked, full: bool, runs: Runs, stored: Stored, at: str) -> Outcome:
    """A verified run of a bundle: with responses a run again, without them a result."""
    run = one.run
    assert run is not None  # a bundle without a manifest is not clean
    marks = tuple(one.entry["marks"])
    if not full:
        result = _hash_only(one, source, marks)
        return _stored(stored, result, at)
    responses = root / write.files(run, full=True)["responses"]
    if own := _ours(responses, one, runs, stored):
        return Outcome(own, "run", len(one.rows), False, marks, ("it is a run of this database",))
    checksum = manifests.digest([run.as_json(), sums.of_file(responses)])
    name, new = stored.add_run(run, _rows(responses), checksum=checksum, source=source, marks=marks, at=at)
    return Outcome(name, "run", len(one.rows), new, marks)


def _rows(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            record, row = text.from_line(line)
            yield Row(
                record=record,
                occurrence=row["occurrence"],
                sitting=row["sitting"] - 1,
                latency=row["latency"],
                attempt=row["attempt"],
                answered_at=row["answered_at"],
                words=text.words_of(row),
            )


def _ours(responses: Path, one: Checked, runs: Runs, stored: Stored) -> str | None:
    """The run of this very database that was bundled, if it is here: same apparatus, same sittings, same responses."""
    assert one.run is not None
    wanted = manifests.digest(one.run.as_json())
    for listed in runs.all():
        if listed.name != one.run.name or stored.run_checksum(listed.id) is not None or not listed.completed_at:
            continue
        row = runs.get(key=listed.key)
        if manifests.digest(write.described(stored, row).as_json()) == wanted and all(
            ours == theirs.record if theirs else False
            for ours, theirs in zip_longest(runs.records(row.id), _rows(responses))
        ):
            return row.name
    return None


def _hash_only(one: Checked, source: str, marks: tuple[str, ...]) -> Result:
    run = one.run
    assert run is not None
    board = iter(one.board)
    rows = []
    for row in one.rows:
        first = next(board) if row.repeat == 0 else None
        rows.append(
            ResultRow(
                repeat=row.repeat,
                subject=row.subject,
                qh=first.qh if first else None,
                ch=row.ch,
                ok=first.ok if first else None,
                boxp=first.boxp if first else None,
                lenp=first.lenp if first else None,
                correct=row.correct,
                lenient_correct=row.lenient_correct,
                wrote_box=row.wrote_box,
                parsed=row.parsed,
                lenient_parsed=row.lenient_parsed,
                truncated=row.truncated,
            )
        )
    said = {name: one.entry[name] for name in ("key", "reader", "repeats", "deviations", "alarms")}
    return Result(
        name=run.name,
        kind="bundle",
        source=source,
        model=run.model,
        bench=run.bench,
        rows=rows,
        protocol=run.protocol,
        complete=True,
        quantised=manifests.quantised(run.sittings),
        marks=marks,
        provenance={"provenance": manifests.provenance(run), "bundle": said},
    )
