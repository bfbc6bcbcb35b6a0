"""Who is given which requests, and which are given out again when an actor is lost. Pure.

What was in flight at an actor's death is given out again in halves, each alone with an actor that has nothing else: a
request that kills is found after as many deaths as halving takes, and what only stood beside it is asked in numbers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from twlocal.backend import Request


@dataclass(frozen=True, slots=True)
class Blame:
    """A request that was alone in flight at a death, for the `deaths`th time; whether it is given up."""

    request: Request
    deaths: int
    given_up: bool


class Deal:
    """The requests of one `generate`, over actors that are known by any name.

    prior: how often each request's key was alone in flight at a death before. limit: deaths at which it is given up.
    """

    def __init__(self, requests: Iterable[Request], *, prior: Mapping[str, int], limit: int) -> None:
        self._source: Iterator[Request] | None = iter(requests)
        self._deaths, self._limit = dict(prior), limit
        self._suspects: deque[list[Request]] = deque()
        self._flying: dict[Hashable, dict[str, Request]] = {}
        self._alone: set[Hashable] = set()  # who has suspects, and so is given nothing beside them

    def take(self, actor: Hashable, wanted: int) -> tuple[list[Request], bool]:
        """At most `wanted` requests for an actor, or suspects that belong together; and whether to finish what it has.

        Told to finish, it is given nothing more until it has answered all.
        """
        flying = self._flying.setdefault(actor, {})
        if actor in self._alone:
            return [], True
        if not flying and self._suspects:
            taken = self._suspects.popleft()
            self._alone.add(actor)
        else:
            taken = self._pull(wanted)
        flying.update((request.key, request) for request in taken)
        return taken, actor in self._alone or self._source is None

    def answered(self, actor: Hashable, key: str) -> None:
        """A completion has come for a request."""
        flying = self._flying.get(actor, {})
        flying.pop(key, None)
        self._deaths.pop(key, None)
        if not flying:
            self._alone.discard(actor)

    def idle(self, actor: Hashable) -> None:
        """The actor has finished; what it has not answered by now it never will."""
        self._flying.pop(actor, None)
        self._alone.discard(actor)

    def lost(self, actor: Hashable) -> Blame | None:
        """The actor is dead: what it had is given out again, but for a request that has killed too often."""
        flying = list(self._flying.pop(actor, {}).values())
        self._alone.discard(actor)
        if len(flying) == 1:
            (request,) = flying
            deaths = self._deaths[request.key] = self._deaths.get(request.key, 0) + 1
            if deaths < self._limit:
                self._suspects.append(flying)
            return Blame(request, deaths, given_up=deaths >= self._limit)
        half = (len(flying) + 1) // 2
        self._suspects.extend(part for part in (flying[:half], flying[half:]) if part)
        return None

    @property
    def waiting(self) -> bool:
        """Whether there may be something for an idle actor."""
        return bool(self._suspects) or self._source is not None

    def _pull(self, wanted: int) -> list[Request]:
        taken: list[Request] = []
        while self._source is not None and len(taken) < wanted:
            request = next(self._source, None)
            if request is None:
                self._source = None
            else:
                taken.append(request)
        return taken
