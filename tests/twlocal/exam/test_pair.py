"""Papers with their keys: corrections override, `#` is resolved or left out, other papers' keys are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from twlocal.exam.model import Header, Key, Paper, PaperItem, Rejection
from twlocal.exam.notes import read_notes
from twlocal.exam.pair import differ, pair, same_codes

OPTIONS = {"A": "甲", "B": "乙", "C": "丙", "D": "丁"}


def paper(count=3, codes=("6801",), **kw):
    items = tuple(PaperItem(n, f"題{n}", OPTIONS, 1) for n in range(1, count + 1))
    return Paper(Header(codes=codes), count, items, **kw)


def key(cells, notes="", code="6801", kind="answer", **kw):
    return Key(kind, dict(enumerate(cells, 1)), read_notes(notes), len(cells), code, **kw)


def test_a_plain_key():
    found = pair(paper(), key("ABC"))
    assert [(k.item.number, k.answer, k.excluded) for k in found.items] == [(1, "A", ()), (2, "B", ()), (3, "C", ())]
    assert not found.flags and not found.rejections


def test_a_correction_overrides_its_key():
    notes = "第1題答Ｃ給分，第2題答Ｂ或Ｄ者均給分，第3題一律給分"
    one, two, three = pair(paper(), key("ABC"), key("###", notes, kind="correction")).items
    assert (one.answer, one.original, one.excluded) == ("C", "A", ())
    assert (two.answer, two.accepted, two.original, two.excluded) == (None, ("B", "D"), "B", ("several_answers",))
    assert (three.answer, three.accepted, three.excluded) == (None, ("A", "B", "C", "D"), ("everyone_credited",))


def test_only_a_correction():
    assert [k.answer for k in pair(paper(), None, key("AB#", "第3題答Ｄ給分", kind="correction")).items] == [
        "A",
        "B",
        "D",
    ]


def test_a_cell_that_changed_without_a_note_is_taken_and_flagged():
    found = pair(paper(), key("ABC"), key("ABD", kind="correction"))
    assert [k.answer for k in found.items] == ["A", "B", "D"]
    assert found.flags == ("changed_without_note:3",)


@pytest.mark.parametrize("notes", ["", "第1題另行公告", "第2題一律給分"])
def test_an_unexplained_mark_leaves_the_item_out(notes):
    first = pair(paper(), key("#BC", notes)).items[0]
    assert (first.answer, first.excluded) == (None, ("unexplained_mark",))


def test_a_note_against_the_grid_leaves_the_item_out():
    assert pair(paper(), key("ABC", "第1題答Ｂ給分")).items[0].excluded == ("unexplained_mark",)


@pytest.mark.parametrize("notes", ["第1、2題一律給分", "第1題至第2題一律給分", "1,2題送分"])
def test_a_voided_item_whose_letter_stays_in_the_grid(notes):
    items = pair(paper(), key("ABC"), key("ABC", notes, kind="correction")).items
    assert [(k.answer, k.excluded) for k in items] == [
        (None, ("everyone_credited",)),
        (None, ("everyone_credited",)),
        ("C", ()),
    ]


def test_a_note_of_the_first_key_holds_beside_a_correction_that_says_nothing():
    items = pair(paper(), key("ABC", "第1題一律給分"), key("AB#", kind="correction")).items
    assert [k.excluded for k in items] == [("everyone_credited",), (), ("unexplained_mark",)]


def test_a_note_that_replaces_another_letter_is_not_about_this_item():
    said = "第1題由Ａ更正為Ｃ，第2題由Ａ更正為Ｃ"
    items = pair(paper(), key("ABC"), key("##C", said, kind="correction")).items
    assert [(k.answer, k.excluded) for k in items[:2]] == [("C", ()), (None, ("unexplained_mark",))]


def test_a_note_on_an_item_that_is_not_there_refuses_the_key():
    found = pair(paper(), key("ABC"), key("ABC", "第9題一律給分", kind="correction"))
    assert [(r.reason, r.detail) for r in found.rejections] == [
        ("key_strange_remarks", "a note on question 9, which the paper does not have")
    ]


def test_the_fifth_letter_is_no_answer_of_four_options():
    assert pair(paper(), key("EBC")).items[0].excluded == ("five_letter_answer",)


def test_the_reasons_of_the_paper_stay():
    bad = Paper(Header(codes=("6801",)), 1, (PaperItem(1, "", {}, 1, excluded=("empty_options",)),))
    assert pair(bad, key("A")).items[0].excluded == ("empty_options", "answer_without_option")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (key("ABC", code="7901"), "code_mismatch"),
        (key("ABCD"), "key_count_mismatch"),
        (key("ABC", rejections=(Rejection("stray_cell", "x"),)), "key_stray_cell"),
        (None, "no_key"),
    ],
)
def test_a_key_that_does_not_fit_keys_nothing(answer, reason):
    found = pair(paper(), answer)
    assert reason in [r.reason for r in found.rejections] and found.items == ()


@pytest.mark.parametrize(
    ("subject", "other", "wanted"),
    [
        ("醫學㈠（包括解剖學、胚胎學）", "醫學(一)", False),
        ("醫學㈠（包括解剖學、胚胎學）", "醫學(二)(包括解剖學、胚胎學)", True),
        ("外國文（俄文兼試移民專業英文）", "外國文(泰文兼試移民專業英文)、外國文(法文兼試", False),
        ("國文（作文與測驗）", "民法", True),
        ("民 法", "民法總則", False),
        ("", "民法", False),
        ("English", "英文", False),
    ],
)
def test_subjects_that_are_surely_others(subject, other, wanted):
    assert differ(subject, other) is wanted


def test_a_key_without_a_code_must_be_of_the_subject():
    civil = paper(codes=("6801",))
    civil = replace(civil, header=replace(civil.header, fields={"科目": "民法"}))
    answer = key("ABC", subject="民法")
    other = key("###", "第1、2、3題答Ｄ給分", code=None, kind="correction", subject="刑事訴訟")
    assert [r.reason for r in pair(civil, answer, other).rejections] == ["key_subject_mismatch"]
    assert pair(civil, answer, replace(other, subject="民法")).items[0].answer == "D"
    assert pair(civil, replace(answer, subject="改了名稱")).items, "the code says that it is the paper's"


def test_a_correction_of_another_key():
    found = pair(paper(25), key("ABCDA" * 5), key("BCDAB" * 5, code=None, kind="correction"))
    assert [(r.reason, r.detail) for r in found.rejections] == [
        ("key_contradicts_correction", "25 of 25 answers differ without a #")
    ]
    marked = pair(paper(25), key("ABCDA" * 5), key("#" * 25, code=None, kind="correction"))
    assert marked.items and not marked.rejections


def test_a_refused_paper_is_not_keyed():
    found = pair(paper(rejections=(Rejection("incomplete", "x"),)), key("ABC"))
    assert [r.reason for r in found.rejections] == ["incomplete"] and found.items == ()


def test_codes():
    assert same_codes(paper(codes=("80160-80860", "6801")), key("ABC")) is True
    assert same_codes(paper(codes=("6801-6804",)), key("ABC", code="6803")) is True
    assert same_codes(paper(codes=()), key("ABC")) is None
    assert pair(paper(codes=()), key("ABC")).flags == ("code_unverified",)
