"""The score of a run as a view over its records."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twlocal.item import permutation, shown_letter
from twlocal.record import Record
from twlocal.score import Repeats, Running, Score, Tally, score
from twlocal.stats import wilson

SUBJECTS = ("民法", "刑法", "會計")


def record(
    no: int, text: str, *, subject: str = "民法", repeat: int = 0, answer: str = "A", **changes: object
) -> Record:
    plain = Record(
        no=no, repeat=repeat, subject=subject, item_id=str(no), content_hash=f"{no:064x}", stem_hash=f"{no:064x}",
        answer=answer, order=permutation(f"第{no}題", repeat), text=text, reasoning="", finish="stop",
        prompt_tokens=200, completion_tokens=9, reasoning_tokens=None, prompt_hash=None,
    )  # fmt: skip
    return plain._replace(**changes)  # type: ignore[arg-type]


def right(no: int, **how: object) -> Record:
    """A record that boxes its key as it was shown."""
    blank = record(no, "", **how)  # type: ignore[arg-type]
    return blank._replace(text=f"\\boxed{{{shown_letter(blank.answer, blank.order)}}}")


def test_a_complete_run() -> None:
    records = [right(0), record(1, "不知道"), right(2, subject="刑法"), right(3, subject="刑法")]
    found = score(records, {"民法": 2, "刑法": 2})
    assert (found.complete, found.reader, found.failed, found.repeats) == (True, "box", 0, None)
    assert found.overall.accuracy == 0.75
    assert found.overall.interval == wilson(3, 4)
    assert [(name, tally.correct, tally.n) for name, tally in found.subjects] == [("刑法", 2, 2), ("民法", 1, 2)]


def test_a_failed_row_leaves_the_run_incomplete_and_is_not_wrong() -> None:
    found = score([right(0), right(1)], {"民法": 3}, failures={"transport": 1})
    assert (found.overall.n, found.overall.planned, found.complete, found.failed) == (2, 3, False, 1)
    assert found.overall.accuracy == 1.0


def test_a_subject_without_any_answer_is_still_in_the_table() -> None:
    found = score([right(0)], {"民法": 1, "會計": 2})
    assert dict(found.subjects)["會計"] == Tally(planned=2)
    assert found.overall.planned == 3


def test_withdrawn_rows_are_counted_apart() -> None:
    found = score([right(0)], {"民法": 1}, withdrawn=179)
    assert (found.withdrawn, found.overall.planned, found.complete) == (179, 1, True)


def test_nothing_at_all() -> None:
    found = score([], {"民法": 3})
    assert (found.overall.n, found.overall.accuracy, found.complete, found.alarms) == (0, None, False, ())


def test_records_of_another_plan_are_refused() -> None:
    with pytest.raises(ValueError, match="'刑法', which this run did not plan"):
        score([right(0, subject="刑法")], {"民法": 1})
    with pytest.raises(ValueError, match="2 responses where 1 were planned"):
        score([right(0), right(1)], {"民法": 1})


def test_another_reader_gives_another_score_of_the_same_records() -> None:
    records = [record(0, "\\box{A}", order="ABCD")]
    assert score(records, {"民法": 1}).overall.accuracy == 0.0
    found = score(records, {"民法": 1}, "twinkle_box")
    assert (found.reader, found.overall.accuracy) == ("twinkle_box", 1.0)


def test_repeats_count_rows_for_accuracy_and_questions_for_the_interval() -> None:
    records = [right(no, repeat=repeat) for no in range(10) for repeat in range(3)]
    records[1] = record(0, "不知道", repeat=1)
    found = score(records, {"民法": 10}, repeats=3)
    assert (found.overall.n, found.overall.planned, found.overall.items, found.complete) == (30, 30, 10, True)
    assert found.overall.accuracy == pytest.approx(29 / 30)
    assert found.overall.interval == wilson(29 / 3, 10)
    assert found.repeats == Repeats(asked=3, accuracies=(1.0, 0.9, 1.0), compared=10, same=9)


def test_agreement_is_of_options_and_not_of_positions() -> None:
    # Two askings with different orders: the same position is another option.
    first, second = record(0, "\\boxed{A}", order="ABCD"), record(0, "\\boxed{A}", order="BACD", repeat=1)
    other = record(0, "\\boxed{B}", order="BACD", repeat=1)
    assert score([first, second], {"民法": 1}, repeats=2).repeats == Repeats(2, (1.0, 0.0), 1, 0)
    assert score([first, other], {"民法": 1}, repeats=2).repeats == Repeats(2, (1.0, 1.0), 1, 1)


def test_repeats_half_way_through() -> None:
    found = score([right(0), right(1)], {"民法": 2}, repeats=2)
    assert found.repeats == Repeats(asked=2, accuracies=(1.0, None), compared=0, same=0)
    assert not found.complete


def test_a_letter_that_is_no_option_agrees_with_itself() -> None:
    records = [record(0, "\\boxed{E}", repeat=repeat) for repeat in range(2)]
    found = score(records, {"民法": 1}, "twinkle_box", repeats=2)
    assert found.repeats == Repeats(asked=2, accuracies=(0.0, 0.0), compared=1, same=1)


def test_alarms_come_with_the_score() -> None:
    found = score([record(no, "") for no in range(30)], {"民法": 30})
    assert {"zero_score", "empty_replies"} <= {alarm.kind for alarm in found.alarms}


texts = st.sampled_from(
    [
        "\\boxed{A}",
        "\\boxed{B}",
        "\\boxed{甲}",
        "\\boxed{\\text{C}}",
        "",
        "答案是 D。",
        "不知道",
        "<think>嗯",
        "\\boxed{1}",
    ]
)
rows = st.lists(
    st.tuples(
        st.sampled_from(SUBJECTS), texts, st.sampled_from("ABCD"), st.sampled_from(["stop", "length", "content_filter"])
    ),
    max_size=60,
)


def planted(drawn: Sequence[tuple[str, str, str, str]]) -> list[Record]:
    return [
        record(no, text, subject=subject, answer=answer, finish=finish)
        for no, (subject, text, answer, finish) in enumerate(drawn)
    ]


@settings(max_examples=60)
@given(rows, st.randoms(use_true_random=False))
def test_a_score_is_the_same_in_any_order_and_adds_up(
    drawn: list[tuple[str, str, str, str]], luck: random.Random
) -> None:
    records = planted(drawn)
    plan = {name: max(1, sum(row.subject == name for row in records)) for name in SUBJECTS}
    found = score(records, plan, max_tokens=4096, temperature=0)
    shuffled = list(records)
    luck.shuffle(shuffled)
    assert score(shuffled, dict(reversed(plan.items())), max_tokens=4096, temperature=0) == found
    assert sum((tally for _, tally in found.subjects), Tally()) == found.overall
    for tally in (found.overall, *(tally for _, tally in found.subjects)):
        assert tally.correct <= tally.parsed <= tally.boxes <= tally.n
        assert tally.correct <= tally.lenient_correct and tally.parsed <= tally.lenient_parsed <= tally.n
        if tally.accuracy is not None:
            assert tally.interval.low <= tally.accuracy <= tally.interval.high


@given(rows)
def test_the_running_score_agrees_with_the_final_one(drawn: list[tuple[str, str, str, str]]) -> None:
    running = Running()
    records = planted(drawn)
    for row in records:
        running.add(row)
    found = score(records, {name: len(records) for name in SUBJECTS})
    assert (running.n, running.accuracy, running.box_rate) == (
        found.overall.n, found.overall.accuracy, found.overall.box_rate,
    )  # fmt: skip


def test_the_running_score_uses_the_protocols_reader() -> None:
    running = Running("twinkle_box")
    running.add(record(0, "\\box{A}", order="ABCD"))
    assert running.accuracy == 1.0


def a_sample(size: int) -> list[Record]:
    source = random.Random(7)
    body = "本題考的是民法第一百八十四條的侵權行為。選項甲說的是故意，選項乙說的是過失，其餘兩項與條文不合。" * 8
    return [
        record(
            no,
            body[: 380 + source.randrange(40)] + f"\n因此答案為第 {no} 題的 \\boxed{{{source.choice('ABCD')}}}",
            subject=f"科目{no % 148}",
        )
        for no in range(size)
    ]


def test_twenty_two_thousand_records_are_scored_at_once() -> None:
    records = a_sample(22_000)
    plan = {f"科目{at}": 150 for at in range(148)}
    started = time.process_time()
    found: Score = score(records, plan, max_tokens=16_384, temperature=0)
    took = time.process_time() - started
    assert found.overall.n == found.overall.boxes == 22_000
    assert took < 2.0  # 0.3 s on an idle core; the slack is for a busy machine
