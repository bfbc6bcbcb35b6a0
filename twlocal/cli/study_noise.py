"""`twlocal study noise`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from twlocal.cli.common import db_option, note
from twlocal.cli.compare import floor_of
from twlocal.cli.dataset_options import dataset_options, load_dataset
from twlocal.cli.study_output import named, output_options, show
from twlocal.cli.study_stored import distinct
from twlocal.errors import UsageError

if TYPE_CHECKING:
    from twlocal.study.noise import Floor
    from twlocal.study.report import Report


@click.command()
@click.argument("names", metavar="DATASET|RUN...", nargs=-1, required=True)
@click.option(
    "--key-noise",
    metavar="CONFLICTS/GROUPS",
    help="Disputed answer keys of the source, such as 27/31312; the exam bench has that one by itself.",
)
@dataset_options
@output_options
@db_option
def noise(names: tuple[str, ...], key_noise: str | None, **options: Any) -> None:
    """What disputed answer keys do to scores over a DATASET, or over the questions of stored runs.

    Of a dataset the noise is measured on its own re-printed questions, as `twlocal audit` does, unless --key-noise
    gives it. Of runs it also says which ones are too close to call.
    """
    floor_of(key_noise, set())  # a wrong call is told before anything is read
    found = _of_dataset(names[0], key_noise, options) if _is_dataset(names, options) else None
    show(
        found or _of_runs(names, key_noise, options["database"]),
        as_json=options["as_json"],
        html=options["html"],
        lang=options["lang"],
    )


def _is_dataset(names: tuple[str, ...], options: Mapping[str, Any]) -> bool:
    from twlocal import dataset

    one = names[0]
    return len(names) == 1 and bool(dataset.bench(one) or one.startswith("hf://") or Path(one).exists())


def _of_dataset(name: str, key_noise: str | None, options: Mapping[str, Any]) -> Report:
    from twlocal.bundle.scrub import bench_name
    from twlocal.study import noise_report
    from twlocal.study.load import study_command

    loaded = load_dataset(name, options)
    floor = floor_of(key_noise, set()) or _measured(loaded.items, name)
    given = ["--key-noise", key_noise] if key_noise else []
    sizes = Counter(item.subject for item in loaded.items)
    return noise_report.report(
        floor, bench_name(loaded.name), sizes, {}, commands=[study_command("study", "noise", name, *given)]
    )


def _measured(items: Any, name: str) -> Floor:
    from twlocal.audit.groups import agreement, duplicate_groups
    from twlocal.study.noise import Floor

    counted = agreement(duplicate_groups(items))
    if not counted.groups:
        raise UsageError(
            f"no question of {name} is printed twice, so its answer keys cannot be compared",
            hint="--key-noise CONFLICTS/GROUPS takes the noise of the source that it was drawn from",
        )
    return Floor(counted.conflicts, counted.groups)


def _of_runs(names: tuple[str, ...], key_noise: str | None, database: Path) -> Report:
    from twlocal.bundle.scrub import bench_name
    from twlocal.bundle.stored import opened
    from twlocal.score import score
    from twlocal.study import noise_report
    from twlocal.study.load import Source, run_command, same_questions, study_command

    if not database.exists():
        raise UsageError(
            f"{names[0]} is no dataset here, and there is no database at {database} with a run of that name",
            hint="a file, a folder, hf://owner/name, demo, exam, formosa; or --db",
        )
    with opened(database, create=False, warn=note) as (runs, stored):
        source = Source(runs, stored)
        chosen = [source.run(name) for name in names]
        distinct(chosen)
        if not same_questions(chosen):
            raise UsageError("these runs were not asked the same questions", hint="twlocal compare --intersect")
        sizes = runs.planned(chosen[0].id)
        scores = {}
        for run in chosen:
            overall = score(
                runs.records(run.id), sizes, run.manifest["protocol"]["reader"], repeats=run.repeats
            ).overall
            if overall.accuracy is not None:
                scores[run.name] = overall.accuracy
    floor = floor_of(key_noise, {run.bench for run in chosen})
    if floor is None:
        raise UsageError(
            f"the answer-key noise of {chosen[0].bench} is not known",
            hint="`twlocal study noise DATASET` measures it where questions are printed twice, and "
            "--key-noise CONFLICTS/GROUPS gives it",
        )
    given = ["--key-noise", f"{floor.conflicts}/{floor.groups}"]
    there = named(database)
    words = ["study", "noise", *(run.name for run in chosen), *given]
    commands = [*(run_command(run, there) for run in chosen), study_command(*words, database=there)]
    return noise_report.report(floor, bench_name(chosen[0].bench), sizes, scores, commands=commands)
