"""How long to wait before asking again, and how many requests may be in flight at once."""

from __future__ import annotations

import asyncio
import math
import re
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST_WAIT = 600.0  # seconds; a server that asks for more is not waited for: the run stops and says when to come back
_BASE, _CAP = 0.5, 30.0  # seconds
_RATE_BASE, _RATE_CAP = 1.0, 60.0  # limits are counted by the minute: a 429 without a time is worth a longer wait
# What an error's own words or fields say: "try again in 1m2.5s", "retryDelay": "34s", "retry_after": 5.
_SPAN = r"(?:\d+(?:\.\d+)?\s?(?:milliseconds?|minutes?|seconds?|hours?|mins?|secs?|ms|[hms])(?![a-z])\s?)+"
_SAID = re.compile(
    rf"(?:try(?:ing)? again|retry|wait)(?: (?:your request|after|in|for|at least|about))*:? ?~?(?P<span>{_SPAN})"
    rf"|[\"'](?:retryDelay|retry_?after)[\"']\s*:\s*[\"']?(?:(?P<field>{_SPAN})|(?P<seconds>\d+(?:\.\d+)?)[\"']?\s*[,}}])",
    re.IGNORECASE,
)
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0}
_LIMIT_RESETS = re.compile(r"^(x-)?ratelimit-(.*-)?reset(-.*)?$")


def backoff(tries: int, random: Callable[[], float], *, throttled: bool = False) -> float:
    """Seconds to wait after `tries` failed tries (1 is the first): full jitter under a doubling ceiling."""
    base, cap = (_RATE_BASE, _RATE_CAP) if throttled else (_BASE, _CAP)
    return random() * min(cap, base * 2.0 ** min(tries - 1, 16))


def asked_wait(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that a reply asks us to wait, or None where it does not or asks for nonsense.

    `now` is the time as a Unix timestamp. Knows Retry-After (seconds, with a fraction, an HTTP or ISO date),
    retry-after-ms, and x-ratelimit-reset in its forms. The past and negative numbers are nonsense: the usual backoff
    applies. A limit's reset is capped: it tells when all of a quota is back, not when the next request may go.
    """
    names = {name.lower(): value.strip() for name, value in headers.items()}
    milliseconds = _number(names.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    if (after := names.get("retry-after")) is not None:
        seconds = _number(re.sub(r"\s*(s|sec|seconds?)$", "", after, flags=re.IGNORECASE))
        return seconds if seconds is not None else _until(after, now)
    resets = [wait for name, value in names.items() if _LIMIT_RESETS.match(name) and _used_up(names, name)
              if (wait := _reset(value, now)) is not None]  # fmt: skip
    return min(max(resets), _RATE_CAP) if resets else None


def said_wait(text: str) -> float | None:
    """Seconds that an error's body asks to wait where its headers do not (Gemini, Azure, OpenAI), or None."""
    found = _SAID.search(text[:20_000])
    if found is None:
        return None
    if found["seconds"]:
        return float(found["seconds"])
    total = 0.0
    for number, unit in re.findall(r"(\d+(?:\.\d+)?)\s?([a-z]+)", (found["span"] or found["field"]).lower()):
        total += float(number) * (0.001 if unit.startswith(("ms", "mil")) else _UNITS[unit[0]])
    return total


def come_back(wait: float, now: float) -> str:
    """When a wait ends, in words: a duration, and the moment in UTC where a calendar reaches that far."""
    hours = wait / 3600
    length = f"{hours:.0f} hours" if hours >= 2 else f"{wait / 60:.0f} minutes"
    try:
        return f"{length}, until {datetime.fromtimestamp(now + wait, UTC):%Y-%m-%d %H:%M} UTC"
    except (OverflowError, ValueError, OSError):
        return f"{wait:.0f} seconds"


def _number(text: str) -> float | None:
    if not re.fullmatch(r"\d+(\.\d*)?", text, re.ASCII):
        return None
    number = float(text)
    return number if math.isfinite(number) else LONGEST_WAIT * 1e6


def _until(text: str, now: float) -> float | None:
    moment = None
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            moment = read(text)
            break
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
    if moment is None:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    wait = moment.timestamp() - now
    return wait if wait > 0 else None


def _used_up(names: Mapping[str, str], reset: str) -> bool:
    """Of several limits, only one with nothing remaining is the cause; where it is not told, any may be."""
    remaining = names.get(reset.replace("reset", "remaining"))
    return remaining is None or remaining in ("0", "0.0")


def _reset(text: str, now: float) -> float | None:
    if (number := _number(text)) is not None:
        if number > 1e11:
            number /= 1000  # a timestamp in milliseconds (OpenRouter)
        wait = number - now if number > 1e9 else number
        return wait if wait > 0 else None
    found = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?", text)
    if not text or found is None:
        return _until(text, now)
    hours, minutes, seconds, milliseconds = (float(part or 0) for part in found.groups())
    return hours * 3600 + minutes * 60 + seconds + milliseconds / 1000


class Throttle:
    """How many requests may be in flight: halved when the server says that there are too many, grown back slowly.

    Lives on one event loop. `clock` gives seconds, `sleep` waits for them, `random` is in [0, 1).
    """

    def __init__(
        self,
        ceiling: int,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[object]],
        random: Callable[[], float],
    ) -> None:
        self.ceiling = self.limit = self.lowest = ceiling
        self.active = 0
        self._clock, self._sleep, self._random = clock, sleep, random
        self._resume_at = -math.inf
        self._halved_at = -math.inf
        self._good = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> None:
        """Wait until one more request may go."""
        while True:
            if (pause := self._resume_at - self._clock()) > 0:
                # Not all in the same instant: that would be the next burst.
                await self._sleep(pause + self._random() * min(1.0, pause / 10))
            elif self.active < self.limit:
                self.active += 1
                return
            else:
                turn = asyncio.get_running_loop().create_future()
                self._waiting.append(turn)
                await turn

    def leave(self) -> None:
        """A request has ended, in whatever way."""
        self.active -= 1
        self._wake()

    def pause(self, seconds: float) -> None:
        """Nobody sends anything for so long: the server said so."""
        self._resume_at = max(self._resume_at, self._clock() + seconds)

    def too_many(self, sent_at: float) -> None:
        """A request sent at `sent_at` (of `clock`) was one too many. Of one burst, only the first halves the limit."""
        self._good = 0
        if sent_at > self._halved_at:
            self._halved_at = self._clock()
            self.limit = max(1, self.limit // 2)
            self.lowest = min(self.lowest, self.limit)

    def went_well(self) -> None:
        """An answer came; after enough of them one more at once is tried."""
        if self.limit < self.ceiling:
            self._good += 1
            if self._good >= max(8, 2 * self.limit):
                self._good = 0
                self.limit += 1
                self._wake()

    def _wake(self) -> None:
        while self._waiting and self.active < self.limit:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
