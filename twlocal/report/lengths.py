"""How long responses are, in bins. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from twlocal.html.charts import Bin

_BINS = 24  # at the most


def bins(lengths: Mapping[tuple[int, str], int], kinds: Sequence[str]) -> list[Bin]:
    """Counts of (length, kind) in bins of one round width from 0 on, each kind in the order given."""
    if not lengths:
        return []
    width = _width(max(length for length, _ in lengths))
    found: dict[int, list[int]] = {}
    for (length, kind), count in lengths.items():
        found.setdefault(length // width, [0] * len(kinds))[kinds.index(kind)] += count
    return [Bin(at * width, (at + 1) * width, tuple(found.get(at, [0] * len(kinds)))) for at in range(max(found) + 1)]


def _width(longest: int) -> int:
    # 1, 2, 5, 10, 20, …: the first with which all fit.
    scale = 1
    while True:
        for step in (1, 2, 5):
            if longest < step * scale * _BINS:
                return step * scale
        scale *= 10
