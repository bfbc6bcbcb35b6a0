"""`twlocal queue`."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from twlocal.cli.common import db_option, json_option, lang_option, language, note, out
from twlocal.errors import StoreBusy, UsageError

if TYPE_CHECKING:
    from types import FrameType

    from twlocal.cli.screen import Screen
    from twlocal.plan import Wish
    from twlocal.queues.file import Option, QueueFile
    from twlocal.queues.forecast import Forecast
    from twlocal.queues.pages import Result
    from twlocal.queues.state import Queues
    from twlocal.queues.work import Stop
    from twlocal.runs import Runs

_LINES_SECONDS = 15.0


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--dry-run", is_flag=True, help="Print the plan and do nothing.")
@click.option(
    "--reclaim", is_flag=True, help="Give back the disk of weights that the queue itself fetched, once unused."
)
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
@json_option
@lang_option
@db_option
def queue(file: Path, **options: Any) -> int:
    """Run every model of FILE on every benchmark of it, each to its end; one that fails stops no other.

    \b
    limit = 50                             # options of `twlocal run`, for all
    models = ["smollm2-135m", "T1"]
    benchmarks = ["demo", "questions.csv"]

    Where one needs options of its own, it is a table: [[models]] with model = "…", [[benchmarks]] with bench = "…".
    Weights are fetched as they are needed. On several graphics cards models run side by side. The same command goes on
    where it stopped or was killed. Ctrl-C ends it after the item that is running; a second one stops that item too,
    and what it stored stays. Ends with 1 where something failed or could not run here.
    """
    import json

    from twlocal import evaluate, hub_models
    from twlocal.cli.screen import look
    from twlocal.queues import file as files
    from twlocal.queues import forecast, pages
    from twlocal.queues.state import opened

    lang = language(options["lang"])
    wanted = files.read(file, run_options(), wish_of_words, is_own_name)
    with ExitStack() as stack:
        database = options["database"]
        look_only = options["dry_run"] and database.exists()
        if options["dry_run"] and not look_only:
            database = Path(stack.enter_context(TemporaryDirectory())) / "none.db"  # a plan makes no database
        runs, queues = stack.enter_context(opened(database, look=look_only, warn=note))
        ahead = forecast.forecast(wanted, runs, evaluate.Surroundings(), socket.gethostname())
        if options["as_json"]:
            page = json.dumps([planned_as_dict(one) for one in ahead], ensure_ascii=False, indent=1)
        else:
            on_hub = any(one.placed is not None and one.placed.repository is not None for one in ahead)
            free = hub_models.free_bytes() if on_hub else None
            stream = sys.stdout if options["dry_run"] else sys.stderr
            page = "\n".join(pages.plan(wanted.path.name, ahead, free, look(stream, lang)))
        if options["dry_run"]:
            out(page)
            return 1 if any(one.skip for one in ahead) else 0
        if not options["quiet"] and not options["as_json"]:
            note(page + "\n")
        return _work(wanted, ahead, runs, queues, options)


def _work(wanted: QueueFile, ahead: Sequence[Forecast], runs: Runs, queues: Queues, options: Mapping[str, Any]) -> int:
    import json

    from twlocal import lock
    from twlocal.cli.interrupt import EXIT_INTERRUPTED
    from twlocal.cli.screen import look
    from twlocal.queues import pages, state, work
    from twlocal.queues.words import words

    database: Path = options["database"]
    lang = language(options["lang"])

    def busy(wish: Wish) -> bool:
        run = runs.begun(wish)
        return run is not None and lock.busy(database, run.key)

    with _held(database, runs, queues, wanted):
        wishes = [one.wish for one in ahead]
        row = queues.begin(wanted, wishes, pid=os.getpid(), host=socket.gethostname(), at=_now())
        stop = work.Stop()
        screen = _screen(row.name, runs, queues, options, lang)
        around = work.Surroundings(database, dict(os.environ), busy)
        try:
            with _interruptible(stop, lambda: screen.note(words(lang)["stopping"])):
                work.Work(
                    row.id, ahead, queues, around, screen=screen, stop=stop, reclaim=options["reclaim"], lang=lang
                ).run()
        finally:
            screen.close()
        results = results_of(row.id, runs, queues)
    if options["as_json"]:
        out(json.dumps(as_dict(row.name, results), ensure_ascii=False, indent=1))
    else:
        if not options["quiet"]:
            note("")
        out("\n".join(pages.end(results, look(sys.stdout, lang))))
    if stop.pressed and not all(one.item.ended for one in results):
        return EXIT_INTERRUPTED
    return 0 if all(one.item.state == state.OK for one in results) else 1


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@contextmanager
def _held(database: Path, runs: Runs, queues: Queues, wanted: QueueFile) -> Iterator[None]:
    """Hold the queue against another process with the same file."""
    from twlocal.lock import held

    with ExitStack() as stack:
        try:
            stack.enter_context(held(database, runs, wanted.key))
        except StoreBusy:
            found = next((row for row in queues.all() if row.key == wanted.key), None)
            owner = f"process {found.pid} on {found.host}" if found else "another process"
            raise StoreBusy(
                f"this queue is being worked on by {owner}", hint="twlocal watch shows it; Ctrl-C there stops it"
            ) from None
        yield


@contextmanager
def _interruptible(stop: Stop, tell: Callable[[], None]) -> Iterator[None]:
    """Within the block SIGINT, SIGTERM and the terminal's end press `stop`."""

    def handle(number: int, frame: FrameType | None) -> None:
        stop.press()
        # A signal may come in the middle of a line that is being written, and Python refuses to begin another then.
        with suppress(RuntimeError):
            if stop.pressed == 1:
                tell()

    caught = [signal.SIGINT, signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as `nohup` sets it
        caught.append(signal.SIGHUP)
    before = {number: signal.signal(number, handle) for number in caught}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _screen(name: str, runs: Runs, queues: Queues, options: Mapping[str, Any], lang: str) -> Screen:
    from twlocal.cli.screen import Screen, look
    from twlocal.queues import pages
    from twlocal.queues.live import LiveQueue
    from twlocal.queues.state import FETCHING, RUNNING

    live = LiveQueue(runs, queues, queues.get(name), lambda key: True)

    def page() -> list[str]:
        live.look(datetime.now(UTC))
        return pages.live_queue(live.queue, live.items, live.seen, True, look(sys.stderr, lang))

    def lines() -> list[str]:
        live.look(datetime.now(UTC))
        told = [
            (one.no, pages.line(live.seen[one.no], look(sys.stderr, lang)))
            for one in live.items
            if one.state == RUNNING and one.no in live.seen
        ]
        told += [(one.no, f"{one.model}: {one.reason}") for one in live.items if one.state == FETCHING and one.reason]
        return [f"[{no + 1}] {line}" for no, line in told]

    return Screen(sys.stderr, page, lines, every=_LINES_SECONDS, quiet=options["quiet"])


# ── the file ──────────────────────────────────────────────────────────────────────────────────────────────────────


def run_options() -> dict[str, Option]:
    """The options of `twlocal run` that a queue's file may use, by name."""
    from twlocal.cli.run import run
    from twlocal.queues.file import Option

    return {
        str(param.name): Option(max(param.opts, key=len), bool(param.is_flag))
        for param in run.params
        if isinstance(param, click.Option)
    }


def wish_of_words(words: Sequence[str]) -> Wish:
    """What follows `twlocal run`, as the call that it is. Raises UsageError."""
    from twlocal.cli.run import run, wish_of

    try:
        with run.make_context("run", list(words)) as context:
            return wish_of(context.params)
    except click.ClickException as error:
        raise UsageError(error.format_message()) from error


def is_own_name(name: str) -> bool:
    """Whether a name means something of twlocal's own and no file."""
    from twlocal import dataset, protocol
    from twlocal.models import DEMO_MODEL

    return name == DEMO_MODEL or dataset.bench(name) is not None or name in protocol.names()


# ── what became of it ─────────────────────────────────────────────────────────────────────────────────────────────


def results_of(queue_id: int, runs: Runs, queues: Queues) -> list[Result]:
    """Every item with its run's score."""
    from twlocal.queues.pages import Result
    from twlocal.report.build import build

    results = []
    for item in queues.items(queue_id):
        begun = runs.begun(item.wish)
        if begun is None:
            results.append(Result(item, Path(item.wish.protocol).stem))
            continue
        view = build(runs, runs.get(key=begun.key))
        item = replace(item, planned=begun.planned)
        results.append(Result(item, begun.protocol, begun.name, begun.answered, view.score.overall))
    return results


def as_dict(name: str, results: Sequence[Result]) -> dict[str, Any]:
    """What became of a queue, for machines."""
    listed = []
    for one in results:
        item, tally = one.item, one.tally
        listed.append(
            {
                "no": item.no,
                "model": item.model,
                "bench": item.bench,
                "protocol": one.protocol,
                "engine": item.engine or None,
                "cards": item.cards or None,
                "state": item.state,
                "reason": item.reason or None,
                "run": one.run or None,
                "answered": one.answered,
                "planned": item.planned,
                "accuracy": tally.accuracy if tally else None,
                "interval": [tally.interval.low, tally.interval.high] if tally and tally.n else None,
                "n": tally.n if tally else 0,
                "box_rate": tally.box_rate if tally else None,
                "begun_at": item.begun_at,
                "ended_at": item.ended_at,
            }
        )
    return {"queue": name, "items": listed}


def planned_as_dict(one: Forecast) -> dict[str, Any]:
    """An item before it runs, for machines; null for what is not known."""
    from twlocal.queues.cards import needed

    placed = one.placed
    return {
        "no": one.entry.no,
        "model": one.entry.model,
        "bench": one.entry.bench,
        "command": ["twlocal", *one.entry.words],
        "engine": placed.backend if placed else None,
        "cards": needed(placed) if placed else None,
        "skip": one.skip.en if one.skip else None,
        "fetch_bytes": placed.absent if placed else None,
        "answers": one.answers,
        "answered": one.answered,
        "seconds": one.seconds,
        "measured_on": one.measured_on or None,
    }
