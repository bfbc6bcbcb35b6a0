"""What a judge is worth: what it catches of planted defects, and how often it rejects what is good. Pure.

Section 5.4 of the paper: "a judge is only as meaningful as the planted-defect study behind it".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from twlocal.formosa.plant import CLASSES, CLEAN, Case
from twlocal.stats import Interval, wilson

FORMAT = 1  # raised when a field of the stored report changes its meaning or goes


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What a judge must reach to pass.

    catch: the smallest share of each class of defects, 1 by default: "every competent candidate caught 100% of planted
    defects". false_alarm: the largest share of clean items rejected; the paper tells none, but its judge dropped 256 of
    2,939 well-formed items, so at most 8.7% were false alarms. least: cases a class below which nothing is known.
    """

    catch: float = 1.0
    false_alarm: float = 0.1
    least: int = 10


@dataclass(frozen=True, slots=True)
class Rate:
    """k of n."""

    k: int
    n: int

    @property
    def share(self) -> float | None:
        """A share of 1; None of nothing."""
        return self.k / self.n if self.n else None

    @property
    def interval(self) -> Interval:
        """Wilson's 95% interval."""
        return wilson(self.k, self.n)


@dataclass(frozen=True)
class Calibration:
    """A judge over the cases. verdicts: by the case's name, whether it approved; None where nothing could be read.

    caught: of each class, those not approved. What could not be read is neither a catch nor an approval: it counts
    against the judge on both sides.
    """

    judge: str
    caught: Mapping[str, Rate]
    false_alarms: Rate
    approved: Mapping[str, Rate]
    unread: Rate
    verdicts: Mapping[str, bool | None]

    @property
    def approvals(self) -> dict[str, bool]:
        """By the case's name, whether the judge let it pass."""
        return {name: verdict is True for name, verdict in self.verdicts.items()}

    def failings(self, thresholds: Thresholds) -> list[str]:
        """Why the judge does not pass, in sentences; nothing where it does."""
        found = []
        for kind, rate in self.caught.items():
            if rate.n < thresholds.least:
                found.append(f"only {rate.n} cases of {kind}, and {thresholds.least} are the least")
            elif rate.k < thresholds.catch * rate.n:
                found.append(f"caught {rate.k} of {rate.n} of {kind}, below {thresholds.catch:.0%}")
        if self.false_alarms.n < thresholds.least:
            found.append(f"only {self.false_alarms.n} clean cases, and {thresholds.least} are the least")
        elif self.false_alarms.k > thresholds.false_alarm * self.false_alarms.n:
            rejected = f"rejected {self.false_alarms.k} of {self.false_alarms.n} clean items"
            found.append(f"{rejected}, above {thresholds.false_alarm:.0%}")
        return found


def calibration(judge: str, cases: Sequence[Case], verdicts: Mapping[str, bool | None]) -> Calibration:
    """Count a judge's verdicts, each by the name of its case. Raises KeyError where one is missing."""
    said = {case.name: verdicts[case.name] for case in cases}
    by_kind = {kind: [said[case.name] for case in cases if case.kind == kind] for kind in (CLEAN, *CLASSES)}
    approved = {kind: _rate(found, True) for kind, found in by_kind.items()}
    clean = by_kind[CLEAN]
    return Calibration(
        judge=judge,
        caught={kind: _rate(by_kind[kind], False) for kind in CLASSES},
        false_alarms=Rate(sum(verdict is not True for verdict in clean), len(clean)),
        approved={**approved, "all": _rate(said.values(), True)},
        unread=_rate(said.values(), None),
        verdicts=said,
    )


def _rate(verdicts: Iterable[bool | None], what: bool | None) -> Rate:
    found = list(verdicts)
    return Rate(sum(verdict is what for verdict in found), len(found))


def as_dict(found: Calibration, thresholds: Thresholds) -> dict[str, Any]:
    """The calibration as it is stored: numbers for people, and every verdict, so that nothing need be asked again."""
    failings = found.failings(thresholds)
    return {
        "format": FORMAT,
        "judge": found.judge,
        "passed": not failings,
        "failings": failings,
        "thresholds": {
            "catch": thresholds.catch,
            "false_alarm": thresholds.false_alarm,
            "least": thresholds.least,
        },
        "caught": {kind: rate_dict(rate) for kind, rate in found.caught.items()},
        "false_alarms": rate_dict(found.false_alarms),
        "approved": {kind: rate_dict(rate) for kind, rate in found.approved.items()},
        "unread": rate_dict(found.unread),
        "verdicts": dict(sorted(found.verdicts.items())),
    }


def from_dict(stored: Mapping[str, Any]) -> tuple[Calibration, Thresholds]:
    """A stored calibration again. Raises KeyError or TypeError where it is none."""

    def rate(value: Mapping[str, Any]) -> Rate:
        return Rate(value["k"], value["n"])

    def rates(values: Mapping[str, Mapping[str, Any]]) -> dict[str, Rate]:
        return {kind: rate(value) for kind, value in values.items()}

    found = Calibration(
        judge=stored["judge"],
        caught=rates(stored["caught"]),
        false_alarms=rate(stored["false_alarms"]),
        approved=rates(stored["approved"]),
        unread=rate(stored["unread"]),
        verdicts=stored["verdicts"],
    )
    return found, Thresholds(**stored["thresholds"])


def rate_dict(rate: Rate) -> dict[str, Any]:
    """A rate as JSON-able data, with its interval."""
    return {"k": rate.k, "n": rate.n, "share": rate.share, "interval": [rate.interval.low, rate.interval.high]}
