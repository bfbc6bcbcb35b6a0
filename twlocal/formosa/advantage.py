"""A generator's advantage on the items that it drafted itself (section 4.3 of the paper). Pure.

A generator knows what it asks for, and where its key is wrong it is wrong the same way as the key. Two things can be
measured. Alone: how often it is right where every other model is wrong, beside the same figure of the others. Own:
where several generators drafted, how much more it is ahead of the others on its own items than on those of others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from twlocal.formosa.band import Member, Score
from twlocal.paired import Span, stats

_LEAST = 2  # items of a kind below which no interval can be told


@dataclass(frozen=True, slots=True)
class Own:
    """How far a generator is ahead of the mean of the others, on its own items and on those of other generators.

    difference: ahead on its own minus ahead on the others', with Welch's 95% interval; shares of 1. interval: None
    where the items are too few, or all alike.
    """

    own: float
    n_own: int
    others: float
    n_others: int
    interval: Span | None

    @property
    def difference(self) -> float:
        return self.own - self.others


@dataclass(frozen=True, slots=True)
class Advantage:
    """A generator among the models. role: "pool", or "scored" for one outside it.

    alone: its right answers where all the others of the pool are wrong. others_alone: likewise of each other member,
    added up. own: None where the items of one generator are all there are.
    """

    generator: str
    name: str
    model: str
    role: str
    alone: Score
    others_alone: Score
    own: Own | None


def same_model(one: str, other: str) -> bool:
    """Whether two names name the same model: the last part of a path or Hub id, without the key of an asker, the
    ending of a file, and case."""
    return bool(_bare(one)) and _bare(one) == _bare(other)


def _bare(name: str) -> str:
    last = re.split(r"[/\\#]", re.sub(r"@[0-9a-f]{6,}$", "", name.strip()).rstrip("/\\"))[-1]
    return re.sub(r"\.gguf$", "", last, flags=re.IGNORECASE).casefold()


def advantages(
    sources: Mapping[str, str],
    members: Sequence[Member],
    scored: Sequence[Member],
    generators: Sequence[str],
) -> list[Advantage]:
    """Every generator that is itself among the models, measured. sources: who drafted each item, by content hash.

    Raises EngineMissing where scipy is missing and there are items of several generators.
    """
    found = []
    for generator in generators:
        own = {item for item, source in sources.items() if same_model(source, generator)}
        for role, group in (("pool", members), ("scored", scored)):
            for one in group:
                if same_model(one.model, generator):
                    found.append(_measured(generator, role, one, members, list(sources), own))
    return found


def _measured(
    generator: str, role: str, one: Member, members: Sequence[Member], items: Sequence[str], own: set[str]
) -> Advantage:
    others = [other for other in members if other is not one]
    rest = [_alone(items, other, [peer for peer in members if peer is not other]) for other in others]
    return Advantage(
        generator=generator,
        name=one.name,
        model=one.model,
        role=role,
        alone=_alone(items, one, others),
        others_alone=Score(sum(score.k for score in rest), sum(score.n for score in rest)),
        own=_own(items, one, others, own),
    )


def _alone(items: Sequence[str], one: Member, others: Sequence[Member]) -> Score:
    return one.score(item for item in items if not any(other.right[item] for other in others))


def _own(items: Sequence[str], one: Member, others: Sequence[Member], own: set[str]) -> Own | None:
    if not others:
        return None
    ahead = {item: one.right[item] - mean(other.right[item] for other in others) for item in items}
    mine = [ahead[item] for item in items if item in own]
    theirs = [ahead[item] for item in items if item not in own]
    if not mine or not theirs:
        return None
    return Own(mean(mine), len(mine), mean(theirs), len(theirs), _welch(mine, theirs))


def _welch(first: Sequence[float], second: Sequence[float]) -> Span | None:
    if min(len(first), len(second)) < _LEAST or len(set(first)) == len(set(second)) == 1:
        return None
    found = stats().ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    return Span(float(found.low), float(found.high))


def as_dict(one: Advantage) -> dict[str, Any]:
    """The measured advantage as JSON-able data; shares of 1."""
    own = one.own
    return {
        "generator": one.generator,
        "run": one.name,
        "model": one.model,
        "role": one.role,
        "right_alone": _score(one.alone),
        "others_right_alone": _score(one.others_alone),
        "own_items": None
        if own is None
        else {
            "ahead_on_own": own.own,
            "n_own": own.n_own,
            "ahead_on_others": own.others,
            "n_others": own.n_others,
            "difference": own.difference,
            "interval": None if own.interval is None else [own.interval.low, own.interval.high],
        },
    }


def _score(score: Score) -> dict[str, Any]:
    return {
        "k": score.k,
        "n": score.n,
        "share": score.share,
        "interval": [score.interval.low, score.interval.high],
    }
