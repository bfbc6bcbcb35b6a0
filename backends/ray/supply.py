"""How many requests an actor holds ahead of its engine: so many that it never waits, so few that none lie idle. Pure.

An engine pulls requests one by one and is blocked while there is none. A slow one needs a single request ahead; a batch
in which several answers end at once needs some more; a fast one as many as it answers while the next ones travel.
"""

from __future__ import annotations

from collections import deque

AHEAD_SECONDS = 0.05
MOST = 256


class Supply:
    """What one actor knows of its engine's appetite. Times are seconds of any one clock."""

    def __init__(self) -> None:
        self._held = self._peak = 0
        self._grant = 1
        self._finished: deque[float] = deque(maxlen=MOST)
        self._rate = 0.0

    @property
    def ahead(self) -> int:
        """How many requests should lie ready."""
        return max(1, min(MOST, max(self._peak // 4, round(self._rate * AHEAD_SECONDS))))

    def wanted(self, ready: int, *, starving: bool) -> int:
        """How many to ask for while `ready` lie there; starving: the engine waits for one."""
        if starving:
            return max(self._grant, self.ahead)
        return self.ahead - ready if ready <= self.ahead // 2 else 0

    def starved(self) -> None:
        """The engine found none: next time it is given twice as many, as long as its batch fills."""
        self._grant = min(MOST, 2 * self._grant)

    def pulled(self) -> None:
        """The engine took one."""
        self._held += 1
        self._peak = max(self._peak, self._held)

    def finished(self, now: float) -> None:
        """The engine answered one."""
        self._held -= 1
        self._grant = 1
        self._finished.append(now)
        if len(self._finished) >= 8:
            passed = now - self._finished[0]
            # Many that end at one moment say nothing of how fast they come.
            self._rate = (len(self._finished) - 1) / max(passed, AHEAD_SECONDS / 10)

    def ended(self) -> None:
        """The engine has nothing left."""
        self._held, self._grant = 0, 1
