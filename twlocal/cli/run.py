"""`twlocal run` and `twlocal resume`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from twlocal.cli.common import db_option, json_option, lang_option, language, note, opened, program
from twlocal.cli.dataset_options import dataset_options, load_settings
from twlocal.cli.engine_options import absolute, bench_name, engine_options, model_name, protocol_name
from twlocal.cli.spread_options import SPREADER, engine_wish, spread_options, spread_settings
from twlocal.errors import UsageError

if TYPE_CHECKING:
    from twlocal.hardware import Hardware
    from twlocal.plan import Wish
    from twlocal.route import Route

_SAMPLE_ALL = "all"


@click.command()
@click.argument("model")
@click.option(
    "--bench",
    default="demo",
    show_default=True,
    help="demo, formosa, exam, a file, a folder, or hf://owner/name[@revision].",
)
@click.option(
    "--sample",
    default=_SAMPLE_ALL,
    show_default=True,
    metavar="K|all",
    help="At most K questions a subject, chosen by content hash.",
)
@click.option(
    "--limit", metavar="N", type=click.IntRange(1), help="At most this many questions in all, spread over the subjects."
)
@click.option(
    "--ids", type=click.Path(exists=True, dir_okay=False), help="A manifest from `twlocal sample`: ask exactly these."
)
@click.option(
    "--protocol", default="box", show_default=True, help="A bundled protocol (`twlocal protocols`) or a .toml file."
)
@click.option(
    "--max-tokens",
    metavar="N",
    type=click.IntRange(1),
    help="New tokens an answer may have.  [default: the protocol's or the benchmark's, else 4096]",
)
@click.option(
    "--repeats",
    metavar="N",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="Ask every question N times, each time with its options in another order.",
)
@engine_options
@spread_options
@dataset_options
@click.option(
    "--quantised", is_flag=True, help="Allow a quantised file where the released precision does not fit; it is marked."
)
@click.option("--retry-failed", is_flag=True, help="Ask again what was given up because it killed the engine.")
@click.option("--verbose", "-v", is_flag=True, help="Say in full why this engine was chosen, as `twlocal route` does.")
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
@json_option
@lang_option
@db_option
def run(**options: Any) -> int:
    """Ask MODEL the questions of a benchmark, and score the answers.

    MODEL is a .gguf file, a checkpoint's folder, a Hub id (owner/name), a short name that `twlocal route` knows, a
    server (http(s)://host/v1#name), or smollm2-135m, the small model of the demo. Where several engines could run it,
    one is chosen for this machine, and said why. Every answer is stored the moment it arrives; the same command goes
    on where it stopped.
    """
    return _work(wish_of(options), options)


def wish_of(options: Mapping[str, Any]) -> Wish:
    """The call that the options of `twlocal run` stand for. Raises UsageError."""
    from twlocal.plan import Wish

    sample = options["sample"]
    if sample != _SAMPLE_ALL and not (sample.isascii() and sample.isdigit() and int(sample) > 0):
        raise UsageError(f"--sample takes a number or 'all', not {sample!r}")
    return Wish(
        model=model_name(options["model"]),
        bench=bench_name(options["bench"]),
        protocol=protocol_name(options["protocol"]),
        sample=None if sample == _SAMPLE_ALL else int(sample),
        limit=options["limit"],
        ids=absolute(options["ids"]) if options["ids"] else None,
        max_tokens=options["max_tokens"],
        repeats=options["repeats"],
        private=options["private"],
        data=load_settings(options),
        quantised=options["quantised"],
        **engine_wish(options),
    )


@click.command()
@click.argument("name", metavar="[RUN]", required=False)
@spread_options
@click.option("--retry-failed", is_flag=True, help="Ask again what was given up because it killed the engine.")
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
@json_option
@lang_option
@db_option
def resume(name: str | None, **options: Any) -> int:
    """Go on with RUN, or with the unfinished run that was worked on last."""
    from twlocal.evaluate import last_unfinished
    from twlocal.plan import Wish, withdrawn_by

    with opened(options["database"], create=False) as runs:
        found = last_unfinished(runs, name)
        if found is None:
            note("every run in the database is complete; twlocal runs lists them")
            return 0
        wish = Wish.from_json(found.wish)
        began_without = withdrawn_by(found.manifest)
    if elsewhere := spread_settings(options):
        wish = replace(wish, spread={"backend": SPREADER, **wish.spread, **elsewhere})
    return _work(wish, options, expected=found.key, withdrawn=began_without)


def _work(
    wish: Wish, options: dict[str, Any], *, expected: str | None = None, withdrawn: frozenset[str] | None = None
) -> int:
    from twlocal import evaluate
    from twlocal.cli.interrupt import EXIT_INTERRUPTED, interruptible
    from twlocal.cli.progress import watcher
    from twlocal.cli.report import show_report
    from twlocal.runner import Stop

    around = evaluate.Surroundings(decided=partial(_tell_route, options), note=note)
    with opened(options["database"], create=True) as runs:
        prepared = evaluate.prepare(wish, runs, around, withdrawn=withdrawn)
        if expected is not None and prepared.plan.key != expected:
            raise UsageError(
                "the model, the dataset or the protocol has changed since this run began: going on would mix two runs",
                hint="bring back what it was, or start another run with `twlocal run`",
            )
        for line in [*prepared.questions.told(), *prepared.told()]:
            note(line)
        progress = watcher(sys.stderr, prepared.plan.protocol.reader, quiet=options["quiet"])
        stop = Stop()
        try:
            with interruptible(stop, progress.note):
                outcome = evaluate.run(
                    prepared,
                    runs,
                    options["database"],
                    around,
                    stop=stop,
                    watcher=progress,
                    retry_failed=options["retry_failed"],
                )
        finally:
            progress.close()
        show_report(runs, outcome.run, options, withdrawn=prepared.questions.withdrawn.keys())
        if outcome.state == "complete":
            return 0
        left = outcome.run.planned - outcome.run.answered
        total = outcome.run.planned
        where = "" if str(options["database"]) == "twlocal.db" else f" --db {options['database']}"
        note(f"{outcome.state}: {left} of {total} not answered yet\n  → {program()} resume {outcome.run.name}{where}")
        return EXIT_INTERRUPTED if outcome.state == "interrupted" else 1


def _tell_route(options: dict[str, Any], route: Route, machine: Hardware) -> None:
    """Say which engine was chosen and why: one line, or all of it."""
    from twlocal import placing
    from twlocal.cli.route import page

    lang = language(options["lang"])
    if options.get("verbose"):
        note(page(route, machine, lang, assumed=False, if_installed=None))
    elif not options["quiet"]:
        note(placing.line(route, lang))
