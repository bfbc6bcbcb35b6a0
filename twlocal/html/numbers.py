"""Numbers as pages write them: shares of 1 as percentages, an unknown as an en dash."""

from __future__ import annotations

from twlocal.stats import Interval

NONE = "–"
_NARROW = 0.01  # an interval narrower than this makes a second decimal mean something


def count(number: int | None) -> str:
    """A whole number with thousands separated."""
    return NONE if number is None else f"{number:,}"


def percent(share: float | None, digits: int = 1) -> str:
    """A share of 1 as a percentage."""
    return NONE if share is None else f"{100 * share:.{digits}f}%"


def digits(interval: Interval) -> int:
    """Decimals that a percentage with this interval deserves, as in the terminal's report."""
    return 2 if interval.high - interval.low < _NARROW else 1


def between(interval: Interval | None, decimals: int | None = None) -> str:
    """An interval of a share: `41.2–47.9`, in per cent without the sign."""
    if interval is None:
        return NONE
    places = digits(interval) if decimals is None else decimals
    return f"{100 * interval.low:.{places}f}–{100 * interval.high:.{places}f}"
