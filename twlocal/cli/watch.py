"""`twlocal watch`."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from twlocal.cli.common import db_option, lang_option, language, out
from twlocal.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from twlocal.queues.pages import Look
    from twlocal.queues.state import Queues
    from twlocal.runs import RunRow, Runs


@click.command()
@click.argument("name", metavar="[RUN|QUEUE]", required=False)
@click.option("--once", is_flag=True, help="Show it as it is now, and end.")
@click.option(
    "--interval",
    metavar="SECONDS",
    type=click.FloatRange(0.1),
    help="How often to look.  [default: 1; 15 where the output is no terminal]",
)
@lang_option
@db_option
def watch(name: str | None, **options: Any) -> int:
    """Show a run or a queue live, from another terminal: how far, how fast, the score so far, the last answers.

    Without a name, whatever is being worked on, or was last. Only reads the database. Where the output is no terminal,
    it prints a line every --interval. Ends when the run or the queue does.
    """
    from twlocal.cli.screen import is_terminal, look
    from twlocal.queues.state import opened

    live = is_terminal() and not options["once"]
    with opened(options["database"], look=True) as (runs, queues):
        page = _page_of(name, runs, queues, options["database"])
        if options["once"]:
            out("\n".join(page(look(sys.stdout, language(options["lang"])), False)[0]))
            return 0
        return _follow(page, options, live=live)


def _follow(page: Callable[[Look, bool], tuple[list[str], bool]], options: dict[str, Any], *, live: bool) -> int:
    from twlocal.cli.screen import Block, look

    interval = options["interval"] or (1.0 if live else 15.0)
    block = Block(sys.stdout)
    while True:
        lines, ended = page(look(sys.stdout, language(options["lang"])), not live)
        if live:
            block.draw(lines)
        else:
            out("\n".join(lines))
            sys.stdout.flush()
        if ended:
            return 0
        time.sleep(interval)


def _page_of(
    name: str | None, runs: Runs, queues: Queues, database: Path
) -> Callable[[Look, bool], tuple[list[str], bool]]:
    """What shows the named run or queue: given how it is to look and whether in short, its lines and whether it ended.

    Raises UsageError for a name that is neither's.
    """
    from twlocal.lock import busy

    every = queues.all()
    if name is None:
        queue = next((one for one in every if busy(database, one.key)), None)
        if queue is not None:
            return _queue_page(queue.name, runs, queues, database)
        working = [row for row in runs.unfinished() if busy(database, row.key)]
        if every and not runs.all():  # it was ended while it fetched its first weights
            return _queue_page(every[0].name, runs, queues, database)
        return _run_page(working[0] if working else runs.get(), runs, database)
    named = [one for one in every if one.name == name]
    if named:
        return _queue_page(name, runs, queues, database)
    try:
        return _run_page(runs.get(name), runs, database)
    except UsageError as error:
        begun = [one.name for one in every if one.name.startswith(name)]
        if len(begun) == 1:
            return _queue_page(begun[0], runs, queues, database)
        listed = f"; queues: {', '.join(one.name for one in every)}" if every else ""
        raise UsageError(
            f"there is no run and no queue {name!r}", hint=f"twlocal runs lists the runs{listed}"
        ) from error


def _queue_page(
    name: str, runs: Runs, queues: Queues, database: Path
) -> Callable[[Look, bool], tuple[list[str], bool]]:
    from twlocal.lock import busy
    from twlocal.queues import pages
    from twlocal.queues.live import LiveQueue
    from twlocal.report.table import safe, visible

    live = LiveQueue(runs, queues, queues.get(name), lambda key: busy(database, key))

    def page(look: Look, short: bool) -> tuple[list[str], bool]:
        works = busy(database, live.queue.key)
        live.look(datetime.now(UTC))
        if not short or not works:
            return pages.live_queue(live.queue, live.items, live.seen, works, look), not works
        ended = sum(item.ended for item in live.items)
        head = look.said["queue"].format(name=live.queue.name, ended=ended, all=len(live.items))
        running = [
            pages.line(live.seen[one.no], look) for one in live.items if one.state == "running" and one.no in live.seen
        ]
        return [look.said["comma"].join([safe(visible(head), look.encoding), *running])], False

    return page


def _run_page(run: RunRow, runs: Runs, database: Path) -> Callable[[Look, bool], tuple[list[str], bool]]:
    from twlocal.lock import busy
    from twlocal.queues import pages
    from twlocal.watching import RUNNING, Watched

    watched = Watched(runs, run)

    def page(look: Look, short: bool) -> tuple[list[str], bool]:
        works = busy(database, run.key)
        seen = watched.look(busy=works, now=datetime.now(UTC))
        ended = not works or seen.state != RUNNING
        return [pages.line(seen, look)] if short and not ended else pages.live_run(seen, look), ended

    return page
