"""The prompt study on a model that copies the placeholder's alphabet, and on one that does not."""

from __future__ import annotations

from typing import Any

import pytest

from twlocal.study.prompt import letter_of


@pytest.mark.parametrize(
    ("content", "letter"),
    [
        *(("甲", "A"), ("丁", "D"), ("②", "B"), ("⑶", "C"), ("❹", "D"), ("1", "A"), ("４", "D"), ("二", "B")),
        *(("參", "C"), ("Ｃ", "C"), ("ｄ", "D"), ("Ⅱ", "B"), ("ⅳ", "D"), ("β", "B"), ("Δ", "D"), ("ㄇ", "C")),
        *(
            ("（乙）", "B"),
            ("0", None),
            ("7", None),
            ("", None),
            ("E", None),
            ("AB", None),
            ("A", None),
            ("答案", None),
        ),
    ],
)
def test_every_alphabet_is_mapped_by_position(content: str, letter: str | None) -> None:
    assert letter_of(content) == letter


def _ask_under_both(call: Any, ask: Any, bench: Any, effect: str, model: str, **settings: object) -> list[str]:
    return [
        ask(bench, effect, "--protocol", protocol, model=model, **settings) for protocol in ("box-defective", "box")
    ]


def test_a_model_that_copies_the_placeholder(call: Any, ask: Any, write_bench: Any) -> None:
    """Section 5.2: unread in the defective run, and exactly as good as under the final prompt once mapped back."""
    bench = write_bench()
    copies = _ask_under_both(call, ask, bench, "copies", "copies", skill=0.8)
    found = call("study", "prompt", "--run", copies[0], "--run", copies[1], "--json").json
    defective, final = found["runs"]
    assert (defective["protocol"], final["protocol"]) == ("box-defective", "box")
    assert defective["unread"] == {"ordinals": 120}
    assert (defective["accuracy"], defective["parse_rate"]) == (0, 0)
    assert final["parse_rate"] == 1
    # The same model knows the same questions: what its ordinals predict is what the final prompt measures.
    assert defective["mapped_back"] == final["accuracy"] == pytest.approx(0.8, abs=0.1)
    (pair,) = found["pairs"]
    assert pair["measured"]["difference"] == final["accuracy"]
    assert pair["measured"]["p"] < 1e-9
    assert pair["reference_minus_mapped_back"]["difference"] == 0
    assert found["warnings"] == []
    text = call("study", "prompt", "--run", copies[0], "--run", copies[1]).out
    assert "the alphabet explains the difference" in text
    assert "3f4246ce5935a136" in text


def test_the_defect_reorders_models(call: Any, ask: Any, write_bench: Any) -> None:
    bench = write_bench()
    copies = _ask_under_both(call, ask, bench, "copies", "copies", skill=0.8)
    steady = _ask_under_both(call, ask, bench, "box", "steady", skill=0.6)
    words = [word for name in (*copies, *steady) for word in ("--run", name)]
    found = call("study", "prompt", *words, "--json").json
    assert found["ranks"] == {"copies": {"box-defective": 2, "box": 1}, "steady": {"box-defective": 1, "box": 2}}
    untouched = next(pair for pair in found["pairs"] if pair["model"] == "steady")
    assert untouched["measured"]["churn"] | {"partly": 0} == untouched["measured"]["churn"]
    assert (untouched["measured"]["difference"], untouched["measured"]["p"]) == (0, 1)
    assert "cannot be told apart on this model" in " ".join(call("study", "prompt", *words).out.split())


def test_it_asks_the_model_itself(call: Any, write_bench: Any, model_file: Any) -> None:
    bench = write_bench(sizes={"民法": 12, "刑法": 12})
    words = ("--backend", "scripted_effects", "--set", "effect=copies", "--set", f"answers={bench}", "-q")
    done = call("study", "prompt", model_file, "--bench", bench, "--limit", "10", *words, "--json")
    assert done.code == 0, done.error
    assert [run["n"] for run in done.json["runs"]] == [10, 10]
    stored = call("runs", "--json").json
    assert {run["protocol"] for run in stored} == {"box", "box-defective"}
    assert all(command.startswith(("twlocal run", "twlocal study prompt --run")) for command in done.json["commands"])
    # Asked before: the same command reads what is stored.
    assert call("study", "prompt", model_file, "--bench", bench, "--limit", "10", *words, "--json").json == done.json
    assert len(call("runs", "--json").json) == 2


def test_wrong_calls(call: Any, ask: Any, write_bench: Any, model_file: Any) -> None:
    bench = write_bench(sizes={"民法": 8})
    one, other = ask(bench, "box"), ask(bench, "box", model="other")
    assert "with --run" in call("study", "prompt").error
    assert "all of different models" in call("study", "prompt", "--run", one, "--run", other).error
    assert "not both" in call("study", "prompt", model_file, "--run", one).error
    assert "two or more" in call("study", "prompt", model_file, "--protocols", "box").error
    shorter = ask(bench, "box", "--protocol", "box-defective", "--max-tokens", "99")
    assert any(
        "decoding" in line
        for line in call("study", "prompt", "--run", shorter, "--run", one, "--json").json["warnings"]
    )
