"""Two benchmarks over many models."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from twlocal.study.axes import Model, axes


def board(tuned: int = 7, others: int = 60) -> list[Model]:
    """A field in the same order on both axes, but for tuned models that stand three places higher on the second."""
    models = [Model(f"general-{at:03}", at / 100, at / 100) for at in range(1, others + 1)]
    step = others // tuned
    models += [
        Model(f"twinkle-{at}", at * step / 100 - 0.005, at * step / 100 + 0.0251, "Taiwan-tuned")
        for at in range(1, tuned + 1)
    ]
    return models


def test_ranks_by_hand() -> None:
    models = [Model("a", 0.9, 0.5), Model("b", 0.8, 0.6), Model("c", 0.7, 0.7), Model("d", 0.1, 0.1, "x")]
    found = axes(models, "box", resamples=200)
    assert found.gains == {"a": -2, "b": 0, "c": 2, "d": 0}
    assert found.agreement[0].rho == pytest.approx(1 - 6 * (4 + 4) / (4 * 15))
    assert found.shift == pytest.approx(-0.1)
    assert {one.family: (one.n, one.mean) for one in found.families} == {"x": (1, 0), "the rest": (3, 0)}
    # Equal scores share their places.
    tied = axes(
        [Model("a", 0.5, 0.9), Model("b", 0.5, 0.8), Model("c", 0.4, 0.7), Model("d", 0.3, 0.6)], "box", resamples=200
    )
    assert (tied.gains["a"], tied.gains["b"]) == (0.5, -0.5)


def test_a_family_that_gains_places_is_found_and_a_random_one_is_not() -> None:
    found = axes(board(), "box", seed=1, resamples=2_000)
    tuned, rest = found.families
    assert (tuned.family, tuned.n, rest.n) == ("Taiwan-tuned", 7, 60)
    assert tuned.mean == pytest.approx(3, abs=0.6)
    assert tuned.p is not None and tuned.p < 0.001
    assert rest.mean < 0
    plain = [Model(one.name, one.first, one.first, one.family) for one in board()]
    assert axes(plain, "box", resamples=500).families[0].p == 1.0


def test_restricting_the_range_lowers_agreement_and_few_models_have_none() -> None:
    import random

    rng = random.Random(2)
    models = [Model(f"m{at}", at / 100, min(1, max(0, at / 100 + rng.gauss(0, 0.06)))) for at in range(1, 98)]
    whole, top, high = axes(models, "box", resamples=500).agreement
    assert (whole.n, top.n, high.n) == (97, 20, 17)
    assert whole.rho is not None and top.rho is not None and high.rho is not None
    assert whole.rho > 0.95 > top.rho
    assert whole.interval is not None and whole.interval.low < whole.rho < whole.interval.high
    few = axes(models[:50], "box", resamples=200).agreement[2]
    assert (few.n, few.rho, few.interval) == (0, None, None)
    with pytest.raises(ValueError, match="at least 4 models"):
        axes(models[:3], "box")


def _write(path: Path, models: list[Model]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["model", "exam", "formosa", "exam_lenient", "formosa_lenient"])
        for one in models:
            # Under the strict reader the family's format hides what it gains.
            strict = one.first if one.family else one.second
            writer.writerow([one.name, *(f"{100 * score:.2f}" for score in (one.first, strict, one.first, one.second))])


def test_the_study_holds_extraction_fixed(call: Any, tmp_path: Path) -> None:
    """Section 6.4: the families' gain is partly hidden by format, and clear under the lenient reader."""
    _write(tmp_path / "board.csv", board())
    found = call("study", "axes", "board.csv", "--tuned", "TWINKLE", "--json").json
    box, lenient = found["readers"]
    assert (box["reader"], lenient["reader"]) == ("box", "lenient")
    assert abs(box["families"][0]["mean"]) < 1 < 2 < lenient["families"][0]["mean"]
    assert lenient["families"][0]["p"] < 0.01 < box["families"][0]["p"]
    assert found["warnings"] == []
    text = call("study", "axes", "board.csv", "--tuned", "twinkle").out
    assert "Spearman" in text
    assert "twlocal study axes board.csv --first exam --second formosa --tuned twinkle" in text


def test_scores_from_the_database(call: Any, ask: Any, write_bench: Any) -> None:
    one, other = write_bench("one"), write_bench("other", {"民法": 30})
    skills = (0.1, 0.35, 0.6, 0.85)
    for at, skill in enumerate(skills):
        ask(one, "box", model=f"m{at}", skill=skill)
        ask(other, "plain", model=f"m{at}", skill=skill, share=0.5)
    names = {run["bench"] for run in call("runs", "--json").json}
    first, second = sorted(names, key=lambda name: "other" in name)
    found = call("study", "axes", "--first", first, "--second", second, "--json").json
    assert [row["n"] for row in found["readers"]] == [4, 4]
    assert found["readers"][1]["agreement"][0]["rho"] == pytest.approx(1)
    assert found["readers"][0]["median_shift"] < found["readers"][1]["median_shift"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("model,exam\na,1\n", "no column 'formosa'"),
        ("model,exam,formosa\na,x,2\n", "board.csv, row 1, exam: 'x' is not a number"),
        ("model,exam,formosa\na,50,130\n", "row 1, formosa: '130' is no score"),
        ("model,exam,formosa\na,50,30\na,40,20\n", "a model twice: a"),
        ("model,exam,formosa\na,50\n", "line 2: this line has more or fewer cells"),
        ("model,exam,formosa\n", "holds no rows"),
        ("model,exam,formosa\na,50,-\n", "at least 4 models with both scores, and there are 0"),
        ("model,exam,formosa,date\na,50,30,soon\n", "'soon' is no date"),
    ],
)
def test_tables_that_cannot_be_taken(call: Any, tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "board.csv").write_text(text, encoding="utf-8")
    done = call("study", "axes", "board.csv")
    assert done.code == 2
    assert says in done.error


def test_a_json_table_and_an_unknown_family(call: Any, tmp_path: Path) -> None:
    rows = [{"model": f"m{at}", "exam": at / 10, "formosa": at / 10} for at in range(1, 9)]
    (tmp_path / "board.json").write_text(json.dumps(rows), encoding="utf-8")
    found = call("study", "axes", "board.json", "--json").json
    assert found["readers"][0]["agreement"][0]["rho"] == pytest.approx(1)
    assert any("no lenient scores" in line for line in found["warnings"])
    assert "no model's name contains 'TAIDE'" in call("study", "axes", "board.json", "--tuned", "TAIDE").error
