"""The budget study on a model that dithers: some answers need long, some loop, some never decide."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from twlocal.study.budget import Answer, Budget, pair, shorter


def _kinds(bench: Path) -> dict[str, int]:
    """What the scripted model will do with each question, told by its own rules."""
    from twlocal_scripted_effects import Effects

    from twlocal.backend import Decoding

    model = Effects(Decoding(), {"answers": str(bench)})
    questions = [json.loads(line)["question"] for line in bench.read_text(encoding="utf-8").splitlines()]
    kinds = [int(10 * model.chance(one, "kind")) for one in questions]
    needed = [model.needed(one) + len("\\boxed{A}") for one, kind in zip(questions, kinds, strict=True) if kind > 1]
    return {
        "loops": kinds.count(0),
        "circles": kinds.count(1),
        "within 400": sum(one <= 400 for one in needed),
        "within 800": sum(one <= 800 for one in needed),
    }


def test_a_larger_budget_rescues_what_only_needed_time(call: Any, ask: Any, write_bench: Any) -> None:
    bench = write_bench()
    kinds = _kinds(bench)
    small = ask(bench, "dithers", "--max-tokens", "400")
    large = ask(bench, "dithers", "--max-tokens", "800")
    found = call("study", "budget", "--run", large, "--run", small, "--json").json
    one, other = found["runs"]
    assert (one["cap"], other["cap"]) == (400, 800)
    assert (one["right"], other["right"]) == (kinds["within 400"], kinds["within 800"])
    assert (one["unread"], other["unread"]) == (120 - kinds["within 400"], 120 - kinds["within 800"])
    # All that was cut ran to the budget; exactly the planted loops are loops, and the circling ones are not.
    for run in (one, other):
        assert run["capped"] == run["ran_to_cap"] == run["unread"]
        assert run["loops_at_cap"] == kinds["loops"] > 3
    assert kinds["circles"] > 3
    (both,) = found["pairs"]
    rescued = kinds["within 800"] - kinds["within 400"]
    for name in ("right", "read"):
        assert (both[name]["churn"]["gained"], both[name]["churn"]["lost"]) == (rescued, 0)
    assert both["begin_alike"] == 120
    assert both["cost"]["tokens"] == pytest.approx(other["tokens"] / one["tokens"])
    assert both["cost"]["seconds of answers"] == pytest.approx(both["cost"]["tokens"], rel=1e-3)
    assert found["warnings"] == []
    text = call("study", "budget", "--run", small, "--run", large).out
    assert "degenerate loops" in text
    assert "times the tokens" in text


def test_the_smaller_budget_is_read_from_the_larger_run(call: Any, ask: Any, write_bench: Any) -> None:
    """What the larger run says of 400 tokens, and a real run at 400 tokens, agree: this model boxes at the end."""
    bench = write_bench()
    large = ask(bench, "dithers", "--max-tokens", "800")
    small = ask(bench, "dithers", "--max-tokens", "400")
    (read,) = call("study", "budget", "--run", large, "--cap", "400", "--json").json["read_from_the_larger_run"]
    real = call("report", small, "--json").json["score"]
    assert read["right"][0] == real["correct"] < read["right"][1]
    assert read["within"] == real["n"] - real["truncated"]
    assert read["over"] == real["truncated"]
    assert not read["exact"]
    assert "is not available" in " ".join(call("study", "budget", "--run", large, "--cap", "400").out.split())
    done = call("study", "budget", "--run", large, "--cap", "800")
    assert (done.code, "below the run's own 800" in done.error) == (2, True)


def test_where_tokens_are_told_the_smaller_budget_is_read_exactly(call: Any, ask: Any, write_bench: Any) -> None:
    """All of what the study says of 400 tokens, once read from 800 and once really asked: the same."""
    bench = write_bench()
    # Half of the answers come before the box is asked for: a cut in the middle of a text that names a letter.
    large = ask(bench, "dithers", "--max-tokens", "800", skill=0.7, sizes=1)
    small = ask(bench, "dithers", "--max-tokens", "400", skill=0.7, sizes=1)
    read = call("study", "budget", "--run", large, "--cap", "400", "--json").json
    real = call("study", "budget", "--run", small, "--run", large, "--json").json
    (told,) = read["read_from_the_larger_run"]
    assert told["exact"] and told["right"][0] == told["right"][1] == real["runs"][0]["right"]
    one, other = ({**run, "seconds": 0, "latency": 0} for run in (read["runs"][0], real["runs"][0]))
    assert one | {"run": small, "read_from_larger": False} == other
    assert (read["runs"][0]["read_from_larger"], read["runs"][0]["latency"]) == (True, None)
    (pair_read,), (pair_real,) = read["pairs"], real["pairs"]
    for name in ("right", "read", "begin_alike", "n"):
        assert pair_read[name] == pair_real[name]
    assert pair_read["cost"]["tokens"] == pair_real["cost"]["tokens"]
    assert read["warnings"] == []
    text = call("study", "budget", "--run", large, "--cap", "400").out
    assert "400 (read)" in text and "is not available" not in text and "begin alike" not in text


def test_every_cut_is_what_a_run_with_that_budget_gives(call: Any, ask: Any, write_bench: Any) -> None:
    """Also where a letter stands early and another one in the box: what is cut is read anew, not counted as unread."""
    bench = write_bench(sizes={"民法": 20})
    whole = ask(bench, "rambles", skill=0.5, share=0.5, sizes=1)
    for cap in (3, 6, 13, 14):
        real = ask(bench, "rambles", "--max-tokens", str(cap), skill=0.5, share=0.5, sizes=1)
        (told,) = call("study", "budget", "--run", whole, "--cap", str(cap), "--json").json["read_from_the_larger_run"]
        score = call("report", real, "--json").json["score"]
        assert told["exact"] and told["right"] == [score["correct"]] * 2
        assert told["over"] == score["truncated"]


def test_a_model_is_asked_once_where_its_engine_repeats_itself(call: Any, write_bench: Any, model_file: Any) -> None:
    bench = write_bench(sizes={"民法": 12})
    words = ("study", "budget", model_file, "--caps", "100,400,800", "--bench", bench, "--backend", "scripted_effects")
    words += ("--set", "effect=dithers", "--set", f"answers={bench}", "-q", "--json")
    read = call(*words, "--set", "sizes=1")
    assert read.code == 0, read.error
    assert [run["cap"] for run in read.json["runs"]] == [100, 400, 800]
    assert len(call("runs", "--json").json) == 1
    again = call(*read.json["commands"][-1].split()[1:], "--json")
    assert again.json == read.json
    # Asked under each: the same, and its time is known.
    asked = call(*words, "--set", "sizes=1", "--ask-each")
    assert len(call("runs", "--json").json) == 3
    assert [run["right"] for run in asked.json["runs"]] == [run["right"] for run in read.json["runs"]]
    assert all(run["latency"] is not None for run in asked.json["runs"])
    silent = call(*words, "--ask-each")
    assert len(call("runs", "--json").json) == 3 and silent.json["runs"] == asked.json["runs"]


def test_what_is_read_from_an_engine_without_a_promise_says_so(call: Any, ask: Any, write_bench: Any) -> None:
    large = ask(write_bench(sizes={"民法": 12}), "dithers", "--max-tokens", "800")
    found = call("study", "budget", "--run", large, "--cap", "400", "--json").json
    assert any("does not promise" in line for line in found["warnings"])


def test_it_asks_the_model_itself(call: Any, write_bench: Any, model_file: Any) -> None:
    bench = write_bench(sizes={"民法": 12})
    words = ("--backend", "scripted_effects", "--set", "effect=dithers", "--set", f"answers={bench}", "-q")
    done = call("study", "budget", model_file, "--caps", "400,800", "--bench", bench, *words, "--json")
    assert done.code == 0, done.error
    assert [run["cap"] for run in done.json["runs"]] == [400, 800]
    for caps in ("400", "400,many", ""):
        assert "--caps takes two or more" in call("study", "budget", model_file, "--caps", caps).error


def test_more_than_the_budget_is_told(call: Any, ask: Any, write_bench: Any) -> None:
    bench = write_bench(sizes={"民法": 12})
    small = ask(bench, "dithers", "--max-tokens", "400")
    large = ask(bench, "dithers", "--max-tokens", "800", "--protocol", "box-defective")
    found = call("study", "budget", "--run", small, "--run", large, "--json").json
    assert any("system prompt sha256" in line for line in found["warnings"])
    twice = call("study", "budget", "--run", small, "--run", ask(bench, "box", "--max-tokens", "400"))
    assert "budgets of 400 and 400 tokens" in twice.error


def _run(cap: int, rows: list[Answer]) -> Budget:
    return Budget(f"r{cap}", "m", cap, {(str(at), "", 0): one for at, one in enumerate(rows)})


def test_cut_early_is_not_run_to_the_budget_and_unknown_tokens_stay_unknown() -> None:
    early = Answer(right=False, read=False, capped=True, loop=False, tokens=50, start=1)
    late = Answer(right=False, read=False, capped=True, loop=True, tokens=100, start=1)
    silent = Answer(right=True, read=True, capped=False, loop=False, tokens=None, start=1)
    run = _run(100, [early, late, silent])
    assert (run.count("capped"), run.ran_to_cap, run.looping, run.tokens) == (2, 1, 1, None)
    found = shorter(run, 60)
    assert (found.within, found.over, found.unknown, found.low, found.high) == (1, 2, 1, 0, 1)


def test_churn_goes_both_ways() -> None:
    """The paper's counts (section 5.3): 130 rescued, 103 newly lost, and no difference that a test could see."""
    yes = Answer(right=True, read=True, capped=False, loop=False, tokens=9, start=1)
    no = Answer(right=False, read=False, capped=True, loop=False, tokens=90, start=1)
    small = _run(100, [no] * 130 + [yes] * 103 + [yes] * 1_200)
    large = _run(200, [yes] * 130 + [no] * 103 + [yes] * 1_200)
    found = pair(small, large)
    assert (found.read.churn.gained, found.read.churn.lost) == (130, 103)
    assert found.read.p > 0.05
    assert found.read.interval.low < 0 < found.read.interval.high
    with pytest.raises(ValueError, match="budgets of 200 and 100"):
        pair(large, small)
