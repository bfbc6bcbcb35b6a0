"""A queue being watched: its items, and the runs of those that are begun."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from twlocal.queues.state import RUNNING, ItemRow, QueueRow, Queues
from twlocal.runs import Runs
from twlocal.watching import Seen, Watched


class LiveQueue:
    """Looks at a queue again and again; ended runs are looked at once. busy: whether a run's key is being worked on."""

    def __init__(self, runs: Runs, queues: Queues, queue: QueueRow, busy: Callable[[str], bool]) -> None:
        self._runs, self._queues, self._busy = runs, queues, busy
        self.queue = queue
        self.items: list[ItemRow] = []
        self.seen: dict[int, Seen] = {}
        self._watched: dict[int, Watched] = {}
        self._settled: set[int] = set()

    def look(self, now: datetime) -> None:
        """Read the queue and its runs as they are now."""
        self.queue = self._queues.get(key=self.queue.key)
        self.items = self._queues.items(self.queue.id)
        for item in self.items:
            if item.no in self._settled:
                continue
            run = self._runs.begun(item.wish)
            if run is None:
                continue
            if item.no not in self._watched:
                self._watched[item.no] = Watched(self._runs, self._runs.get(key=run.key))
            busy = item.state == RUNNING and self._busy(run.key)
            self.seen[item.no] = self._watched[item.no].look(busy=busy, now=now)
            if item.ended:
                self._settled.add(item.no)
                del self._watched[item.no]
