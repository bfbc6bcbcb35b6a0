"""The reported faults, each with its input written out here, and checked against the shared file where it is there."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from twlocal.readers import read

SHARED = Path(__file__).parents[4] / "shared" / "cases" / "given.jsonl"

HARMONY = (
    "<|channel|>analysis<|message|>maybe \\boxed{A}<|end|>"
    "<|start|>assistant<|channel|>final<|message|>\\boxed{D}<|return|>"
)
TWINS: dict[str, list[tuple[str, str | None, str | None]]] = {
    "P1-1": [("能量差滿足 \\boxed{\\Delta E = h\\nu}，因此只有第四項成立。\n\n**答案：D**", None, "D")],
    "P1-3": [
        ("\\boxed{\\text{B}}", None, "B"),
        ("\\boxed{ B }", "B", "B"),
        ("\\boxed{(B)}", None, "B"),
        ("\\boxed{B：A 型肝炎}", None, "B"),
    ],
    "P1-5": [
        ("The answer is B because a car moves.", None, "B"),
        ("I would pick B — a safe choice.", None, "B"),
        ("d", None, "D"),
        ("(b)", None, "B"),
    ],
    "P1-7": [
        ("答案不是 B，而是 D。", None, "D"),
        ("答案是 D，不是 B。", None, "D"),
        ("The answer is B. Note that A is a common distractor.", None, "B"),
        ("排除 C 之後，答案為 D", None, "D"),
    ],
    "P1-9": [("最後 \\\\boxed{B}", "B", "B"), ("最後 \x08oxed{B}", None, "B")],
    "P1-11": [
        ("Answer seems to be A.\n\nAnswer: A", None, "A"),
        ("\\boxed{E}", None, None),
        ("Answer: Let's think step by step. 最後 \\boxed{C}", "C", "C"),
    ],
    "P9-4": [("可能是 \\boxed{A}？不對，題目問的是例外。\n</think>\n\n\\boxed{C}", "C", "C")],
    "P9-6": [
        (
            HARMONY,
            "D",
            "D",
        ),
        ("analysisMaybe \\boxed{A}.assistantfinal\\boxed{D}", "D", "D"),
        ("<|channel|>analysis<|message|>so \\boxed{B} seems right<|end|>", None, None),
    ],
    "P9-8": [
        ("\n\n<think>先試 \\boxed{A}，再看 B", None, None),
        ("讓我想想，先假設 \\boxed{A} 成立，那麼", "A", "A"),
    ],
}


@pytest.mark.parametrize("case", TWINS)
def test_case(case: str) -> None:
    for text, strict, lenient in TWINS[case]:
        for finish in ("stop", "length"):
            assert (read("box", text, "", finish).letter, read("lenient", text, "", finish).letter) == (strict, lenient)


def test_what_is_said_of_the_unread_ones() -> None:
    assert read("box", TWINS["P1-1"][0][0]).why == "box_not_a_letter"
    assert read("box", "\\boxed{E}").why == "box_outside_labels"
    assert read("box", "\\boxed{ }").why == "box_empty"
    assert "control_character" in read("box", "最後 \x08oxed{B}").flags
    assert "no_final_channel" in read("box", TWINS["P9-6"][2][0]).flags
    assert "unclosed_thinking" in read("lenient", TWINS["P9-8"][0][0]).flags
    assert read("board_strict", TWINS["P9-4"][0][0]).letter == "A"
    assert read("twinkle_box", TWINS["P9-4"][0][0]).letter == "A"  # only a closing tag: Twinkle leaves it unstripped


def _outputs(given: dict[str, Any]) -> list[str]:
    source = given["input"]
    if "outputs_python_repr" in source:
        return [ast.literal_eval(text) for text in source["outputs_python_repr"]]
    outputs = source.get("outputs", [source.get("output")])
    return [output["content"] if isinstance(output, dict) else output for output in outputs]


@pytest.mark.skipif(not SHARED.exists(), reason="the shared cases are not here")
def test_the_twins_say_what_the_shared_cases_say() -> None:
    rows = [json.loads(line) for line in SHARED.read_text(encoding="utf-8").splitlines() if line.strip()]
    given = {row["id"]: row for row in rows}
    for case, twins in TWINS.items():
        assert [text for text, _, _ in twins] == _outputs(given[case]), case
        expected = given[case]["expected"]
        if isinstance(expected, dict) and "lenient" in expected:
            wanted = expected["lenient"]
            assert [lenient for _, _, lenient in twins] == (wanted if isinstance(wanted, list) else [wanted]), case
