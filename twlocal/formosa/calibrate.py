"""What a judge is worth: what it catches of planted defects, and how often it rejects what is good. Pure.

Section 5.4 of the paper: "a judge is only as meaningful as the planted-defect study behind it".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from twlocal.formosa.plant import CLASSES, CLEAN, MALFORMED, UNGROUNDED, WRONG_KEY, Case
from twlocal.html.words import Text, t
from twlocal.stats import Interval, wilson

# What was shown, in words.
KINDS = {
    CLEAN: t("無瑕疵", "clean"),
    WRONG_KEY: t("答案標錯", "wrong key"),
    UNGROUNDED: t("事實無依據", "ungrounded fact"),
    MALFORMED: t("選項不成立", "malformed options"),
}
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

    def failings(self, thresholds: Thresholds) -> list[Text]:
        """Why the judge does not pass, in words; nothing where it does."""
        few = t("「{kind}」只有 {n} 題，至少要 {least} 題", "only {n} cases of {kind}, and {least} are the least")
        missed = t("「{kind}」{n} 題中抓到 {k} 題，未達 {limit:.0%}", "caught {k} of {n} of {kind}, below {limit:.0%}")
        rejected = t(
            "{n} 題無瑕疵的題目退了 {k} 題，超過 {limit:.0%}", "rejected {k} of {n} clean items, above {limit:.0%}"
        )
        found = []
        for kind, rate in self.caught.items():
            if rate.n < thresholds.least:
                found.append(few.format(kind=KINDS[kind], n=rate.n, least=thresholds.least))
            elif rate.k < thresholds.catch * rate.n:
                found.append(missed.format(kind=KINDS[kind], n=rate.n, k=rate.k, limit=thresholds.catch))
        alarms = self.false_alarms
        if alarms.n < thresholds.least:
            found.append(few.format(kind=KINDS[CLEAN], n=alarms.n, least=thresholds.least))
        elif alarms.k > thresholds.false_alarm * alarms.n:
            found.append(rejected.format(n=alarms.n, k=alarms.k, limit=thresholds.false_alarm))
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
        "failings": [one.en for one in failings],
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
