"""Leave-one-out transfer of the difficulty band (section 4.2 and Table 2 of the paper). Pure.

Is a set that a pool finds hard hard only for that pool? For each member the band is cut by the others, and the member,
which had no say in it, is measured on it. scipy ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from twlocal.formosa.band import Member, Score, band, mean_score
from twlocal.paired import stats

# Members within so much of the pool's median on the full set are its mid-field. The paper does not say where its
# mid-field ends; this names the three models of Table 2 whose gaps are between −2.9 and 0.0.
MID = 0.025
BIAS = 0.03  # "mid-field held-out models land within ±3% of the in-pool mean"
_LEAST = 3  # members below which a rank correlation says nothing


@dataclass(frozen=True, slots=True)
class Row:
    """A model measured on a band that it had no part in: Table 2's columns, as shares of 1.

    full: on all items. held_out: on the band. in_pool: the mean of the others on the band. mid: whether it is of the
    mid-field.
    """

    name: str
    model: str
    full: Score
    held_out: Score
    in_pool: float
    mid: bool

    @property
    def gap(self) -> float:
        """Held-out accuracy minus the in-pool mean."""
        return self.held_out.k / self.held_out.n - self.in_pool

    @property
    def compression(self) -> float:
        """How much the selection takes from the model's score."""
        return self.full.k / self.full.n - self.held_out.k / self.held_out.n


@dataclass(frozen=True, slots=True)
class Ranking:
    """How far one order of models is another. swaps: pairs that change places, the better one by the first order first.

    spearman, kendall: None where the models are too few or all alike.
    """

    spearman: float | None
    kendall: float | None
    swaps: tuple[tuple[str, str], ...]

    @property
    def preserved(self) -> bool:
        """Whether no two models change places."""
        return not self.swaps


@dataclass(frozen=True, slots=True)
class Transfer:
    """The whole experiment over n items with bands "pass ≤ at_most of (members − 1)"; rows by full-set accuracy."""

    n: int
    at_most: int
    rows: tuple[Row, ...]
    ranking: Ranking
    fresh: tuple[Row, ...] = ()

    @property
    def mid_bias(self) -> float | None:
        """The gap of the mid-field that is farthest from 0, with its sign; None where there is no mid-field."""
        return max((row.gap for row in self.rows if row.mid), key=abs, default=None)


def transfer(
    items: Sequence[str], members: Sequence[Member], *, at_most: int | None = None, fresh: Sequence[Member] = ()
) -> Transfer:
    """Leave each member out in turn, and measure `fresh` models on the band of the whole pool.

    at_most: of the members but one, as Table 2's 5 of 6; by default all of them but one. A fresh model is measured on
    the band of one more, as 6 of 7. Raises ValueError for fewer than three members, and where a band holds nothing.
    """
    if len(members) < _LEAST:
        raise ValueError(f"leaving one out needs at least {_LEAST} models, and there are {len(members)}")
    most = len(members) - 2 if at_most is None else at_most
    if not 0 <= most < len(members):
        raise ValueError(f"pass ≤ {most} of {len(members) - 1} is no band")
    middle = median(_share(member.score(items)) for member in members)
    rows = [_row(items, one, [other for other in members if other.name != one.name], most, middle) for one in members]
    rows.sort(key=lambda row: (-_share(row.full), row.name))
    return Transfer(
        n=len(items),
        at_most=most,
        rows=tuple(rows),
        ranking=ranking(
            [row.name for row in rows],
            [_share(row.full) for row in rows],
            [_share(row.held_out) for row in rows],
        ),
        fresh=tuple(_row(items, one, members, most + 1, middle) for one in fresh),
    )


def _row(items: Sequence[str], one: Member, others: Sequence[Member], at_most: int, middle: float) -> Row:
    chosen = band(items, others, at_most)
    if not chosen:
        raise ValueError(f"no item is passed by at most {at_most} of the {len(others)} others of {one.name}")
    full = one.score(items)
    # The distance is rounded: 73.4 − 70.9 is 2.5 to a reader, and a hair more to a float.
    mid = round(abs(_share(full) - middle), 9) <= MID
    return Row(one.name, one.model, full, one.score(chosen), mean_score(chosen, others), mid)


def ranking(names: Sequence[str], first: Sequence[float], second: Sequence[float]) -> Ranking:
    """Compare two orders of the same models, each given by a score a model (higher is better).

    Models equal in one order do not change places. Raises ValueError where the lengths differ.
    """
    scores = list(zip(names, first, second, strict=True))
    swaps = tuple(
        (better, worse)
        for better, better_first, better_second in scores
        for worse, worse_first, worse_second in scores
        if better_first > worse_first and better_second < worse_second
    )
    if len(names) < _LEAST or len(set(first)) == 1 or len(set(second)) == 1:
        return Ranking(None, None, swaps)
    return Ranking(
        float(stats().spearmanr(first, second).statistic), float(stats().kendalltau(first, second).statistic), swaps
    )


def _share(score: Score) -> float:
    if not score.n:
        raise ValueError("there is no item to score")
    return score.k / score.n
