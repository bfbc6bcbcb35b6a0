"""Counts, rates and their denominators."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twlocal.judge import judge
from twlocal.record import Record
from twlocal.stats import Interval, wilson
from twlocal.tally import Counts, Tally

PLAIN = Record(
    no=0, repeat=0, subject="", item_id="", content_hash="c", stem_hash="s", answer="A", order="ABCD", text="",
    reasoning="", finish="stop", prompt_tokens=None, completion_tokens=None, reasoning_tokens=None, prompt_hash=None,
)  # fmt: skip


def tally(*rows: dict[str, object], planned: int | None = None) -> Tally:
    counts = Counts()
    for no, row in enumerate(rows):
        record = PLAIN._replace(**({"no": no} | row))  # type: ignore[arg-type]
        counts.add(record, judge(record))
    return counts.tally(len(rows) if planned is None else planned)


def test_every_kind_of_row_is_counted_where_it_belongs() -> None:
    found = tally(
        {"text": "\\boxed{A}", "prompt_tokens": 100, "completion_tokens": 5},
        {"text": "\\boxed{B}", "prompt_tokens": 100, "completion_tokens": 5, "reasoning_tokens": 3},
        {"text": "\\boxed{甲}"},
        {"text": "\\boxed{\\text{A}}"},
        {"text": "<think>想", "finish": "length", "completion_tokens": 4096},
        {"text": "再想一次這個問題好了。" * 50, "finish": "length"},
        {"text": "", "finish": "content_filter"},
        {"text": "我不能回答。", "flags": ("refusal",), "finish": "content_filter"},
        {"text": " \n", "reasoning": "所以 \\boxed{A}"},
        {"text": "\n"},
        planned=12,
    )
    assert dataclasses.asdict(found) == {
        "n": 10, "planned": 12, "items": 10, "correct": 3, "lenient_correct": 4, "boxes": 5, "parsed": 4,
        "lenient_parsed": 5, "ordinal": 1, "truncated": 2, "refused": 1, "filtered": 1, "loops": 1, "no_final": 1,
        "thought": 2, "reasoning_only": 1, "empty": 2, "prompt_tokens": 200, "completion_tokens": 4106,
        "reasoning_tokens": 3, "untold": 7,
    }  # fmt: skip


def test_unreadable_truncated_refused_and_filtered_rows_stay_in_the_denominator() -> None:
    found = tally(
        {"text": "\\boxed{A}"},
        {"text": "…", "finish": "length"},
        {"text": "", "finish": "content_filter"},
        {"text": "不知道"},
    )
    assert (found.accuracy, found.box_rate, found.parse_rate) == (0.25, 0.25, 0.25)
    assert found.interval == wilson(1, 4)


def test_rows_that_are_not_answered_are_not_in_the_denominator() -> None:
    found = tally({"text": "\\boxed{A}"}, planned=4)
    assert (found.accuracy, found.complete) == (1.0, False)


def test_nothing_answered_has_no_rates() -> None:
    found = Tally(planned=3)
    assert found.accuracy is found.lenient_accuracy is found.box_rate is None
    assert found.parse_rate is found.lenient_parse_rate is found.against_chance is None
    assert found.interval == found.lenient_interval == Interval(0.0, 1.0)
    assert not found.complete


def test_an_empty_plan_is_not_a_complete_run() -> None:
    assert not Tally().complete


def test_repeats_do_not_narrow_the_interval() -> None:
    once = tally(*({"text": "\\boxed{A}" if no % 2 else "\\boxed{B}"} for no in range(40)))
    thrice = tally(
        *(
            {"no": no, "repeat": repeat, "text": "\\boxed{A}" if no % 2 else "\\boxed{B}"}
            for no in range(40)
            for repeat in range(3)
        )
    )
    assert (once.n, once.items, thrice.n, thrice.items) == (40, 40, 120, 40)
    assert once.accuracy == thrice.accuracy == 0.5
    assert thrice.interval == once.interval
    assert thrice.against_chance == once.against_chance == "above"


def test_repeats_that_disagree_average() -> None:
    found = tally(
        *({"no": 0, "repeat": repeat, "text": text} for repeat, text in enumerate(["\\boxed{A}", "\\boxed{B}"]))
    )
    assert found.accuracy == 0.5
    assert found.interval == wilson(0.5, 1)


@pytest.mark.parametrize(
    ("correct", "parsed", "n", "verdict"),
    [
        (100, 200, 200, "above"),
        (50, 200, 200, "at"),
        (50, 100, 200, "above"),
        (20, 200, 200, "below"),
        (1, 2, 50, "at"),
    ],
)
def test_chance_is_asked_of_the_answers_that_could_be_read(correct: int, parsed: int, n: int, verdict: str) -> None:
    assert Tally(n=n, planned=n, items=n, correct=correct, parsed=parsed).against_chance == verdict


numbers = st.integers(0, 1000)
tallies = st.builds(Tally, **{field.name: numbers for field in dataclasses.fields(Tally)})


@given(tallies, tallies, tallies)
def test_tallies_add_up_in_any_order(one: Tally, two: Tally, three: Tally) -> None:
    assert one + two == two + one
    assert (one + two) + three == one + (two + three)
    assert one + Tally() == one
    assert (one + two).truncated == one.truncated + two.truncated
