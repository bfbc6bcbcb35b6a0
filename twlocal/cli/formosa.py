"""`twlocal formosa`: the stages that build tw-formosa-bench."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from twlocal.cli.common import Stages, db_option, json_option, note, out
from twlocal.cli.formosa_calibrate import calibrate
from twlocal.cli.formosa_curate import curate, loo, recut
from twlocal.cli.formosa_make import accounts, build, check, draft, ground
from twlocal.plural import counted

if TYPE_CHECKING:
    from twlocal.formosa.baselines import Baseline
    from twlocal.formosa.lexicon import Lexicon
    from twlocal.formosa.measure import Measured
    from twlocal.formosa.stored import Builds

_FILE = click.Path(dir_okay=False, path_type=Path)
_PLACE = click.Path(exists=True, path_type=Path)

build_option = click.option("--build", "build_name", metavar="NAME", help="The build; the newest, when none is named.")
output_option = click.option("-o", "--output", type=_FILE, help="Write the rows as JSONL.")


@click.group(cls=Stages)
def formosa() -> None:
    """Build tw-formosa-bench from a checkout of the Taiwan.md corpus, stage by stage.

    \b
    twlocal formosa windows taiwan-md/        windows to write items from
    twlocal formosa draft MODEL               one item a window, by a generator
    twlocal formosa screen                    the drafts through the named rules
    twlocal formosa permute                   options permuted; shortcut baselines
    twlocal formosa calibrate JUDGE           planted defects: which it catches
    twlocal formosa ground JUDGE              every item against its window
    twlocal formosa build tw-formosa-bench/   the dataset, its card, its books
    twlocal formosa check tw-formosa-bench/   its numbers again, from its files
    twlocal formosa curate RUN RUN RUN …      a pool's difficulty band, frozen
    twlocal formosa loo RUN RUN RUN …         does it hold for other models?

    Every stage goes on where it was stopped, and gives the same bytes however often that was.
    """


@formosa.command()
@click.argument("corpus", type=_PLACE)
@click.option("--target", type=click.IntRange(200), default=1100, show_default=True, help="Characters a window.")
@click.option("--name", help="A name for this build.")
@output_option
@json_option
@db_option
def windows(corpus: Path, target: int, name: str | None, output: Path | None, as_json: bool, database: Path) -> None:
    """Cut the zh articles of CORPUS into paragraph-aligned windows that never end inside a sentence."""
    from datetime import UTC, datetime

    from twlocal.formosa import accounting, jsonl
    from twlocal.formosa.build import cut_corpus, window_rows

    with _opened(database, create=True) as builds:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        build = cut_corpus(builds, corpus, now=now, target=target, name=name)
        if output:
            note(f"{counted(jsonl.write(output, window_rows(builds, build)), 'window')} written to {output}")
        counts = accounting.of_windows(build.files, builds.articles(build), builds.windows(build))
    if as_json:
        out(json.dumps({"build": build.name, "corpus": build.corpus, **build.settings, **counts}, ensure_ascii=False))
        return
    passed = {kind: count for kind, count in counts["files"].items() if kind != "article"}
    out(f"build {build.name}")
    articles = counted(counts["articles"], "article")
    out(f"files: {sum(counts['files'].values())}, of them {articles}; passed over: {_listed(passed)}")
    read, cut = counts["prose_chars"], counts["window_chars"]
    out(f"characters: {counts['chars']} in articles, {read} of prose, {cut} in windows")
    out(f"left out: {_listed(counts['left_out'])}")
    out(
        f"windows: {counts['windows']}, median {counts['median_chars']:g} characters "
        f"({counts['shortest']}–{counts['longest']}), {counts['duplicate_windows']} twice"
    )
    for path in counts["articles_without_window"]:
        note(f"no window in {path}: too little prose")
    for path in counts["front_matter_faults"]:
        note(f"the front matter of {path} cannot be read; its title and author are not known")


@formosa.command()
@click.argument("drafts", type=_FILE, required=False)
@click.option("--source", help="Who drafted them; the file's name, when not told.")
@click.option("--lexicon", "lexicon_file", type=_FILE, help="A lexicon of your own, as `formosa lexicon` writes it.")
@build_option
@output_option
@json_option
@db_option
def screen(
    drafts: Path | None,
    source: str | None,
    lexicon_file: Path | None,
    build_name: str | None,
    output: Path | None,
    as_json: bool,
    database: Path,
) -> None:
    """Put drafted items through the named rules: those that `formosa draft` left in the build, and DRAFTS.

    DRAFTS, for items drafted elsewhere, is JSONL: `window` (the hash of a window of the build), `question`, `A`–`D`,
    `answer`.
    """
    from twlocal.errors import UsageError
    from twlocal.formosa import accounting, jsonl
    from twlocal.formosa.build import screen_drafts, screened_rows
    from twlocal.formosa.drafts import read_drafts

    lexicon = _lexicon(lexicon_file)
    given = list(read_drafts(drafts)) if drafts else []
    with _opened(database, create=False) as builds:
        build = builds.get(build_name)
        if drafts:
            added = builds.add_drafts(build, source or drafts.stem, given)
            note(f"{counted(len(given), 'draft')} read, {added:,} of them new")
        elif not builds.drafts(build) and not builds.faults(build):
            raise UsageError(
                f"{build.name} has no drafts yet",
                hint="twlocal formosa draft MODEL writes some; twlocal formosa screen DRAFTS.jsonl reads others",
            )
        note(f"{screen_drafts(builds, build, lexicon)} screened now")
        screened = builds.screened(build)
        counts = accounting.of_screening(len(builds.drafts(build)), screened)
    if output:
        note(f"{counted(jsonl.write(output, screened_rows(screened)), 'row')} written to {output}")
    if as_json:
        out(json.dumps({"build": build.name, **counts}, ensure_ascii=False))
        return
    out(f"{counts['screened']} screened: {counts['kept']} kept, {counts['rejected']} rejected")
    for rule, levels in counts["by_rule"].items():
        out(f"  {rule}: {_listed(levels)}")


@formosa.command()
@build_option
@output_option
@json_option
@db_option
def permute(build_name: str | None, output: Path | None, as_json: bool, database: Path) -> None:
    """Permute the options of the kept items by the hash of their window, and show what shortcuts score."""
    from twlocal.formosa import jsonl
    from twlocal.formosa.baselines import baselines
    from twlocal.formosa.build import item_rows, permute_items
    from twlocal.item import Item

    with _opened(database, create=False) as builds:
        build = builds.get(build_name)
        permute_items(builds, build)
        items = builds.items(build)
        if output:
            note(f"{counted(jsonl.write(output, item_rows(builds, build)), 'item')} written to {output}")
    before = baselines([Item(item.question, stored.draft.options, stored.draft.answer) for stored, _, item in items])
    after = baselines([item for _, _, item in items])
    if as_json:
        rows = {old.name: {"before": _share(old), "after": _share(new)} for old, new in zip(before, after, strict=True)}
        out(json.dumps({"build": build.name, "items": len(items), "baselines": rows}, ensure_ascii=False))
        return
    out(f"{counted(len(items), 'item')}; what shortcuts score (95% interval), chance is 25%:")
    out(f"  {'':24}{'before':>20}{'after':>22}")
    for old, new in zip(before, after, strict=True):
        out(f"  {old.name:24}{_said(old):>20}{_said(new):>22}")


@formosa.command()
@click.option("--articles", "corpora", type=_PLACE, multiple=True, help="A Taiwan.md checkout as native prose.")
@click.option("--questions", type=_PLACE, multiple=True, help="A file or folder of native examination questions.")
@click.option("--candidates", type=_PLACE, multiple=True, help="A phrase table of OpenCC (term<TAB>Taiwan's words).")
@click.option("-o", "--output", type=_FILE, help="Where to write the lexicon; without it, it is shown.")
@click.option("--examples", is_flag=True, help="Show where terms fired, to write exceptions from.")
@json_option
def lexicon(
    corpora: tuple[Path, ...],
    questions: tuple[Path, ...],
    candidates: tuple[Path, ...],
    output: Path | None,
    examples: bool,
    as_json: bool,
) -> None:
    """Measure every term on native text, and write the strict, review and dropped lists with their counts.

    A term is strict only if a person proposed it and it fires zero times. OpenCC's tables only propose for review.
    """
    import hashlib
    from importlib.resources import files

    from twlocal.errors import UsageError
    from twlocal.formosa import measure, native

    if not corpora and not questions:
        raise UsageError("nothing was given to prove the lexicon on", hint="--articles CHECKOUT, --questions FOLDER")
    texts = [text for root in corpora for text in native.articles(root)]
    asked = [text for place in questions for text in native.questions(place)]
    tables = [measure.from_table(path.read_text(encoding="utf-8"), str(path)) for path in candidates]
    hand = measure.by_hand(files("twlocal.formosa").joinpath("candidates.toml").read_text(encoding="utf-8"))
    kept = [word for _, words in tables for word in words]
    merged = measure.merge(hand, [candidate for found, _ in tables for candidate in found], kept)
    measured = measure.measure(merged, [*texts, *asked])
    digest = hashlib.sha256("\x1f".join([*texts, *asked]).encode("utf-8")).hexdigest()
    written = measure.write(
        measured,
        [
            "Mainland vocabulary in Traditional characters. Written by `twlocal formosa lexicon`; do not edit.",
            "Proposals: candidates.toml" + (", and OpenCC's phrase tables (Apache License 2.0)." if tables else "."),
            f"Proved on {len(texts)} articles ({sum(map(len, texts))} characters) and {len(asked)} texts of questions",
            f"({sum(map(len, asked))} characters), sha256 {digest}.",
        ],
    )
    counts = {level: sum(entry.term.level == level for entry in measured) for level in ("strict", "review", "dropped")}
    if output:
        output.write_text(written, encoding="utf-8", newline="\n")
        note(f"{_listed(counts)} terms written to {output}")
    if as_json:
        out(json.dumps({**counts, "articles": len(texts), "texts": len(asked), "sha256": digest}))
    elif not output:
        out(written)
    demoted = {candidate.term.text for candidate in merged if candidate.proposal == "strict"}
    for entry in measured:
        if entry.fires and entry.term.text in demoted:
            note(f"{entry.term.text} was proposed as strict and {_fired(entry)}")
        elif examples and entry.fires:
            note(f"{entry.term.text} ({entry.term.level}) {_fired(entry)}")


def _fired(entry: Measured) -> str:
    return f"fired {counted(entry.fires, 'time')}: {'; '.join(entry.examples)}"


for _command in (draft, ground, build, accounts, check, calibrate, curate, recut, loo):
    formosa.add_command(_command)


@contextmanager
def _opened(database: Path, *, create: bool) -> Iterator[Builds]:
    from twlocal.formosa.stored import Builds
    from twlocal.store import open_store

    builds = Builds(open_store(database, create=create, warn=note), database)
    try:
        yield builds
    finally:
        builds.close()


def _lexicon(path: Path | None) -> Lexicon:
    from twlocal.errors import DatasetError
    from twlocal.formosa.lexicon import parse, shipped

    if path is None:
        return shipped()
    try:
        return parse(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(
            f"cannot read {path} ({error})", hint="twlocal formosa lexicon -o FILE writes one"
        ) from error


def _listed(counts: dict[str, Any]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "nothing"


def _share(baseline: Baseline) -> dict[str, float]:
    interval = baseline.interval
    return {"accuracy": baseline.accuracy, "low": interval.low, "high": interval.high}


def _said(baseline: Baseline) -> str:
    interval = baseline.interval
    return f"{baseline.accuracy:.1%} [{interval.low * 100:.1f}–{interval.high * 100:.1f}]"
