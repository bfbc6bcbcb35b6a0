"""What a judge caught, what it rejected wrongly, and whether that is enough."""

from __future__ import annotations

import json

import pytest

from twlocal.formosa.calibrate import Calibration, Thresholds, as_dict, calibration, from_dict
from twlocal.formosa.plant import CLASSES, CLEAN, MALFORMED, UNGROUNDED, WRONG_KEY, Case
from twlocal.item import Item
from twlocal.stats import wilson


def cases(count: int = 20) -> list[Case]:
    return [
        Case(kind, "", f"{at:064x}"[::-1], Item(f"題{at}", ("甲", "乙", "丙", "丁"), "A"), "文")
        for at in range(count)
        for kind in (CLEAN, *CLASSES)
    ]


def english(found: Calibration) -> list[str]:
    return [one.en for one in found.failings(Thresholds())]


def test_an_honest_judge_passes_with_its_intervals() -> None:
    shown = cases()
    found = calibration("honest", shown, {case.name: case.kind == CLEAN for case in shown})
    assert found.failings(Thresholds()) == []
    assert {kind: (rate.k, rate.n) for kind, rate in found.caught.items()} == dict.fromkeys(CLASSES, (20, 20))
    assert (found.false_alarms.k, found.unread.k) == (0, 0)
    assert (found.approved["all"].k, found.approved["all"].n) == (20, 80)
    assert found.caught[WRONG_KEY].interval == wilson(20, 20)
    stored = json.loads(json.dumps(as_dict(found, Thresholds())))
    assert stored["passed"] and stored["caught"][WRONG_KEY]["interval"][0] == pytest.approx(0.839, abs=1e-3)
    assert from_dict(stored) == (found, Thresholds())


def test_who_approves_all_or_rejects_all_fails_on_its_side() -> None:
    shown = cases()
    stamp = calibration("stamp", shown, {case.name: True for case in shown})
    assert len(stamp.failings(Thresholds())) == 3 and stamp.false_alarms.k == 0
    assert stamp.approved["all"].share == 1
    never = calibration("never", shown, {case.name: False for case in shown})
    assert english(never) == ["rejected 20 of 20 clean items, above 10%"]
    contrarian = calibration("contrarian", shown, {case.name: case.kind != CLEAN for case in shown})
    assert len(contrarian.failings(Thresholds())) == 4


def test_one_defect_that_slips_through_is_too_many_unless_told() -> None:
    shown = cases()
    missed = next(case.name for case in shown if case.kind == UNGROUNDED)
    verdicts: dict[str, bool | None] = {case.name: case.kind == CLEAN or case.name == missed for case in shown}
    found = calibration("judge", shown, verdicts)
    assert english(found) == ["caught 19 of 20 of ungrounded fact, below 100%"]
    assert found.failings(Thresholds(catch=0.95)) == []
    assert found.failings(Thresholds(catch=0.95, least=21))[0].en == "only 20 cases of wrong key, and 21 are the least"
    assert len(found.failings(Thresholds(catch=0.95, least=21))) == 4


def test_what_cannot_be_read_counts_against_the_judge_on_both_sides() -> None:
    shown = cases()
    unread = {case.name for case in shown if case.origin == shown[0].origin and case.kind in (CLEAN, MALFORMED)}
    verdicts = {case.name: None if case.name in unread else case.kind == CLEAN for case in shown}
    found = calibration("judge", shown, verdicts)
    assert (found.unread.k, found.caught[MALFORMED].k, found.false_alarms.k) == (2, 19, 1)
    assert found.approvals[next(iter(unread))] is False
    assert english(found) == ["caught 19 of 20 of malformed options, below 100%"]
    with pytest.raises(KeyError):
        calibration("judge", shown, {})


@pytest.mark.parametrize(("rejected", "passes"), [(2, True), (3, False)])
def test_false_alarms_have_a_limit(rejected: int, passes: bool) -> None:
    shown = cases()
    clean = [case.name for case in shown if case.kind == CLEAN]
    verdicts: dict[str, bool | None] = {case.name: case.name in clean[rejected:] for case in shown}
    assert (calibration("judge", shown, verdicts).failings(Thresholds()) == []) is passes
