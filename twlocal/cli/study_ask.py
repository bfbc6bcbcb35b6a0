"""`twlocal study prompt` and `budget`: ordinary runs that differ in one thing, or stored ones, and their analysis."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from twlocal.cli.common import db_option, note
from twlocal.cli.dataset_options import dataset_options, load_settings
from twlocal.cli.engine_options import bench_name, engine_options, engine_settings, model_name, protocol_name
from twlocal.cli.study_output import named, output_options, show
from twlocal.cli.study_stored import distinct, seed_option
from twlocal.errors import RunError, UsageError

if TYPE_CHECKING:
    from twlocal.compare import Key
    from twlocal.html.words import Text
    from twlocal.plan import Wish
    from twlocal.runs import RunRow, Runs
    from twlocal.study.budget import Answer, Budget
    from twlocal.study.load import Source

F = TypeVar("F", bound=Callable[..., Any])

_ASKING = (
    click.option(
        "--run", "stored_runs", metavar="RUN", multiple=True, help="Instead of MODEL: a stored run; give several."
    ),
    click.option("--bench", default="demo", show_default=True, help="With MODEL: what to ask, as of `twlocal run`."),
    click.option("--sample", type=click.IntRange(1), metavar="K", help="With MODEL: at most K questions a subject."),
    click.option("--limit", type=click.IntRange(1), help="With MODEL: at most this many questions in all."),
)


def _asking_options(command: F) -> F:
    """Adds what a study that may ask a model takes besides its own options."""
    for option in reversed(_ASKING):
        command = option(command)
    wrapped: F = engine_options(dataset_options(command))
    return wrapped


@click.command()
@click.argument("model", required=False)
@click.option(
    "--protocols",
    default="box-defective,box",
    show_default=True,
    metavar="NAME,NAME",
    help="With MODEL: the prompts to compare; the last one is the reference.",
)
@click.option("--max-tokens", type=click.IntRange(1), help="With MODEL: new tokens an answer may have.")
@_asking_options
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
@seed_option
@output_options
@db_option
def prompt(model: str | None, **options: Any) -> None:
    """What the system prompt does to the score of MODEL, and in which alphabet the unread answers are.

    MODEL is asked the same questions under each protocol, as ordinary runs: stored, and going on where they stopped.
    Stored runs are read with --run RUN --run RUN, each model's last one being the reference. Runs of several models
    also give the change of ranks.
    """
    from twlocal import apparatus
    from twlocal.bundle.stored import opened
    from twlocal.html.words import t
    from twlocal.study import apparatus_words, prompt
    from twlocal.study.load import Source, run_command, study_command

    names = [name.strip() for name in options["protocols"].split(",") if name.strip()]
    if len(set(names)) < 2:
        raise UsageError("--protocols takes two or more names", hint="twlocal protocols lists them")
    with opened(options["database"], create=model is not None, warn=note) as (runs, stored):
        source = Source(runs, stored)
        if model is not None:
            _not_both(options)
            base = _wish(model, options)
            chosen = [answered(replace(base, protocol=protocol_name(name)), options, runs) for name in names]
        else:
            chosen = _chosen(source, options)
        asked = [
            prompt.asked(
                run.name, run.model, run.protocol, run.manifest["protocol"]["system_sha256"], source.keyed(run)
            )
            for run in chosen
        ]
        apparatuses = [source.apparatus(run) for run in chosen]
    pairs, warnings = [], []
    by_model: dict[str, list[int]] = {}
    for at, one in enumerate(asked):
        by_model.setdefault(one.model, []).append(at)
    for places in by_model.values():
        *others, reference = places
        for other in others:
            try:
                pairs.append(prompt.pair(asked[other], asked[reference], options["seed"]))
            except ValueError as error:
                raise UsageError(str(error)) from error
            parts = {one.part for one in apparatus.differences(apparatuses[other], apparatuses[reference])}
            if parts - {"protocol", "prompt"}:
                also = apparatus_words.parts(sorted(parts - {"protocol", "prompt"}))
                more = t(
                    "{other} 與 {reference} 不同的不只是提示詞，還有：{also}。",
                    "{other} and {reference} differ in more than the prompt: {also}.",
                )
                warnings.append(more.format(other=asked[other].run, reference=asked[reference].run, also=also))
    if not pairs:
        raise UsageError("these runs are all of different models", hint="give two runs of one model, under two prompts")
    there = named(options["database"])
    words = ["study", "prompt", *_named(chosen), *_seed(options)]
    commands = [*(run_command(run, there) for run in chosen), study_command(*words, database=there)]
    held = t(
        "模型、題目、解碼設定與引擎，除非注意事項另有說明",
        "the model, the questions, the decoding and the engine, but where a warning says otherwise",
    )
    show(
        prompt.report(asked, pairs, held=held, commands=commands, warnings=warnings),
        as_json=options["as_json"],
        html=options["html"],
        lang=options["lang"],
    )


@click.command()
@click.argument("model", required=False)
@click.option("--caps", metavar="N,N", help="With MODEL: the budgets to compare, such as 8192,16384.")
@click.option(
    "--cap", type=click.IntRange(1), multiple=True, help="With --run: also read this smaller budget from the largest."
)
@click.option("--ask-each", is_flag=True, help="With MODEL: ask under every budget, also where one can be read.")
@click.option("--protocol", default="box", show_default=True, help="With MODEL: the protocol of the runs.")
@_asking_options
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
@seed_option
@output_options
@db_option
def budget(model: str | None, **options: Any) -> None:
    """What a larger budget of tokens buys MODEL: accuracy, cost, churn, and what the answers at the cap are.

    MODEL is asked the same questions under each of --caps, as ordinary runs; stored runs are read with --run RUN --run
    RUN. Where the engine gives the same text each time, MODEL is asked under the largest budget only, and the others
    are read from the first tokens of its answers; what they would have cost in time is then not known (--ask-each).
    With --cap a smaller budget is read from a stored run.
    """
    from twlocal.bundle.stored import opened
    from twlocal.html.words import t
    from twlocal.study import budget
    from twlocal.study.load import Source, run_command, study_command

    with opened(options["database"], create=model is not None, warn=note) as (runs, stored):
        source = Source(runs, stored)
        if model is not None:
            _not_both(options)
            base = replace(_wish(model, options), protocol=protocol_name(options["protocol"]))
            chosen, caps = _asked(source, base, options)
        else:
            chosen, caps = _chosen(source, options, least=1 if options["cap"] else 2), sorted(set(options["cap"]))
        ordered = sorted(chosen, key=lambda run: int(run.manifest["decoding"]["max_tokens"]))
        found = [_budget(source, run) for run in ordered]
        warnings = _only_the_budget(source, chosen)
        try:
            shorts = [budget.shorter(found[-1], cap, _cut(source, ordered[-1], cap)) for cap in caps]
            read = [one for short in shorts if (one := budget.as_budget(found[-1], short)) is not None]
            found = sorted([*found, *read], key=lambda one: one.cap)
            pairs = [budget.pair(one, found[-1], options["seed"]) for one in found[:-1]]
        except ValueError as error:
            raise UsageError(str(error)) from error
        if shorts and not _deterministic(source, ordered[-1]):
            warnings.append(
                t(
                    "引擎不保證每次給出同樣的作答，所以從較長的作答讀出的成績，只是可能的一種。",
                    "the engine does not promise the same answer twice, so what is read from longer answers is only "
                    "one of the scores that a smaller budget may give.",
                )
            )
    there = named(options["database"])
    words = ["study", "budget", *_named(chosen), *(word for cap in caps for word in ("--cap", str(cap)))]
    words += _seed(options)
    commands = [*(run_command(run, there) for run in chosen), study_command(*words, database=there)]
    held = t(
        "模型、題目、提示詞與讀法，除非注意事項另有說明",
        "the model, the questions, the prompt and the reader, but where a warning says otherwise",
    )
    show(
        budget.report(found, pairs, shorts, held=held, commands=commands, warnings=warnings),
        as_json=options["as_json"],
        html=options["html"],
        lang=options["lang"],
    )


def _asked(source: Source, base: Wish, options: dict[str, Any]) -> tuple[list[RunRow], list[int]]:
    """The runs under --caps, and the caps that the largest run tells in full and need not be asked."""
    caps = _caps(options["caps"])
    largest = answered(replace(base, max_tokens=caps[-1]), options, source.runs)
    told: list[int] = []
    if not options["ask_each"] and _deterministic(source, largest):
        told = [cap for cap in caps[:-1] if len(_cut(source, largest, cap)) == largest.rows]
    asked = [answered(replace(base, max_tokens=cap), options, source.runs) for cap in caps[:-1] if cap not in told]
    return [*asked, largest], told


def _deterministic(source: Source, run: RunRow) -> bool:
    """Whether the engine promises the same text each time, and that of a smaller budget to be its beginning."""
    sittings = source.runs.sittings(run.id)
    return all(one.engine_info.get("settings", {}).get("deterministic") is True for one in sittings)


def _cut(source: Source, run: RunRow, cap: int) -> Mapping[Key, Answer]:
    from twlocal.study.budget import cut

    sizes = source.runs.token_sizes(run.id, cap)
    return cut(source.keyed(run), sizes, cap, run.manifest["protocol"]["reader"])


def _caps(text: str | None) -> list[int]:
    caps = [part.strip() for part in (text or "").split(",") if part.strip()]
    if len(set(caps)) < 2 or not all(cap.isascii() and cap.isdigit() and int(cap) > 0 for cap in caps):
        raise UsageError(f"--caps takes two or more budgets such as 8192,16384, not {text!r}")
    return sorted({int(cap) for cap in caps})


def _budget(source: Source, run: RunRow) -> Budget:
    from twlocal.study.budget import Budget, answers

    latencies = [row["latency"] for row in source.runs.timings(run.id) if row["repeat"] == 0]
    return Budget(
        run=run.name,
        model=run.model,
        cap=run.manifest["decoding"]["max_tokens"],
        answers=answers(source.keyed(run), run.manifest["protocol"]["reader"]),
        seconds=sum(sitting.seconds for sitting in source.runs.sittings(run.id)),
        latency=None if None in latencies else sum(latencies),
    )


def _only_the_budget(source: Source, runs: Sequence[RunRow]) -> list[Text]:
    from twlocal import apparatus
    from twlocal.html.words import t
    from twlocal.study import apparatus_words
    from twlocal.study.report import join

    first, told = source.apparatus(runs[0]), []
    more = t(
        "{first} 與 {other} 不同的不只是長度上限，還有：{also}。",
        "{first} and {other} differ in more than the budget: {also}.",
    )
    value = t("{part}（{name}）", "{part} ({name})")
    for run in runs[1:]:
        apart = apparatus.differences(first, source.apparatus(run))
        names = [one for one in apart if not (one.part == "decoding" and one.name.endswith("max_tokens"))]
        if names:
            also = [
                value.format(part=apparatus_words.part(one.part), name=apparatus_words.name(one.name)) for one in names
            ]
            told.append(more.format(first=runs[0].name, other=run.name, also=join(list(dict.fromkeys(also)))))
    return told


def _not_both(options: dict[str, Any]) -> None:
    if options["stored_runs"]:
        raise UsageError("give MODEL, or stored runs with --run, not both")


def _chosen(source: Source, options: dict[str, Any], least: int = 2) -> list[RunRow]:
    names = options["stored_runs"]
    if len(names) < least:
        raise UsageError("name a MODEL to ask, or stored runs with --run", hint="twlocal runs lists the stored ones")
    chosen = [source.run(name) for name in names]
    distinct(chosen)
    for run in chosen:
        if not run.answered:
            raise UsageError(f"{run.name} has no response yet", hint=f"twlocal resume {run.name}")
    return chosen


def _named(runs: Sequence[RunRow]) -> list[str]:
    return [word for run in runs for word in ("--run", run.name)]


def _seed(options: dict[str, Any]) -> list[str]:
    from twlocal.study.load import unless_default

    return unless_default(seed=(options["seed"], 0))


def _wish(model: str, options: dict[str, Any]) -> Wish:
    from twlocal.plan import Wish

    return Wish(
        model=model_name(model),
        bench=bench_name(options["bench"]),
        protocol="box",
        backend=options["backend"],
        sample=options["sample"],
        limit=options["limit"],
        max_tokens=options.get("max_tokens"),
        private=options["private"],
        data=load_settings(options),
        settings=engine_settings(options),
    )


def answered(wish: Wish, options: dict[str, Any], runs: Runs) -> RunRow:
    """The complete run of a wish, asked now as far as it is not stored. Raises RunError where it does not complete."""
    from twlocal import evaluate
    from twlocal.cli.interrupt import interruptible
    from twlocal.cli.progress import watcher
    from twlocal.runner import Stop

    around = evaluate.Surroundings()
    prepared = evaluate.prepare(wish, runs, around)
    progress = watcher(sys.stderr, prepared.plan.protocol.reader, quiet=options["quiet"])
    stop = Stop()
    database: Path = options["database"]
    try:
        with interruptible(stop, progress.note):
            outcome = evaluate.run(prepared, runs, database, around, stop=stop, watcher=progress)
    finally:
        progress.close()
    if outcome.state != "complete":
        raise RunError(
            f"{outcome.run.name}: {outcome.state}, {outcome.run.answered:,} of {outcome.run.planned:,} answered",
            hint="the same command goes on where it stopped",
        )
    return runs.get(key=outcome.run.key)
