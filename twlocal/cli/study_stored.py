"""`twlocal study extraction`, `stop-at-box`, `sample` and `failures`: they read stored responses and ask nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from twlocal.cli.common import db_option, note, out
from twlocal.cli.study_output import named, output_options, show
from twlocal.errors import EngineMissing, UsageError

if TYPE_CHECKING:
    from twlocal.html.words import Text
    from twlocal.runs import RunRow, Runs
    from twlocal.study.load import Source
    from twlocal.study.sampling import Stratum

seed_option = click.option("--seed", type=int, default=0, show_default=True, help="Of whatever is drawn at random.")
_WANTED = (1.0, 0.5)  # points
_file = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("names", metavar="RUN...", nargs=-1, required=True)
@click.option(
    "--regenerate",
    is_flag=True,
    help="Also ask each model again as Twinkle Eval's pattern strategy does: an ordinary run, no system prompt.",
)
@click.option("--quiet", "-q", is_flag=True, help="With --regenerate: no progress.")
@seed_option
@output_options
@db_option
def extraction(
    names: tuple[str, ...],
    regenerate: bool,
    quiet: bool,
    seed: int,
    as_json: bool,
    html: Path | None,
    lang: str | None,
    database: Path,
) -> None:
    """The same responses under every reader: read, right, what changes, and how several runs change places."""
    from twlocal.bundle.stored import opened
    from twlocal.readers import READERS
    from twlocal.study import extraction
    from twlocal.study.load import Source, run_command, same_questions, study_command, unless_default

    usable, absent = _usable(READERS)
    if regenerate and extraction.PATTERN in absent:
        raise UsageError(f"--regenerate: {absent[extraction.PATTERN].en}")
    again = {}
    with opened(database, create=False, warn=note) as (runs, stored):
        source = Source(runs, stored)
        chosen = [source.run(name) for name in names]
        distinct(chosen)
        found = [extraction.extract(run.name, run.model, source.keyed(run), usable) for run in chosen]
        for run in chosen if regenerate else ():
            other = _as_pattern(run, database, runs, quiet=quiet)
            again[run.name] = extraction.extract(other.name, other.model, source.keyed(other), usable)
    for one in found:
        if not one.n:
            raise UsageError(f"{one.run} has no response yet", hint=f"twlocal resume {one.run}")
    words = ["study", "extraction", *(run.name for run in chosen), *(["--regenerate"] if regenerate else [])]
    words += unless_default(seed=(seed, 0))
    there = named(database)
    commands = [*(run_command(run, there) for run in chosen), study_command(*words, database=there)]
    same = same_questions(chosen)
    show(
        extraction.report(found, absent=absent, same_items=same, again=again, commands=commands, seed=seed),
        as_json=as_json,
        html=html,
        lang=lang,
    )


@click.command("stop-at-box")
@click.argument("names", metavar="RUN...", nargs=-1, required=True)
@output_options
@db_option
def stop_at_box(names: tuple[str, ...], as_json: bool, html: Path | None, lang: str | None, database: Path) -> None:
    """What --stop-at-box would have saved of stored runs, and which readings it would have changed."""
    from twlocal.bundle.stored import opened
    from twlocal.readers import READERS
    from twlocal.study import stopping
    from twlocal.study.load import Source, run_command, study_command

    usable, absent = _usable(READERS)
    with opened(database, create=False, warn=note) as (runs, stored):
        source = Source(runs, stored)
        chosen = [source.run(name) for name in names]
        distinct(chosen)
        for run in chosen:
            if any(one.engine_info.get("sent", {}).get("stop_at_box") for one in runs.sittings(run.id)):
                raise UsageError(
                    f"the answers of {run.name} were ended at their box: what would have followed is not stored",
                    hint="the same `twlocal run` without --stop-at-box; `twlocal compare` then pairs the two",
                )
        found = [stopping.stopped(run.name, partial(source.keyed, run), usable) for run in chosen]
    for one in found:
        if not one.n:
            raise UsageError(f"{one.run} has no response yet", hint=f"twlocal resume {one.run}")
    there = named(database)
    words = ["study", "stop-at-box", *(run.name for run in chosen)]
    commands = [*(run_command(run, there) for run in chosen), study_command(*words, database=there)]
    show(stopping.report(found, absent=absent, commands=commands), as_json=as_json, html=html, lang=lang)


def _as_pattern(run: RunRow, database: Path, runs: Runs, *, quiet: bool) -> RunRow:
    """The run of the same wish under the pattern strategy's own protocol, asked as far as it is not stored."""
    from dataclasses import replace

    from twlocal.cli.study_ask import answered
    from twlocal.plan import Wish

    try:
        wish = Wish.from_json(run.wish)
    except TypeError as error:
        raise UsageError(f"{run.name} does not say how it was asked, so it cannot be asked again") from error
    if not run.complete:
        raise UsageError(f"{run.name} is incomplete", hint=f"twlocal resume {run.name}")
    other = answered(replace(wish, protocol="twinkle-pattern", repeats=1), {"quiet": quiet, "database": database}, runs)
    if other.manifest["identity"]["sample"] != run.manifest["identity"]["sample"]:
        raise UsageError(f"the questions of {run.name} have changed since, so asking again would compare others")
    return other


