"""`twlocal formosa curate`, `recut` and `loo`: the difficulty band, frozen, cut again, and tried on others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from twlocal.cli.common import db_option, note
from twlocal.cli.study_output import named, output_options, show
from twlocal.errors import UsageError
from twlocal.plural import counted

if TYPE_CHECKING:
    from twlocal.formosa.band import Member
    from twlocal.formosa.curate import Choice, Frozen
    from twlocal.formosa.curated import Base

F = TypeVar("F", bound=Callable[..., Any])

_FOLDER = click.Path(file_okay=False, path_type=Path)

_BASE = (
    click.option("--build", "build_name", metavar="NAME", help="The build; the newest, when none is named."),
    click.option("--judge", metavar="NAME", help="The judge whose grounded items are taken, where several judged."),
    click.option("--ungrounded", is_flag=True, help="Take all items of the build, whatever a judge says."),
    click.option("--items", "bench", metavar="BENCH", help="Take the items of a dataset (a file, …), not of a build."),
)
_READER = click.option(
    "--reader",
    type=click.Choice(["strict", "lenient"]),
    default="strict",
    show_default=True,
    help="What counts as right: the run's own reader, or the lenient one.",
)
_FREEZE = (
    click.option("--at-most", metavar="K", type=click.IntRange(0), help="Of the pool.  [default: all but one]"),
    click.option("--date", "day", metavar="YYYY-MM-DD", help="The date it is frozen under.  [default: today, UTC]"),
    click.option("--pool", default="pool", show_default=True, help="The pool's name."),
    click.option("--name", help="The band's name.  [default: the pool's name and the date]"),
    click.option("--scored", metavar="RUN", multiple=True, help="A run outside the pool to measure on the band."),
    click.option(
        "--generator", "generators", metavar="MODEL", multiple=True, help="Who drafted, where the items do not tell."
    ),
)


def _with(options: Sequence[Callable[[F], F]]) -> Callable[[F], F]:
    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


@click.command()
@click.argument("names", metavar="RUN...", nargs=-1, required=True)
@_with(_FREEZE)
@_with(_BASE)
@_READER
@click.option("-o", "--output", type=_FOLDER, help="Write curation.json and difficulty.jsonl into this folder.")
@output_options
@db_option
def curate(names: tuple[str, ...], output: Path | None, database: Path, **options: Any) -> None:
    """Freeze the difficulty band of a pool: the items that at most K of its models get right.

    The pool is complete stored runs (or imported results) over the same items, a model once. What is frozen is a dated
    manifest with the pool, its revisions and the hashes of what was chosen, and every item's difficulty, from which
    `twlocal formosa recut` cuts another band. The generator's score is marked, and its advantage measured.
    """
    if options["bench"] and output is None:
        raise UsageError("a band over a dataset is kept in a folder", hint="-o FOLDER names it")
    with _sources(database) as (builds, source):
        build, base = _base(builds, options)
        load = _loader(source, options, [one.content_hash for one in base.candidates])
        members, scored = load(names), load(options["scored"])
        frozen = _frozen(base, members, scored, options)
        if build is not None:
            from twlocal.formosa.curated import Curations

            Curations.beside(builds).freeze(build, frozen)
        if output is not None:
            _write(output, frozen)
    _show(frozen, ["curate", *names], members, options | {"output": output, "database": named(database)})


@click.command()
@click.argument("folder", metavar="FROZEN", type=_FOLDER)
@click.argument("names", metavar="[RUN]...", nargs=-1)
@click.option("--keep", metavar="RUN", multiple=True, help="A model of the frozen band to keep; all, if none is named.")
@click.option("--keep-none", is_flag=True, help="Keep none of them: the new runs are the pool.")
@_with(_FREEZE)
@click.option("-o", "--output", type=_FOLDER, required=True, help="Write the new band's files into this folder.")
@output_options
@db_option
def recut(folder: Path, names: tuple[str, ...], output: Path, database: Path, **options: Any) -> None:
    """Cut another band from the folder FROZEN of an earlier one, against a newer pool. Nothing is generated.

    The pool is the models kept from the frozen band, read from its difficulty.jsonl, and the stored RUNs over the same
    items. Without a RUN no database is needed.
    """
    from twlocal.formosa import recut
    from twlocal.formosa.curated import Base

    side = recut.read(folder)
    options = options | {"reader": side.manifest["reader"]}
    if options["keep_none"] and options["keep"]:
        raise UsageError("--keep and --keep-none exclude each other")
    kept = [] if options["keep_none"] else side.named(options["keep"] or None)
    wanted = [one.content_hash for one in side.candidates]
    told = {name: value for name, value in side.manifest["items"].items() if name not in ("n", "sha256")}
    told["cut_from"] = {"name": side.manifest["name"], "difficulty": side.manifest["difficulty"]["sha256"]}
    members, scored = kept, []
    if names or options["scored"]:
        with _sources(database) as (_, source):
            load = _loader(source, options, wanted)
            members, scored = [*kept, *load(names)], load(options["scored"])
    if not options["generators"]:
        options["generators"] = tuple(side.manifest["generators"]["names"])
    frozen = _frozen(Base(side.candidates, told), members, scored, options)
    _write(output, frozen)
    read = named(database) if names or options["scored"] else None
    _show(frozen, ["recut", str(folder), *names], members, options | {"output": output, "database": read})


@click.command()
@click.argument("names", metavar="[RUN]...", nargs=-1)
@click.option(
    "--frozen", metavar="FOLDER", type=_FOLDER, help="Take the pool of a frozen band, and add the RUNs to it."
)
@click.option(
    "--fresh", metavar="RUN", multiple=True, help="A run outside the pool to measure on the whole pool's band."
)
@click.option("--at-most", metavar="K", type=click.IntRange(0), help="Of the others.  [default: all of them but one]")
@_with(_BASE)
@_READER
@output_options
@db_option
def loo(names: tuple[str, ...], database: Path, **options: Any) -> None:
    """Leave each model of a pool out, cut the band by the others, and measure the one left out on it (Table 2).

    A band that transfers keeps the ranking, and brings models of the mid-field within 3 points of the pool's mean. With
    --frozen and without a RUN no database is needed.
    """
    from twlocal.formosa import curate_pool, loo, loo_report, recut
    from twlocal.study.load import study_command

    members: list[Member] = []
    fresh: list[Member] = []
    items: list[str] = []
    source_name = ""
    if options["frozen"] is not None:
        side = recut.read(options["frozen"])
        members, items = list(side.members), [one.content_hash for one in side.candidates]
        outside = {one.name: one for one in side.scored}
        fresh = [outside[name] for name in options["fresh"] if name in outside]
        options["reader"], source_name = side.manifest["reader"], side.manifest["name"]
    asked = [name for name in options["fresh"] if name not in {one.name for one in fresh}]
    read = None
    if names or asked or options["frozen"] is None:
        read = named(database)
        with _sources(database) as (builds, source):
            if options["frozen"] is None:
                build, base = _base(builds, options)
                items = [one.content_hash for one in base.candidates]
                source_name = build.name if build is not None else str(options["bench"])
            load = _loader(source, options, items)
            members, fresh = [*members, *load(names)], [*fresh, *load(asked)]
    _distinct(members, fresh)
    try:
        found = loo.transfer(items, members, at_most=options["at_most"], fresh=fresh)
    except ValueError as error:
        raise UsageError(str(error), hint="name the pool's runs, three or more") from error
    words = [*names, *_words(options, ("frozen", "fresh", "at_most", "build_name", "judge", "ungrounded", "bench"))]
    words += ["--reader", "lenient"] if options["reader"] == "lenient" and options["frozen"] is None else []
    report = loo_report.report(
        found,
        source_name,
        reader=options["reader"],
        commands=[study_command("formosa", "loo", *words, database=read)],
        warnings=curate_pool.unlike([*members, *fresh]),
    )
    show(report, as_json=options["as_json"], html=options["html"], lang=options["lang"])


def _sources(database: Path) -> Any:
    """The builds, and the runs and imported results, of one database; closed afterwards."""
    from contextlib import contextmanager

    from twlocal.bundle.stored import Stored
    from twlocal.formosa.stored import Builds
    from twlocal.runs import Runs
    from twlocal.store import open_store
    from twlocal.study.load import Source

    @contextmanager
    def opened() -> Any:
        db = open_store(database, create=False, warn=note)
        builds = Builds(db, database)
        try:
            yield builds, Source(Runs(db, database), Stored(db, database))
        finally:
            builds.close()

    return opened()


def _base(builds: Any, options: Mapping[str, Any]) -> tuple[Any, Base]:
    from twlocal.cli.engine_options import bench_name
    from twlocal.formosa import curated

    if options["bench"]:
        if options["build_name"] or options["judge"] or options["ungrounded"]:
            raise UsageError(
                "--items takes a dataset instead of a build: --build, --judge, --ungrounded say nothing then"
            )
        return None, curated.of_dataset(bench_name(options["bench"]))
    build = builds.get(options["build_name"])
    return build, curated.of_build(builds, build, options["judge"], ungrounded=options["ungrounded"])


def _loader(source: Any, options: Mapping[str, Any], items: Sequence[str]) -> Callable[[Sequence[str]], list[Member]]:
    from twlocal.formosa import curate_pool

    return lambda names: curate_pool.load(source, names, items, lenient=options["reader"] == "lenient")


def _frozen(base: Base, members: Sequence[Member], scored: Sequence[Member], options: Mapping[str, Any]) -> Frozen:
    from twlocal.formosa.advantage import advantages
    from twlocal.formosa.curate import freeze

    _distinct(members, scored)
    sources = {one.content_hash: one.source for one in base.candidates}
    generators = options["generators"] or tuple(sorted(set(sources.values()) - {""}))
    choice = _choice(members, scored, generators, base, options)
    try:
        return freeze(base.candidates, choice, advantages(sources, members, scored, generators))
    except ValueError as error:
        raise UsageError(str(error), hint="--at-most K, from 0 to the number of models") from error


def _choice(
    members: Sequence[Member],
    scored: Sequence[Member],
    generators: Sequence[str],
    base: Base,
    options: Mapping[str, Any],
) -> Choice:
    from twlocal.formosa.curate import Choice

    try:
        day = date.fromisoformat(options["day"]) if options["day"] else datetime.now(UTC).date()
    except ValueError as error:
        raise UsageError(f"--date takes a date such as 2026-08-24, not {options['day']!r}") from error
    return Choice(
        name=options["name"] or f"{options['pool']}-{day.isoformat()}",
        pool=options["pool"],
        day=day,
        at_most=len(members) - 1 if options["at_most"] is None else options["at_most"],
        reader=options["reader"],
        members=members,
        scored=scored,
        generators=generators,
        base=base.told,
    )


def _distinct(members: Sequence[Member], others: Sequence[Member]) -> None:
    from twlocal.formosa.curate_pool import one_vote

    one_vote(members)
    names = [one.name for one in (*members, *others)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"{', '.join(twice)} is named twice", hint="a model is in the pool, or outside it, once")


def _write(folder: Path, frozen: Frozen) -> None:
    from twlocal.formosa.curated import write

    write(folder, frozen)
    note(f"{frozen.name}: {counted(len(frozen.chosen), 'item')}, frozen in {folder}")


def _show(
    frozen: Frozen,
    words: Sequence[str],
    members: Sequence[Member],
    options: Mapping[str, Any],
) -> None:
    import json

    from twlocal.formosa import curate_pool, curate_report
    from twlocal.study.load import study_command

    manifest = json.loads(frozen.manifest)
    told = dict(options) | {"day": manifest["date"], "name": manifest["name"]}
    names = ("keep", "keep_none", "at_most", "day", "pool", "name", "scored", "generators")
    more = _words(told, (*names, "build_name", "judge", "ungrounded", "bench", "output"))
    more += ["--reader", "lenient"] if words[0] == "curate" and options["reader"] == "lenient" else []
    report = curate_report.report(
        manifest,
        commands=[study_command("formosa", *words, *more, database=options["database"])],
        warnings=curate_pool.unlike(members),
    )
    show(report, as_json=options["as_json"], html=options["html"], lang=options["lang"])


_OPTION = {"day": "date", "build_name": "build", "bench": "items", "generators": "generator"}


def _words(options: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """The options of these names as they are typed; those that were not given are left out."""
    words: list[str] = []
    for name in names:
        value = options.get(name)
        option = "--" + _OPTION.get(name, name).replace("_", "-")
        if isinstance(value, tuple):
            words += [word for one in value for word in (option, str(one))]
        elif value is True:
            words.append(option)
        elif value is not None and value is not False:
            words += [option, str(value)]
    return words
