"""`twlocal formosa calibrate`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from twlocal.cli.common import db_option
from twlocal.cli.desk import asking_options, desk, exit_code, stores, wish
from twlocal.cli.study_output import named, output_options

if TYPE_CHECKING:
    from twlocal.formosa.asking import Asker
    from twlocal.formosa.calibrate import Thresholds

_FILE = click.Path(dir_okay=False, path_type=Path)
_SHARE = click.FloatRange(0, 100)
_COUNT, _CATCH, _FALSE_ALARM, _LEAST = 30, 100.0, 10.0, 10


@click.command()
@click.argument("models", metavar="MODEL...", nargs=-1, required=True)
@click.option("--build", "build_name", metavar="NAME", help="The build; the newest, when none is named.")
@click.option(
    "--items",
    "count",
    metavar="N",
    type=click.IntRange(1),
    default=_COUNT,
    show_default=True,
    help="Good items to plant in; each is shown four times: clean and with each class of defect.",
)
@click.option("--good", type=_FILE, help="JSONL of the items that a person found to be good; only these are used.")
@click.option("--seed", default="", help="Draw other items and other defects.")
@click.option(
    "--catch",
    metavar="PERCENT",
    type=_SHARE,
    default=_CATCH,
    show_default=True,
    help="Of each class, a judge must catch so much; the paper's competent judges caught all.",
)
@click.option(
    "--false-alarm",
    metavar="PERCENT",
    type=_SHARE,
    default=_FALSE_ALARM,
    show_default=True,
    help="Of the clean items, it may reject so much; the paper's judge dropped 8.7% of its items.",
)
@click.option(
    "--least",
    metavar="N",
    type=click.IntRange(1),
    default=_LEAST,
    show_default=True,
    help="Below so many cases of a class, a judge does not pass: nothing is known then.",
)
@asking_options
@output_options
@db_option
def calibrate(models: tuple[str, ...], build_name: str | None, **options: Any) -> int:
    """Show judges good items and the same ones with planted defects, and say who may judge.

    Defects of three classes are planted by hash, without a model: a wrong key, a fact that the window does not hold,
    options that hold no one answer. Each MODEL is asked with the prompt of `formosa ground`. What is shown covers every
    judge that was calibrated on the build, so that they can be compared. Stopped anywhere, the same command goes on.
    """
    from twlocal.cli.study_output import show as show_report
    from twlocal.formosa import calibrated, prompts
    from twlocal.formosa.asking import asker
    from twlocal.formosa.calibrate import Thresholds
    from twlocal.formosa.plant import plant
    from twlocal.study import judges
    from twlocal.study.load import stored_command

    limits = Thresholds(options["catch"] / 100, options["false_alarm"] / 100, options["least"])
    code = 0
    with stores(options["database"]) as (builds, runs):
        build = builds.get(build_name)
        listed = calibrated.read_listed(options["good"]) if options["good"] else None
        cases = plant(calibrated.goods(builds, build, listed), options["count"], seed=options["seed"])
        with desk(runs, options) as at:
            for model in models:
                who = asker(
                    "judge", wish(model, options), prompts.load("judge"), runs, at.around, schema=options["schema"]
                )
                answers, found = calibrated.show(who, cases, at)
                if found is None:
                    code = exit_code(answers)
                    break
                told = calibrated.about(cases, options["seed"], _command(who, build.name, options, limits))
                now = at.around.now().isoformat(timespec="seconds")
                calibrated.store(builds, build, who, found, limits, told, now=now)
        stored = calibrated.Calibrations.beside(builds).newest(build)
    if stored and not code:
        report = judges.report(
            [(one.found, one.thresholds) for one in stored],
            build.name,
            commands=[stored_command(str(one.about["command"]), named(options["database"])) for one in stored],
        )
        show_report(report, as_json=options["as_json"], html=options["html"], lang=options["lang"])
    return code


def _command(who: Asker, build: str, options: Mapping[str, Any], limits: Thresholds) -> str:
    """The shell line that makes the calibration again. A chat template is stored whole, and is a file there."""
    import json

    words = ["twlocal", "formosa", "calibrate", who.wish.model, "--build", build]
    words += ["--backend", who.wish.backend] if who.wish.backend else []
    for name, given, default in (
        ("--items", options["count"], _COUNT),
        ("--good", options["good"], None),
        ("--seed", options["seed"], ""),
        ("--catch", f"{100 * limits.catch:g}", f"{_CATCH:g}"),
        ("--false-alarm", f"{100 * limits.false_alarm:g}", f"{_FALSE_ALARM:g}"),
        ("--least", limits.least, _LEAST),
        ("--max-tokens", options["max_tokens"], None),
    ):
        words += [] if given == default else [name, str(given)]
    words += [] if options["schema"] else ["--no-schema"]
    for name, value in sorted(who.wish.settings.items()):
        if name == "chat_template":
            words += ["--chat-template", "FILE"]
        elif name != "json_schema":
            said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            words += ["--set", f"{name}={said}"]
    return shlex.join(words)