def _usable(readers: Mapping[str, Any]) -> tuple[list[str], dict[str, Text]]:
    """The readers that can read here, and why the others cannot."""
    from twlocal.html.words import t

    usable, absent = [], {}
    for name, reader in readers.items():
        try:
            reader("", "", "stop", "ABCD")
        except EngineMissing as error:
            absent[name] = t(f"所需的套件沒有安裝（{error.hint}）", f"{error.message} ({error.hint})")
        else:
            usable.append(name)
    return usable, absent


def distinct(runs: Sequence[RunRow]) -> None:
    """Raises UsageError where a run is named twice."""
    for at, run in enumerate(runs):
        if run.id in {other.id for other in runs[:at]}:
            raise UsageError(f"{run.name} is named twice")


@click.command()
@click.argument("name", metavar="[RUN]", required=False)
@click.option("--table", type=_file, help="Instead of RUN: a CSV or JSON with subject, n and right (or accuracy).")
@click.option("--k", type=click.IntRange(1), default=150, show_default=True, help="Rows a subject.")
@click.option("--like", metavar="RUN", help="Take the composition of this run's sample instead of min(k, n).")
@click.option(
    "--error",
    "wanted",
    type=click.FloatRange(0, 100, min_open=True),
    multiple=True,
    default=_WANTED,
    show_default=True,
    metavar="POINTS",
    help="Say how large k must be for this 95% half-width; may be given several times.",
)
@click.option("--draws", type=click.IntRange(100, 1_000_000), default=10_000, show_default=True, help="Simulated.")
@seed_option
@output_options
@db_option
def sample(
    name: str | None,
    table: Path | None,
    as_json: bool,
    html: Path | None,
    lang: str | None,
    database: Path,
    **options: Any,
) -> None:
    """What a stratified sample does to the score of a full RUN: composition, chance, and how large k must be."""
    from twlocal.bundle.stored import opened
    from twlocal.study import sampling, sampling_report
    from twlocal.study.load import Source, run_command, study_command, unless_default

    if (name is None) == (table is None):
        raise UsageError("name a stored RUN, or give --table FILE", hint="twlocal runs lists the runs")
    commands, real, drawn = [], None, None
    there = named(database)
    k, like = options["k"], options["like"]
    if table is not None:
        strata, drawn, source_name = *_table(table), table.name
    if name is not None or like is not None:
        with opened(database, create=False, warn=note) as (runs, stored):
            source = Source(runs, stored)
            if name is not None:
                run = source.run(name)
                rows = _right_rows(source, run)
                strata, source_name = _strata(rows), run.name
                real = sampling.by_hash(rows, k) if like is None else None
                commands.append(run_command(run, there))
            if like is not None:
                drawn = runs.planned(source.run(like).id)
    by_k = drawn is None
    drawn = sampling.composition(strata, k) if drawn is None else drawn
    words = ["study", "sample", *([name] if name else ["--table", str(table)])]
    words += ["--k", str(k)] if by_k else ["--like", like] if like else []
    words += [word for error in options["wanted"] if options["wanted"] != _WANTED for word in ("--error", f"{error:g}")]
    words += unless_default(draws=(options["draws"], 10_000), seed=(options["seed"], 0))
    asked = sampling_report.Asked(
        k if by_k else None, drawn, [error / 100 for error in options["wanted"]], options["seed"], options["draws"]
    )
    try:
        found = sampling_report.report(
            source_name,
            strata,
            asked,
            real=real,
            commands=[*commands, study_command(*words, database=there if name or like else None)],
        )
    except ValueError as error:
        raise UsageError(str(error), hint="the full run must hold the sample's subjects and rows") from error
    show(found, as_json=as_json, html=html, lang=lang)


