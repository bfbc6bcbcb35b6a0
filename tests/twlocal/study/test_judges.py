"""The study of judges from their calibrations alone: approval distributions, and the panel that is one judge."""

from __future__ import annotations

import random

import pytest

from twlocal.formosa.calibrate import Calibration, Thresholds, calibration
from twlocal.formosa.plant import CLASSES, CLEAN, Case
from twlocal.item import Item
from twlocal.study.judges import report
from twlocal.study.report import as_dict, render


def cases(count: int) -> list[Case]:
    kinds = (CLEAN, *CLASSES)
    return [
        Case(kind, "", f"{at}", Item(f"題{at}{kind}", ("甲", "乙", "丙", "丁"), "A"), "文")
        for at in range(count)
        for kind in kinds
    ]


def judged(name: str, shown: list[Case], rate: float, seed: int) -> Calibration:
    """A judge that approves at a rate, whatever it is shown."""
    rng = random.Random(seed)
    return calibration(name, shown, {case.name: rng.random() < rate for case in shown})


def test_the_papers_three_judges() -> None:
    """Section 5.4: 99%, 92% and 36% of everything approved; "three judges agree" was "one judge decides"."""
    shown = cases(250)
    rates = {"first": 0.99, "second": 0.92, "third": 0.36}
    three = [(judged(name, shown, rate, at), Thresholds()) for at, (name, rate) in enumerate(rates.items())]
    found = report(three, "港", commands=["twlocal study judges"])
    data = as_dict(found)
    for one, rate in zip(data["judges"], rates.values(), strict=True):
        low, high = one["approved"]["all"]["interval"]
        assert low < rate < high and not one["passed"]
    assert data["panel"]["decided_by"] == "third"
    assert len(found.warnings) == 2 and data["warnings"][0].startswith("first approved")
    # Independent judges: no agreement beyond chance, for all that the first two agree on nine of ten.
    first = next(one for one in data["agreements"] if one["judges"] == ["first", "second"])
    assert first["agreement"] > 0.88 and abs(first["kappa"]) < 0.1
    for lang, said in (("en", "the word of third alone is the panel's"), ("zh-TW", "單憑 third 一個的意見")):
        assert said in " ".join(render(found, 120, lang=lang).split())
    named = as_dict(report(three, "港", members=["first", "second"]))
    assert named["panel"]["decided_by"] == "second" and len(named["judges"]) == 3


def test_one_judge_is_no_panel_and_none_is_no_study() -> None:
    shown = cases(12)
    alone = calibration("alone", shown, {case.name: case.kind == CLEAN for case in shown})
    found = report([(alone, Thresholds())], "港")
    assert found.data["panel"] is None and found.data["agreements"] == [] and found.warnings == []
    assert "alone passes" in render(found, 120)
    with pytest.raises(ValueError, match="no calibrated judge"):
        report([], "港")
    # Judges that were shown different items stand side by side, and form no panel unless that is asked for.
    other = judged("other", cases(24)[48:], 1.0, 1)
    pair = [(alone, Thresholds()), (other, Thresholds())]
    assert report(pair, "港").data["panel"] is None
    with pytest.raises(ValueError, match="nothing in common"):
        report(pair, "港", members=["alone", "other"])
