"""When an answer in the making may end: at its first readable box outside of any thought, and never before."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twlocal import box_stop
from twlocal.readers import read
from twlocal.readers.final import opened_thought


@pytest.mark.parametrize(
    ("text", "opened", "left"),
    [
        ("所以選 \\boxed{B}。其他選項都不對", "", "所以選 \\boxed{B}"),
        ("\\boxed{}，應該是 \\boxed{AB} 不，\\boxed{C} 才對", "", "\\boxed{}，應該是 \\boxed{AB} 不，\\boxed{C}"),
        ("<think>\\boxed{A}？不對</think>答案 \\boxed{B}\n", "", "<think>\\boxed{A}？不對</think>答案 \\boxed{B}"),
        ("也許 \\boxed{A}</think>\\boxed{D} 完", "<think>", "也許 \\boxed{A}</think>\\boxed{D}"),
        ("也許 \\boxed{A}，還在想", "<think>", None),
        ("analysis也許 \\boxed{A}assistantfinal\\boxed{C} 完", "", "analysis也許 \\boxed{A}assistantfinal\\boxed{C}"),
        ("答案是 \\boxed{E}", "", None),
        ("答案是 B}", "", None),
        ("\\boxed{B", "", None),
        ("", "", None),
        ("先說 \\boxed{ 乙 } 再說", "", "先說 \\boxed{ 乙 }"),
        ("說了一半<think>\\boxed{A}", "", None),
    ],
)
def test_where_it_stops(text: str, opened: str, left: str | None) -> None:
    at = box_stop.stop(text, opened)
    assert (None if at is None else text[:at]) == left


PIECES = [
    "\\boxed{A}",
    "\\boxed{b}",
    "\\boxed{}",
    "\\boxed{",
    "}",
    "<think>",
    "</think>",
    "答案是 C。",
    " ",
    "{x}",
    "[THINK]",
    "[/THINK]",
]


@given(st.lists(st.sampled_from(PIECES), max_size=14))
def test_what_is_left_out_never_changes_the_reading_unless_a_thought_opens_later(pieces: list[str]) -> None:
    text = "".join(pieces)
    at = box_stop.stop(text)
    if at is None:
        return
    assert box_stop.enough(text[:at])
    assert not any(box_stop.enough(text[:end]) for end in range(at)), "it stops at the first chance"
    rest = text[at:]
    if not any(tag in rest.lower() for tag in ("think>", "[think", "[/think")):
        assert read("box", text[:at]).letter == read("box", text).letter


@pytest.mark.parametrize(
    ("prompt", "tag"),
    [
        ("<|im_start|>assistant\n<think>\n", "<think>"),
        ("<|im_start|>assistant\n<think>\n\n</think>\n\n", ""),
        ("什麼是 <think>？<|im_start|>assistant\n", ""),
        ("[THINK]", "[THINK]"),
        ("[/THINK]", ""),
        ("", ""),
        ("<think>" + "x" * 500, ""),
    ],
)
def test_a_thought_that_the_prompt_opens(prompt: str, tag: str) -> None:
    assert opened_thought(prompt) == tag