def _right_rows(source: Source, run: RunRow) -> list[tuple[str, str, bool]]:
    """(content hash, subject, right) of each first asking, under the run's own reader."""
    from twlocal.judge import judge

    if not run.complete:
        raise UsageError(
            f"{run.name} is incomplete: {run.answered:,} of {run.planned:,}", hint=f"twlocal resume {run.name}"
        )
    reader = run.manifest["protocol"]["reader"]
    return [
        (record.content_hash, record.subject, judge(record, reader).correct)
        for _, record in source.keyed(run)
        if record.repeat == 0
    ]


def _strata(rows: Sequence[tuple[str, str, bool]]) -> list[Stratum]:
    from twlocal.study.sampling import Stratum as Row
    from twlocal.study.sampling import by_hash

    return [Row(subject, n, right) for subject, (n, right) in sorted(by_hash(rows, len(rows)).items())]


def _table(path: Path) -> tuple[list[Stratum], dict[str, int] | None]:
    """Per-subject results from a file, and the sample's composition where it has a column `drawn`."""
    from twlocal.study import tables
    from twlocal.study.sampling import Stratum as Row

    rows = tables.read(path)
    tables.need(rows, ["subject", "n", "right" if "right" in rows[0] else "accuracy"], path)
    strata, drawn = [], {}
    for at, row in enumerate(rows, 1):
        where = f"{path}, row {at}"
        n = int(tables.number(row["n"], where) or 0)
        if "right" in row:
            right = int(tables.number(row["right"], where) or 0)
        else:
            share = tables.number(row["accuracy"], where) or 0.0
            right = round((share / 100 if share > 1 else share) * n)
        try:
            strata.append(Row(row["subject"], n, right))
        except ValueError as error:
            raise UsageError(f"{where}: {error}") from error
        if row.get("drawn"):
            drawn[row["subject"]] = int(tables.number(row["drawn"], where) or 0)
    if len({one.subject for one in strata}) < len(strata):
        raise UsageError(f"{path} names a subject twice")
    return strata, drawn or None


@click.command()
@click.argument("names", metavar="[RUN]...", nargs=-1)
@click.option("--write-probe", metavar="FILE", help="Write the probe set as CSV (- for standard output), and end.")
@seed_option
@output_options
@db_option
def failures(
    names: tuple[str, ...],
    write_probe: str | None,
    seed: int,
    as_json: bool,
    html: Path | None,
    lang: str | None,
    database: Path,
) -> None:
    """Failures particular to Taiwan in the responses of RUN: Minguo years, invented glyphs, romanised names.

    Detectors read any run. Runs over the probe set tell more: years are asked with and without 民國, and names are to
    be written. Ask it with `twlocal study failures --write-probe probe.csv` and `twlocal run MODEL --bench probe.csv`.
    """
    from twlocal.bundle.stored import opened
    from twlocal.study import failures, failures_report, probe
    from twlocal.study.load import Source, run_command, study_command, unless_default

    if write_probe is not None:
        if names:
            raise UsageError("--write-probe takes no RUN")
        _write(write_probe, probe.text())
        return
    if not names:
        raise UsageError("name a stored RUN, or give --write-probe FILE", hint="twlocal runs lists the runs")
    with opened(database, create=False, warn=note) as (runs, stored):
        source = Source(runs, stored)
        chosen = [source.run(name) for name in names]
        distinct(chosen)
        found = [failures.failures(run.name, run.model, source.keyed(run)) for run in chosen]
    for one in found:
        if not one.detected.n:
            raise UsageError(f"{one.run} has no response yet", hint=f"twlocal resume {one.run}")
    asked_probe = any(one.probed.n for one in found)
    first = [study_command("study", "failures", "--write-probe", "probe.csv")] if asked_probe else []
    words = ["study", "failures", *(run.name for run in chosen), *unless_default(seed=(seed, 0))]
    there = named(database)
    commands = [*first, *(run_command(run, there) for run in chosen), study_command(*words, database=there)]
    show(failures_report.report(found, commands=commands, seed=seed), as_json=as_json, html=html, lang=lang)


def _write(target: str, text: str) -> None:
    if target == "-":
        out(text)
        return
    try:
        Path(target).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"cannot write {target}: {error.strerror or error}") from error
