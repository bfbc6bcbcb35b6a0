"""The noise of answer keys as a parameter."""

from __future__ import annotations

from typing import Any

import pytest

from twlocal.study.noise import Floor, by_subject, parse


def test_what_a_floor_means_for_n_items() -> None:
    floor = Floor(27, 31_312)
    assert floor.interval.low < floor.share < floor.interval.high
    # 253,674 items: 218.7 disputed keys are expected, and 243 or fewer in 95 of 100 sets.
    assert 240 <= floor.disputed(253_674) <= 246
    assert floor.smallest_difference(253_674) == pytest.approx(244 / 253_674, rel=0.02)
    # Few items: probably not one disputed key, but were there one, it would weigh 1%.
    assert floor.disputed(40) == 0
    assert floor.smallest_difference(40) == 1 / 40
    assert floor.any_disputed(1_000) == pytest.approx(1 - (1 - 27 / 31_312) ** 1_000)
    assert [one.subject for one in by_subject(floor, {"b": 500, "a": 20})] == ["a", "b"]


def test_no_difference_is_larger_than_all_of_it() -> None:
    assert Floor(1, 1).smallest_difference(2) == 1 and Floor(1, 2).smallest_difference(1) == 1


def test_below() -> None:
    floor = Floor(1, 10)
    assert floor.below(0.1)
    assert floor.below(-0.05)
    assert not floor.below(0.11)
    assert not floor.below(0)


@pytest.mark.parametrize("text", ["27", "27/", "x/9", "9/3", "-1/3", "1/0", "1.5/3"])
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="CONFLICTS/GROUPS"):
        parse(text)
    assert parse("27/31,312") == Floor(27, 31_312)


def test_the_study_names_neighbours_that_are_too_close(call: Any, ask: Any, write_bench: Any) -> None:
    bench = write_bench()
    names = [ask(bench, "box", model=f"m{at}", skill=skill) for at, skill in enumerate((0.3, 0.6, 0.63))]
    found = call("study", "noise", *names, "--key-noise", "8/100", "--json").json
    ((first, second, gap),) = found["too_close"]
    assert {first, second} == set(names[1:])
    assert 0 < gap <= 0.08
    assert found["items"] == 120
    assert found["disputed"] == Floor(8, 100).disputed(120)
    assert "Neighbours closer" in call("study", "noise", *names, "--key-noise", "8/100").out
    unknown = call("study", "noise", *names)
    assert unknown.code == 2
    assert "--key-noise" in unknown.error


def test_a_name_that_is_nothing_here(call: Any, tmp_path: Any) -> None:
    done = call("study", "noise", "qestions.csv", "--db", tmp_path / "none.db")
    assert done.code == 2 and "qestions.csv is no dataset here" in done.error


def test_a_datasets_own_reprintings_give_the_noise(call: Any, write_bench: Any, tmp_path: Any) -> None:
    import json

    bench = write_bench(sizes={"民法": 8})
    rows = [json.loads(line) for line in bench.read_text(encoding="utf-8").splitlines()]
    again = [{**row, "id": f"again{row['id']}"} for row in rows[:4]]
    again[0]["answer"] = "D" if again[0]["answer"] != "D" else "A"  # a key that disagrees
    twice = tmp_path / "twice.jsonl"
    twice.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows + again), encoding="utf-8")
    found = call("study", "noise", twice, "--json").json
    assert (found["conflicts"], found["groups"], found["items"]) == (1, 4, 12)
    assert call("study", "noise", bench, "--key-noise", "27/31312", "--json").json["groups"] == 31_312
    none = call("study", "noise", bench)
    assert none.code == 2 and "printed twice" in none.error and "--key-noise" in none.error
