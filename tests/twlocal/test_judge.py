"""One record under its readers: position letters mapped back, what was odd, and the rules of the protocol."""

from __future__ import annotations

import pytest

from twlocal.judge import judge
from twlocal.record import Record

PLAIN = Record(
    no=0, repeat=0, subject="民法", item_id="1", content_hash="c" * 64, stem_hash="s" * 64, answer="C", order="CADB",
    text="對應選項 A。\n\\boxed{A}", reasoning="", finish="stop", prompt_tokens=300, completion_tokens=12,
    reasoning_tokens=None, prompt_hash=None,
)  # fmt: skip


def record(text: str, **changes: object) -> Record:
    return PLAIN._replace(text=text, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(("shown", "source"), [("A", "C"), ("B", "A"), ("C", "D"), ("D", "B")])
@pytest.mark.parametrize("answer", "ABCD")
def test_the_letter_shown_is_mapped_back_to_the_sources(shown: str, source: str, answer: str) -> None:
    judged = judge(record(f"\\boxed{{{shown}}}", answer=answer))
    assert judged.box.letter == shown
    assert judged.correct == judged.correct_lenient == (source == answer)


def test_a_plain_boxed_answer() -> None:
    judged = judge(PLAIN)
    assert (judged.correct, judged.wrote_box, judged.final) == (True, True, True)
    assert (judged.truncated, judged.loop, judged.thought, judged.flags) == (False, False, False, ())


def test_unreadable_under_box_is_wrong_and_may_be_right_under_lenient() -> None:
    judged = judge(record("\\boxed{\\text{A}}"))
    assert (judged.box.letter, judged.lenient.letter) == (None, "A")
    assert (judged.correct, judged.correct_lenient, judged.wrote_box) == (False, True, True)


def test_no_box_at_all() -> None:
    judged = judge(record("我不確定。"))
    assert (judged.correct, judged.correct_lenient, judged.wrote_box) == (False, False, False)


def test_an_ordinal_is_read_by_position_and_flagged() -> None:
    judged = judge(record("\\boxed{甲}"))
    assert (judged.box.letter, judged.correct) == ("A", True)
    assert "ordinal" in judged.flags


def test_the_records_own_flags_are_kept_and_not_doubled() -> None:
    judged = judge(record("\\boxed{甲}", flags=("ordinal", "refusal")))
    assert judged.flags == ("ordinal", "refusal")


def test_a_thought_that_never_ends_has_no_final_text() -> None:
    judged = judge(record("<think>先試 \\boxed{A}，再看 B", finish="length"))
    assert (judged.final, judged.wrote_box, judged.correct, judged.truncated, judged.thought) == (
        False, False, False, True, True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "reasoning", "thought"),
    [
        ("<think>想一想</think>\\boxed{A}", "", True),
        ("<think>\n\n</think>\n\n\\boxed{A}", "", False),  # what a template adds where thinking is off
        ("\\boxed{A}", "想一想", True),
        ("\\boxed{A}", "", False),
    ],
)
def test_whether_it_thought(text: str, reasoning: str, thought: bool) -> None:
    judged = judge(record(text, reasoning=reasoning))
    assert judged.thought is thought
    assert judged.correct


def test_reasoning_is_read_where_it_ended_by_itself_and_the_content_is_empty() -> None:
    assert judge(record("", reasoning="所以 \\boxed{A}")).correct
    assert not judge(record("", reasoning="所以 \\boxed{A}", finish="length")).correct


def test_loops_are_looked_for_in_the_text_or_in_the_reasoning_that_stands_for_it() -> None:
    endless = "再確認一次這個選項是否正確。" * 100
    assert judge(record(endless, finish="length")).loop
    assert judge(record(endless)).loop
    assert judge(record("", reasoning=endless, finish="length")).loop
    assert judge(record("\\boxed{A}" + endless * 3)).loop
    assert not judge(record("\\boxed{A}")).loop


def test_another_reader_reads_the_same_text_its_own_way() -> None:
    text = "\\box{A}"
    assert not judge(record(text)).correct
    judged = judge(record(text), reader="twinkle_box")
    assert (judged.box.letter, judged.correct) == ("A", True)


def test_another_readers_letter_that_is_no_option_is_wrong() -> None:
    judged = judge(record("\\boxed{E}"), reader="twinkle_box")
    assert judged.box.letter in {None, "E"}
    assert not judged.correct


@pytest.mark.parametrize("before", ["", "說明。" * 40], ids=["short", "long"])
def test_the_same_words_are_judged_by_what_else_is_known_of_them(before: str) -> None:
    # Readings of short responses are remembered; that of another row, ending or reader must not come back.
    text = before + "答案是 \\boxed{A}"
    for _ in range(2):
        assert [judge(record(text, answer=key)).correct for key in "ABCD"] == [False, False, True, False]
        assert [judge(record(text, order=order)).correct for order in ("CADB", "ACDB")] == [True, False]
        assert [judge(record(text, finish=finish)).truncated for finish in ("stop", "length")] == [False, True]
        assert [judge(record(text, reasoning=thought)).thought for thought in ("", "想")] == [False, True]
        assert [judge(record(text, flags=flags)).flags for flags in ((), ("refusal",))] == [(), ("refusal",)]
        other = judge(record(text + "\\box{B}"), reader="twinkle_box")
        assert (other.box.letter, judge(record(text + "\\box{B}")).box.letter) == ("B", "A")
