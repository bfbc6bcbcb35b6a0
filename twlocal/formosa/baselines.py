"""What one scores on a set of items without knowing anything: the shortcuts that options leave open. Pure.

A guesser that cannot decide (two options are longest) gets the share it would win by tossing a coin, so that no number
depends on the order of equal options.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from twlocal.formosa.options import bare, columns
from twlocal.item import LABELS, Item
from twlocal.stats import Interval, wilson


@dataclass(frozen=True, slots=True)
class Baseline:
    """A shortcut's expected number of right answers out of n, with Wilson's 95% interval."""

    name: str
    right: float
    n: int

    @property
    def accuracy(self) -> float:
        """Share of right answers, 0 for no items."""
        return self.right / self.n if self.n else 0.0

    @property
    def interval(self) -> Interval:
        """Wilson's 95% interval of the accuracy."""
        return wilson(self.right, self.n)


def _longest(item: Item) -> list[float]:
    return [float(columns(text)) for text in item.options]


def _shortest(item: Item) -> list[float]:
    return [-float(columns(text)) for text in item.options]


def _most_digits(item: Item) -> list[float]:
    return [float(sum(char.isdigit() for char in text)) for text in item.options]


def _stem_overlap(item: Item) -> list[float]:
    stem = _pairs(item.question)
    return [float(len(_pairs(text) & stem)) for text in item.options]


def _pairs(text: str) -> set[str]:
    said = bare(text)
    return {said[at : at + 2] for at in range(len(said) - 1)}


def _always(letter: str) -> Callable[[Item], list[float]]:
    return lambda item: [float(label == letter) for label in LABELS]


SHORTCUTS: dict[str, Callable[[Item], list[float]]] = {
    **{f"always {letter}": _always(letter) for letter in LABELS},
    "longest option": _longest,
    "shortest option": _shortest,
    "most digits": _most_digits,
    "overlap with the stem": _stem_overlap,
}


def baselines(items: Sequence[Item]) -> list[Baseline]:
    """Every shortcut over the items, in a fixed order."""
    return [
        Baseline(name, sum(_won(score(item), item.answer) for item in items), len(items))
        for name, score in SHORTCUTS.items()
    ]


def _won(scores: Sequence[float], answer: str) -> float:
    best = max(scores)
    return (scores[LABELS.index(answer)] == best) / sum(score == best for score in scores)
