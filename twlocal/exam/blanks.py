"""Blanks to be filled in: thin rules with nothing above them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter

from .page import Box

# In em.
_LEAST = 1.2  # how long a blank is at least
_BESIDE = 2.0  # … when characters stand on the same rule


Span = tuple[float, float]  # from x to x


def blanks(
    boxes: Sequence[Box], baselines: Sequence[float], sizes: Sequence[float], spans: Callable[[int], list[Span]]
) -> Iterator[tuple[int, float, float]]:
    """The blanks among a page's rules: for each the place of its row, and its edges.

    `baselines` and `sizes` (points) are those of the page's rows from top to bottom, `spans` tells where the characters
    of a row stand.
    """
    seen: dict[int, list[Span]] = {}
    for rule in _rules(boxes):
        # The row whose baseline lies just above the rule: at most half an em, or a little below it.
        k = bisect_right(baselines, rule.bottom + 2) - 1
        if k < 0 or rule.top - baselines[k] > 0.5 * sizes[k]:
            continue
        own = seen[k] if k in seen else seen.setdefault(k, spans(k))
        for x0, x1 in _free(own, rule, sizes[k]):
            yield k, x0, x1
            own.insert(sum(start < x0 for start, _ in own), (x0, x1))


def _rules(boxes: Sequence[Box]) -> list[Box]:
    """Horizontal rules that could be blanks: joined when they touch, without those that are part of a frame."""
    flat = [b for b in boxes if b.kind == "rule" and b.width > b.height and b.width > 3]
    posts = [b for b in boxes if b.kind == "rule" and b.height > b.width and b.height > 6]
    joined: list[Box] = []
    for box in sorted(flat, key=attrgetter("top", "x0")):
        last = joined[-1] if joined else None
        if last and abs(last.top - box.top) < 1 and box.x0 - last.x1 < 1:
            joined[-1] = last._replace(x1=max(last.x1, box.x1), x0=min(last.x0, box.x0))
        else:
            joined.append(box)
    return [
        b
        for b in joined
        if not any(p.top - 2 < b.top < p.bottom + 2 and (abs(p.x0 - b.x0) < 3 or abs(p.x1 - b.x1) < 3) for p in posts)
    ]


def _free(spans: Sequence[Span], rule: Box, size: float) -> list[Span]:
    """The stretches of a rule that no character stands on, if long enough to be a blank."""
    over = [(x0, x1) for x0, x1 in spans if x1 > rule.x0 + 1 and x0 < rule.x1 - 1]
    edges = [rule.x0, *(edge for span in over for edge in span), rule.x1]
    least = (_BESIDE if over else _LEAST) * size
    return [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if b - a >= least]
