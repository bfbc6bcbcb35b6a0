"""`twlocal formosa draft`, `ground`, `build` and `check`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from twlocal.cli.common import db_option, json_option, note, out
from twlocal.cli.desk import asking_options, desk, exit_code, stores, wish
from twlocal.plural import counted

_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)
_build = click.option("--build", "build_name", metavar="NAME", help="The build; the newest, when none is named.")


@click.command()
@click.argument("model")
@_build
@click.option("--limit", metavar="N", type=click.IntRange(1), help="At most this many windows, spread over the corpus.")
@click.option("-o", "--output", type=_FILE, help="Write the rows as JSONL: drafts, and malformed ones with the reason.")
@asking_options
@json_option
@db_option
def draft(model: str, build_name: str | None, limit: int | None, output: Path | None, **options: Any) -> int:
    """Let MODEL draft one item a window, with the paper's generation prompt.

    Every response is stored the moment it arrives, and read tolerantly; one that holds no item is kept with the reason.
    The drafts go into the build; `formosa screen` takes them from there. The same command goes on where it stopped.
    """
    from collections import Counter

    from twlocal.formosa import jsonl, prompts
    from twlocal.formosa.asking import asker
    from twlocal.formosa.drafted import draft_windows, rows

    with stores(options["database"]) as (builds, runs):
        build = builds.get(build_name)
        with desk(runs, options) as at:
            prompt = prompts.load("draft")
            who = asker("draft", wish(model, options), prompt, runs, at.around, schema=options["schema"])
            found = draft_windows(builds, build, who, at, limit=limit)
    if output:
        note(f"{counted(jsonl.write(output, rows(found)), 'row')} written to {output}")
    faults = Counter(made.fault for made in found.generated if made.fault)
    well = len(found.generated) - faults.total()
    if options["as_json"]:
        counts = {"windows": len(found.generated) + found.answers.left, "well_formed": well}
        told = {"build": build.name, "source": who.name, **counts, "malformed": dict(sorted(faults.items()))}
        out(json.dumps(told, ensure_ascii=False))
    else:
        responses = counted(len(found.generated), "response")
        out(f"{who.name}: {responses}, {well:,} well-formed, {faults.total():,} malformed")
        for fault, count in sorted(faults.items()):
            out(f"  {fault}: {count}")
    return exit_code(found.answers)


@click.command()
@click.argument("model")
@_build
@click.option("--uncalibrated", is_flag=True, help="Judge without a passed calibration; the card says so.")
@asking_options
@json_option
@db_option
def ground(model: str, build_name: str | None, uncalibrated: bool, **options: Any) -> int:
    """Let MODEL judge every item against its window: is the keyed answer supported, and is it the only one?

    It must have passed `formosa calibrate` with the same options. Verdicts are stored per judge, and the same command
    goes on where it stopped.
    """
    from twlocal.formosa import prompts
    from twlocal.formosa.asking import asker
    from twlocal.formosa.grounded import ground_items

    with stores(options["database"]) as (builds, runs):
        build = builds.get(build_name)
        with desk(runs, options) as at:
            prompt = prompts.load("judge")
            who = asker("judge", wish(model, options), prompt, runs, at.around, schema=options["schema"])
            found = ground_items(builds, build, who, at, uncalibrated=uncalibrated)
        drafted = [one.name for one in builds.askers(build, "draft") if one.identity["model"] == who.identity["model"]]
    if options["as_json"]:
        out(json.dumps({"build": build.name, "judge": who.name, **found.counts}, ensure_ascii=False))
    else:
        out(f"{who.name}: {counted(sum(found.counts.values()), 'item')} judged")
        for name, count in found.counts.items():
            out(f"  {name}: {count}")
    if drafted:
        note(f"{who.name} also drafted ({', '.join(drafted)}): it judges items of its own making")
    return exit_code(found.answers)


@click.command()
@click.argument("folder", type=_FOLDER)
@_build
@click.option("--judge", metavar="NAME", help="Whose verdicts decide, where several judged the build.")
@click.option("--band", metavar="NAME", help="The frozen difficulty band to publish; the build's last, when not told.")
@click.option("--whole", is_flag=True, help="Publish every grounded item, whichever band is frozen.")
@json_option
@db_option
def build(folder: Path, build_name: str | None, as_json: bool, database: Path, **options: Any) -> None:
    """Write tw-formosa-bench to FOLDER: Parquet and JSONL, card, attribution, manifest, accounting.

    `twlocal run MODEL --bench FOLDER` runs it. The same build gives the same bytes.
    """
    from twlocal.errors import UsageError
    from twlocal.formosa import accounting, publish

    if options["band"] and options["whole"]:
        raise UsageError("--band and --whole exclude each other: a band is a part of the grounded items")
    with stores(database) as (builds, _):
        parts = publish.gather(builds, builds.get(build_name), **options)
    counts = publish.write(folder, parts)
    if as_json:
        out(json.dumps({"build": parts.build.name, "folder": str(folder), **accounting.as_json(counts)}))
        return
    _table(accounting.table(counts))
    if counts.waiting:
        stages = ", ".join(counts.waiting)
        waiting = counted(sum(counts.waiting.values()), "draft or window waits", "drafts or windows wait")
        note(f"this build is not finished: {waiting} for {stages}")
    note(f"written to {folder}")


@click.command("accounting")
@_build
@click.option("--judge", metavar="NAME", help="Whose verdicts decide, where several judged the build.")
@click.option("--band", metavar="NAME", help="The frozen difficulty band; the build's last, when not told.")
@json_option
@db_option
def accounts(build_name: str | None, as_json: bool, database: Path, **options: Any) -> None:
    """Say what became of every window and draft so far: how many each stage took, kept and left."""
    from twlocal.formosa import accounting, publish

    with stores(database) as (builds, _):
        parts = publish.gather(builds, builds.get(build_name), **options, unfinished=True)
    counts = publish.counted(parts)
    if as_json:
        out(json.dumps({"build": parts.build.name, **accounting.as_json(counts)}, ensure_ascii=False))
    else:
        _table(accounting.table(counts))


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@json_option
def check(folder: Path, as_json: bool) -> int:
    """Look at a built FOLDER: whether every file is the one that was built, and its numbers can be derived again."""
    from twlocal.formosa import accounting, publish

    wrong = publish.check(folder)
    if as_json:
        out(json.dumps({"folder": str(folder), "wrong": wrong}, ensure_ascii=False))
    elif wrong:
        out("\n".join(wrong))
    else:
        _table(accounting.table(publish.rederived(folder)))
        out("every file is as it was built, and every number follows from the list of items")
    return 1 if wrong else 0


def _table(rows: list[tuple[str, str]]) -> None:
    wide = max(len(name) for name, _ in rows)
    for name, count in rows:
        out(f"{name:{wide}}  {count:>8}")
