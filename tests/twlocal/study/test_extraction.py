"""The same responses under every reader."""

from __future__ import annotations

from typing import Any

import pytest


def test_a_model_that_writes_no_box_is_unread_by_box_only(call: Any, ask: Any, write_bench: Any) -> None:
    bench = write_bench()
    name = ask(bench, "plain", skill=0.75, share=0.6)
    found = call("study", "extraction", name, "--json").json
    (run,) = found["runs"]
    box, lenient = run["readers"]["box"], run["readers"]["lenient"]
    plain = run["n"] - box["read"]
    assert 50 < plain < 95
    assert (lenient["read"], run["n"]) == (120, 120)
    assert run["readers"]["board_lenient"]["right"] == lenient["right"]
    moves = lenient["moves"]
    assert moves["unread>right"] + moves["unread>wrong"] == plain
    assert moves["unread>right"] == lenient["right"] - box["right"]
    assert moves["right>wrong"] == moves["wrong>right"] == moves["right>unread"] == 0
    assert lenient["against_box"]["churn"]["gained"] == moves["unread>right"]
    low, high = lenient["interval"]
    assert low < lenient["accuracy"] < high
    assert run["readers"]["twinkle_box"]["right"] == box["right"]

    text = call("study", "extraction", name).out
    assert "varied" in text
    assert f"twlocal study extraction {name}" in text


def test_readers_move_ranks(call: Any, ask: Any, write_bench: Any) -> None:
    """The regressive effect of section 5.1: who writes no box is read leniently, and passes who does."""
    bench = write_bench()
    compliant = ask(bench, "box", model="compliant", skill=0.6)
    careless = ask(bench, "plain", model="careless", skill=0.8, share=0.6)
    found = call("study", "extraction", compliant, careless, "--json").json
    assert found["ranks"]["box"] == [1, 2]
    assert found["ranks"]["lenient"] == [2, 1]
    assert found["reversals"] == found["reversals"] | {"box": 0, "lenient": 1, "board_strict": 0, "board_lenient": 1}
    text = call("study", "extraction", compliant, careless).out
    assert "1 (+1)" in text
    assert "2 (-1)" in text


def test_other_questions_a_missing_reader_and_names(call: Any, ask: Any, write_bench: Any) -> None:
    bench = write_bench()
    whole, part = ask(bench, "box"), ask(bench, "box", "--limit", "30")
    found = call("study", "extraction", whole, part, "--json").json
    assert any("same questions" in line for line in found["warnings"])
    try:
        import twinkle_eval  # noqa: F401
    except ImportError:
        assert "twlocal[twinkle]" in found["not_available"]["twinkle_pattern"]
    else:
        assert found["runs"][0]["readers"]["twinkle_pattern"]["read"] == 120
    assert "named twice" in call("study", "extraction", whole, whole).error
    assert call("study", "extraction", "nobody").code == 2


def test_only_first_askings_count(call: Any, ask: Any, write_bench: Any) -> None:
    name = ask(write_bench(sizes={"民法": 20}), "box", "--repeats", "3")
    assert call("study", "extraction", name, "--json").json["runs"][0]["n"] == 20


@pytest.mark.parametrize("effect", ["rambles"])
def test_a_rambling_model_is_read_by_its_statement(call: Any, ask: Any, write_bench: Any, effect: str) -> None:
    name = ask(write_bench(), effect, skill=1, share=1)
    readers = call("study", "extraction", name, "--json").json["runs"][0]["readers"]
    assert (readers["box"]["accuracy"], readers["lenient"]["accuracy"]) == (0, 1)


def test_the_pattern_strategy_with_its_own_apparatus(
    call: Any, ask: Any, write_bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Section 5.1: without a system prompt the model rambles, and the matcher takes a letter that is no option."""
    from twlocal.readers import compat

    def first_capital(text: str) -> str | None:
        return next((char for char in text if "A" <= char <= "Z"), None)

    monkeypatch.setattr(compat, "_pattern_extractor", lambda: first_capital)
    name = ask(write_bench(), "obeys", skill=0.9)
    found = call("study", "extraction", name, "--regenerate", "-q", "--json")
    assert found.code == 0, found.error
    (run,) = found.json["runs"]
    strategy = run["pattern_strategy"]
    assert strategy["first"] == run["readers"]["box"]["accuracy"] == pytest.approx(0.9, abs=0.1)
    assert (strategy["second"], strategy["outside"]) == (0, 120)
    assert strategy["p"] < 1e-9
    assert strategy["run"] in {one["name"] for one in call("runs", "--json").json}
    again = call("study", "extraction", name, "--regenerate", "-q")
    assert "120 letters read that are no option" in " ".join(again.out.split())
    assert len(call("runs", "--json").json) == 2


def test_regenerating_needs_the_package(call: Any, ask: Any, write_bench: Any) -> None:
    name = ask(write_bench(sizes={"民法": 8}), "box")
    try:
        import twinkle_eval  # noqa: F401
    except ImportError:
        done = call("study", "extraction", name, "--regenerate", "-q")
        assert (done.code, "twlocal[twinkle]" in done.error) == (2, True)
        assert len(call("runs", "--json").json) == 1
