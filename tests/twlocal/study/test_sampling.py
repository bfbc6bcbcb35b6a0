"""Samples: arithmetic, simulation against the formula, and the study from a stored run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from twlocal.study import sampling
from twlocal.study.sampling import Stratum

STRATA = [Stratum("醫學", 900, 810), Stratum("法律", 60, 24), Stratum("行政", 40, 20)]


def test_composition_and_reweighting_by_hand() -> None:
    assert sampling.population(STRATA) == 0.854
    drawn = sampling.composition(STRATA, 50)
    assert drawn == {"醫學": 50, "法律": 50, "行政": 40}
    assert sampling.reweighted(STRATA, drawn) == pytest.approx((0.9 * 50 + 0.4 * 50 + 0.5 * 40) / 140)
    whole = {one.subject: one.n for one in STRATA}
    assert sampling.reweighted(STRATA, whole) == pytest.approx(sampling.population(STRATA))
    with pytest.raises(ValueError, match="lacks: 會計"):
        sampling.reweighted(STRATA, {"會計": 3})
    with pytest.raises(ValueError, match="empty"):
        sampling.reweighted(STRATA, {})


def test_the_simulation_agrees_with_the_formula() -> None:
    drawn = sampling.composition(STRATA, 50)
    errors = sampling.simulate(STRATA, drawn, seed=1, draws=20_000)
    for span, half in (
        (errors.chance, sampling.half_width(STRATA, drawn)),
        (errors.restored, sampling.half_width(STRATA, drawn, restored=True)),
    ):
        assert span.low == pytest.approx(-half, abs=0.012)
        assert span.high == pytest.approx(half, abs=0.012)
    # Composition pulls the plain sample far below the whole; chance does not reach back.
    assert errors.population.high < 0
    with pytest.raises(ValueError, match="行政 has 40 rows, and 41"):
        sampling.simulate(STRATA, {"行政": 41}, seed=1)


def test_a_sample_of_everything_has_no_error() -> None:
    drawn = sampling.composition(STRATA, 900)
    errors = sampling.simulate(STRATA, drawn, seed=1, draws=100)
    assert (errors.population.low, errors.population.high) == pytest.approx((0, 0), abs=1e-12)
    assert sampling.half_width(STRATA, drawn) == 0


@pytest.mark.parametrize("restored", [False, True])
@pytest.mark.parametrize("wanted", [0.05, 0.02, 0.005])
def test_smallest_k_is_the_smallest(wanted: float, restored: bool) -> None:
    k = sampling.smallest_k(STRATA, wanted, restored=restored)
    assert sampling.half_width(STRATA, sampling.composition(STRATA, k), restored=restored) <= wanted
    before = sampling.half_width(STRATA, sampling.composition(STRATA, k - 1), restored=restored)
    assert before > wanted


def test_the_hash_decides_what_is_drawn() -> None:
    rows = [("c", "民法", True), ("a", "民法", False), ("b", "民法", True), ("z", "刑法", True)]
    assert sampling.by_hash(rows, 2) == {"民法": (2, 1), "刑法": (1, 1)}


def test_a_stored_full_run(call: Any, ask: Any, write_bench: Any) -> None:
    bench = write_bench(sizes={"醫學": 200, "法律": 30, "行政": 30})
    full = ask(bench, "box", skill=0.7)
    found = call("study", "sample", full, "--k", "30", "--error", "5", "--json").json
    subjects = {row["subject"]: row for row in call("report", full, "--json").json["subjects"]}
    assert found["whole"] == pytest.approx(sum(row["correct"] for row in subjects.values()) / 260)
    assert found["composition_weighted"] == pytest.approx(sum(row["accuracy"] for row in subjects.values()) / 3)
    # The same rows as `twlocal run --sample 30` asks, read from the stored full run.
    part = ask(bench, "box", "--sample", "30", skill=0.7)
    scored = call("report", part, "--json").json["score"]
    assert (
        (found["measured"]["n"], found["measured"]["right"])
        == (scored["n"], scored["correct"])
        == (90, scored["correct"])
    )
    like = call("study", "sample", full, "--like", part, "--json").json
    assert like["composition_weighted"] == found["composition_weighted"]
    text = call("study", "sample", full, "--k", "30").out
    assert "comes from composition alone" in " ".join(text.split())
    assert f"twlocal study sample {full} --k 30" in text


def test_a_table_of_subjects(call: Any, tmp_path: Path) -> None:
    lines = ["subject,n,right,drawn", "醫學,900,810,50", "法律,60,24,50", "行政,40,20,40"]
    (tmp_path / "subjects.csv").write_text("\n".join(lines), encoding="utf-8")
    found = call("study", "sample", "--table", "subjects.csv", "--json").json
    assert found["whole"] == 0.854
    assert found["composition_weighted"] == pytest.approx(85 / 140)
    (tmp_path / "bad.csv").write_text("subject,n,right\n醫學,9,10\n", encoding="utf-8")
    done = call("study", "sample", "--table", "bad.csv")
    assert (done.code, "bad.csv, row 1" in done.error) == (2, True)
    assert call("study", "sample").code == 2


def test_a_model_that_is_weak_in_the_small_subjects_loses_by_the_sample(call: Any, ask: Any, write_bench: Any) -> None:
    """Section 6.1's effect: equal weights move the score towards the subjects in which the model is weak."""
    bench = write_bench(sizes={"醫學": 300, "法律實務": 40, "法律總論": 40})
    weak = call("study", "sample", ask(bench, "box", skill=0.9, weak="法律"), "--k", "40", "--json").json
    even = call("study", "sample", ask(bench, "box", skill=0.9), "--k", "40", "--json").json
    assert weak["shift"] < -0.1 < -0.03 < even["shift"] < 0.03
    # Composition explains all of it: chance alone reaches neither the whole's score, nor further than it should.
    assert weak["errors"]["population"][1] < 0
    low, high = weak["errors"]["restored"]
    assert low < 0 < high
    assert abs(weak["measured"]["accuracy"] - weak["composition_weighted"]) < 0.1
