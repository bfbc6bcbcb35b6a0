"""Stored runs as the studies take them: found by name, streamed, and described by the command that repeats them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from twlocal import apparatus
from twlocal.apparatus import Apparatus
from twlocal.compare import Key, Outcome, Side, outcomes
from twlocal.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from twlocal.bundle.stored import Imported, Stored
    from twlocal.record import Record
    from twlocal.runs import RunRow, Runs


@dataclass(frozen=True)
class Source:
    """The database of a study: runs, and what was imported."""

    runs: Runs
    stored: Stored

    def run(self, name: str) -> RunRow:
        """The run of that name. Raises UsageError, also where it is an imported result without responses."""
        try:
            return self.runs.get(name)
        except UsageError:
            if self.stored.result(name) is not None:
                raise UsageError(
                    f"{name} was imported without responses, and this reads responses",
                    hint="a bundle made with --full brings them",
                ) from None
            raise

    def keyed(self, run: RunRow) -> Iterator[tuple[Key, Record]]:
        """Every response of a run with the identity of its item, one at a time."""
        occurrences = self.stored.occurrences(run.id)
        for record in self.runs.records(run.id):
            yield (record.content_hash, record.subject, occurrences[record.no]), record

    def side(self, name: str, reader: str | None = None) -> tuple[Side, Apparatus, RunRow | None]:
        """A run, or an imported result that tells content hashes and readings, for a comparison."""
        imported = None if any(row.name == name for row in self.runs.all()) else self.stored.result(name)
        if imported is not None:
            return _imported(imported, self.stored, reader)
        run = self.runs.get(name)
        used = reader or run.manifest["protocol"]["reader"]
        found = outcomes(self.runs.records(run.id), self.stored.occurrences(run.id), used)
        return Side(run.name, found, run.rows), self.apparatus(run), run

    def apparatus(self, run: RunRow) -> Apparatus:
        """The apparatus of a run."""
        engines = [dict(sitting.engine_info) for sitting in self.runs.sittings(run.id)]
        return apparatus.of_run(run.manifest, engines, backend=run.backend, bench=run.bench)


def _imported(result: Imported, stored: Stored, reader: str | None) -> tuple[Side, Apparatus, None]:
    if reader is not None:
        raise UsageError(f"{result.name} was imported without responses, so it cannot be read again with {reader}")
    found: dict[Key, list[Outcome]] = {}
    seen: dict[tuple[str, str, int], int] = {}
    for row in stored.rows(result.id):
        if row.ch is None or row.correct is None or row.lenient_correct is None:
            raise UsageError(
                f"{result.name} does not tell content hashes and twlocal's readings of its rows",
                hint="only twlocal's own bundles do; another tool's rows cannot be paired with certainty",
            )
        place = (row.ch, row.subject or "", row.repeat)
        occurrence = seen[place] = seen.get(place, -1) + 1
        outcome = Outcome(float(row.correct), float(row.lenient_correct))
        found.setdefault((row.ch, row.subject or "", occurrence), []).append(outcome)
    means = {
        key: Outcome(sum(one.strict for one in rows) / len(rows), sum(one.lenient for one in rows) / len(rows))
        for key, rows in found.items()
    }
    told: dict[str, dict[str, Any]] = {
        "model": {"id": result.model, "quantised": result.quantised},
        "dataset": {"name": result.bench},
        "protocol": {"name": result.protocol},
    }
    return Side(result.name, means, len(means)), Apparatus(told), None


def run_command(run: RunRow, database: Path | None = None) -> str:
    """The shell line that makes a run again, as far as its wish tells it. database: where, if it must be named."""
    wish = run.wish
    words: list[str] = ["twlocal", "run", str(wish["model"]), "--bench", str(wish["bench"])]
    words += ["--protocol", str(wish["protocol"])]
    if wish.get("backend"):
        words += ["--backend", str(wish["backend"])]
    for option, name in (
        ("--sample", "sample"),
        ("--limit", "limit"),
        ("--ids", "ids"),
        ("--max-tokens", "max_tokens"),
    ):
        if wish.get(name) is not None:
            words += [option, str(wish[name])]
    if wish.get("repeats", 1) != 1:
        words += ["--repeats", str(wish["repeats"])]
    data = _mapping(wish.get("data"))
    for option, name in (("--encoding", "encoding"), ("--subject", "subject"), ("--answer-base", "answer_base")):
        if data.get(name) not in (None, "utf-8"):
            words += [option, str(data[name])]
    words += ["--skip-bad"] if data.get("skip_bad") else []
    words += ["--private"] if run.private else []
    words += ["--quantised"] if wish.get("quantised") else []
    for name, value in sorted(_mapping(wish.get("settings")).items()):
        # A template is stored whole, and is a file on the command line.
        words += ["--chat-template", "FILE"] if name == "chat_template" else ["--set", f"{name}={_plain(value)}"]
    return shlex.join([*words, *_in(database)])


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _plain(value: Any) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def study_command(*words: str, database: Path | None = None) -> str:
    """The shell line of a study. database: what it reads, if it must be named."""
    return shlex.join(["twlocal", *words, *_in(database)])


def stored_command(command: str, database: Path | None) -> str:
    """A shell line that was kept in a database which must be named: the line does not know where it is kept now."""
    return shlex.join([*shlex.split(command), *_in(database)])


def _in(database: Path | None) -> list[str]:
    return [] if database is None else ["--db", str(database)]


def unless_default(**options: tuple[object, object]) -> list[str]:
    """The words of options that differ from their defaults: `seed=(given, default)` gives `--seed GIVEN`."""
    return [
        word
        for name, (given, default) in options.items()
        if given != default
        for word in (f"--{name.replace('_', '-')}", str(given))
    ]


def same_questions(runs: Sequence[RunRow]) -> bool:
    """Whether runs were planned over the same rows."""
    return len({run.manifest["identity"]["sample"] for run in runs}) <= 1
