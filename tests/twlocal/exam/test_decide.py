"""What becomes of raw items, and the table that is made from it."""

from __future__ import annotations

import pytest

from twlocal.audit.fingerprint import fingerprint
from twlocal.exam import accounting
from twlocal.exam.accounting import ItemLine, PaperLine
from twlocal.exam.decide import Decision, decide
from twlocal.exam.filters import Candidate
from twlocal.exam.printings import printings
from twlocal.exam.subjects import Rules
from twlocal.item import content_hash

RULES = Rules.load()
OPTIONS = {"A": "甲說", "B": "乙說", "C": "丙說", "D": "丁說"}


def item(question, options=None, answer="A", *, paper="p100", year=100, number=1, subject="民法", **more):
    return Candidate(paper, number, year, "高考", subject, question, options or OPTIONS, answer, **more)


def fates(*items, **more):
    return [(fate.fate, fate.rule, fate.detail) for fate in decide(items, RULES, **more)]


def test_a_reprint_is_folded_into_the_earliest_whatever_the_order_of_its_options():
    turned = {"A": "丁說。", "B": "丙說", "C": "乙說", "D": "甲說"}
    found = fates(
        item("債之關係為何?", number=7),
        item("債之關係為何？", turned, "D", paper="p103", year=103),
        item("債之 關係為何", paper="p105", year=105, subject="行政法"),
        item("債之關係為何？", {**OPTIONS, "D": "戊說"}, paper="p105", year=105, number=2),
    )
    assert found == [
        ("published", "", ""),
        ("folded", "", "p100-007"),
        ("folded", "", "p100-007"),
        ("published", "", ""),
    ]


def test_a_printing_that_is_filtered_does_not_take_a_later_one_with_it():
    voided = item("何者正確之說？", answer=None, excluded=("everyone_credited",), note="一律給分")
    assert [fate for fate, _, _ in fates(voided, item("何者正確之說？", paper="p101", year=101))] == [
        "everyone_credited",
        "published",
    ]


def test_titles():
    found = fates(item("甲？", subject="星際航行學"), item("乙？", subject=""), item("丙？", subject="口試"))
    assert found == [
        ("unknown_subject", "", "星際航行學"),
        ("unknown_subject", "", ""),
        ("excluded_subject", "", "practical"),
    ]


def test_disjointness_is_by_content():
    mark = fingerprint("占有之效力為何", ["丁說", "甲說", "乙說", "丙說。"])
    found = fates(item("占有之效力為何？"), item("占有之效力為何？", paper="z"), elsewhere={mark: "TMMLU+"})
    assert found == [("in_other_dataset", "", "TMMLU+"), ("folded", "", "p100-001")]


def test_a_persons_decision_goes_before_the_second_pass():
    one, other = item("甲為何？", flags=("figure",)), item("乙為何？")
    hashes = [content_hash(each.question, each.texts, "A") for each in (one, other)]
    decisions = {
        hashes[0]: Decision("keep", "the picture is an ornament", "me"),
        hashes[1]: Decision("withdraw", "the key is out of date", "me"),
    }
    assert fates(one, other) == [("withdrawn", "figure_on_page", "figure"), ("published", "", "")]
    assert fates(one, other, decisions=decisions) == [
        ("published", "", ""),
        ("withdrawn", "decision", "the key is out of date"),
    ]


def test_the_table_adds_up():
    papers = [
        PaperLine("a"),
        PaperLine("b", "incomplete"),
        PaperLine("c", "incomplete"),
        PaperLine("d", "no_questions"),
    ]
    items = [
        ItemLine("a", "civil_law", "published"),
        ItemLine("a", "civil_law", "withdrawn", "figure_on_page"),
        ItemLine("a", "civil_law", "withdrawn", "decision"),
        ItemLine("a", "civil_law", "folded"),
        ItemLine("a", "", "unknown_subject"),
        ItemLine("a", "civil_law", "english"),
    ]
    found = accounting.of(papers, items)
    assert (found.seen, found.parsed, dict(found.rejected)) == (4, 1, {"incomplete": 2, "no_questions": 1})
    whole = found.items
    assert (whole.raw, whole.folded, whole.published, whole.scored) == (6, 1, 3, 1)
    assert whole.filtered == {"unknown_subject": 1, "english": 1}
    assert whole.withdrawn == {"figure_on_page": 1, "decision": 1}
    assert whole.raw == whole.folded + sum(whole.filtered.values()) + whole.published
    assert found.subjects["civil_law"].raw == 5 and found.subjects[""].raw == 1
    assert ("Papers seen / parsed", "4 / 1") in accounting.table(found) and accounting.table(found)[-1] == (
        "Scored",
        "1",
    )


@pytest.mark.parametrize(
    "line", [ItemLine("a", "x", "lost"), ItemLine("a", "x", "withdrawn"), ItemLine("a", "x", "published", "table")]
)
def test_no_item_gets_lost(line):
    with pytest.raises(ValueError, match="a: "):
        accounting.of([], [line])


def test_printings_for_the_audit_are_those_that_passed():
    items = [item("甲為何？"), item("如下圖，何者正確？", number=2), item("甲為何？", answer="B", paper="q", year=101)]
    made = {
        (fate.item.paper, fate.item.number): (fate.subject, fate.fate, fate.content_hash)
        for fate in decide(items, RULES)
    }
    assert [(one.id, one.meta["year"], one.subject) for one in printings(items, made)] == [
        ("p100-001", "100", "civil_law"),
        ("q-001", "101", "civil_law"),
    ]
    assert printings(items, {}) == []
