"""How long a band of scores describes the field."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from twlocal.study.halflife import Dated, count, halflife


def test_a_band_over_time_by_hand() -> None:
    models = [
        Dated("pool", 0.50, date(2026, 8, 1)),
        Dated("a", 0.469, date(2026, 8, 24)),
        Dated("b", 0.60, date(2026, 9, 1)),
        Dated("c", 0.80, date(2026, 9, 20)),
        Dated("d", 0.90, date(2026, 10, 1)),
        Dated("e", 0.91, date(2026, 10, 5)),
        Dated("?", 0.10),
    ]
    found = halflife(models, 0.469, 0.746, date(2026, 8, 24))
    assert (found.total.n, found.total.within, found.total.above, found.total.below) == (7, 3, 3, 1)
    assert [(one.n, one.within) for one in found.over_time] == [(1, 1), (2, 2), (3, 2), (4, 2), (5, 2)]
    assert found.cleared == date(2026, 9, 20)
    assert found.minority == date(2026, 10, 5)
    assert found.median_left == date(2026, 10, 5)
    assert found.undated == 1
    with pytest.raises(ValueError, match="makes no sense"):
        halflife(models, 0.7, 0.4)
    with pytest.raises(ValueError, match="no score"):
        count([], 0.1, 0.2)


def test_the_papers_field(call: Any, tmp_path: Path) -> None:
    """Section 6.3: 108 models, 29 within 46.9-74.6%, 22 above, 8 of them above 85%, median 45.4%, best 91.6%."""
    below = [0.0, *(10 + 0.5 * at for at in range(52)), 45.3, 45.5, 45.6, 45.7]
    within = [46.9, *(47 + 0.9 * at for at in range(27)), 74.6]
    above = [*(75 + 0.7 * at for at in range(14)), *(86 + 0.5 * at for at in range(7)), 91.6]
    scores = [*below, *within, *above]
    assert len(scores) == 108
    lines = ["model,formosa,date", *(f"m{at},{score:.1f},2026-10-14" for at, score in enumerate(scores))]
    (tmp_path / "board.csv").write_text("\n".join(lines), encoding="utf-8")
    found = call("study", "halflife", "board.csv", "--since", "2026-08-24", "--json").json
    total = found["total"]
    assert (total["n"], total["within"], total["above"], total["below"]) == (108, 29, 22, 57)
    assert (round(100 * total["median"], 1), total["best"]) == (45.4, 0.916)
    low, high = total["within_interval"]
    assert low < 29 / 108 < high
    assert found["minority"] == found["cleared"] == "2026-10-14"
    text = call("study", "halflife", "board.csv", "--since", "2026-08-24").out
    assert "51 days after it was frozen" in text
    assert "--band 46.9-74.6 --since 2026-08-24" in text


def test_without_days_and_wrong_calls(call: Any, tmp_path: Path) -> None:
    (tmp_path / "board.csv").write_text("model,formosa\na,50\nb,80\n", encoding="utf-8")
    assert "nothing to follow over time" in call("study", "halflife", "board.csv").out
    assert "not '50'" in call("study", "halflife", "board.csv", "--band", "50").error
    assert "not 'later'" in call("study", "halflife", "board.csv", "--since", "later").error
    done = call("study", "halflife", "board.csv", "--reader", "lenient")
    assert (done.code, "formosa_lenient" in done.error) == (2, True)


def test_a_field_that_was_really_asked(call: Any, ask: Any, write_bench: Any) -> None:
    """Models of known skill on one day: counted in, above and below from the database, imported or not."""
    bench = write_bench()
    for at, skill in enumerate((0.1, 0.5, 0.55, 0.95, 1.0)):
        ask(bench, "box", model=f"m{at}", skill=skill)
    runs = call("runs", "--json").json
    today = runs[0]["created_at"][:10]
    words = ("study", "halflife", "--bench", runs[0]["bench"], "--band", "35-75", "--since", today, "--json")
    found = call(*words).json
    assert [found["total"][name] for name in ("n", "within", "above", "below")] == [5, 2, 2, 1]
    assert found["cleared"] == found["minority"] == today
    assert found["median_left"] is None
