"""Every rule by itself, screening as a whole, and what the rules reject of native examination questions."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from twlocal.errors import DatasetError
from twlocal.formosa.drafts import Draft, read_drafts
from twlocal.formosa.lexicon import shipped
from twlocal.formosa.rules import REJECT, REVIEW, RULES, Finding
from twlocal.formosa.screening import STRIPPED, screen

GOOD = Draft("w", "淡水港在哪一年開放通商？", ("一八六三年", "一八八五年", "一八九五年", "一九〇七年"), "A")


def run(rule: str, draft: Draft) -> list[Finding]:
    return list(RULES[rule](draft, shipped()))


@pytest.mark.parametrize("rule", list(RULES))
def test_a_good_draft_passes_every_rule(rule: str) -> None:
    assert run(rule, GOOD) == []


FAULTY = {
    "malformed": [
        replace(GOOD, question=""),
        replace(GOOD, answer="E"),
        replace(GOOD, answer=""),
        replace(GOOD, answer="AB"),
        replace(GOOD, options=("一八六三年", "", "一八九五年", "一九〇七年")),
        replace(GOOD, options=("一八六三年", "「一八六三年」。", "一八九五年", "一九〇七年")),
    ],
    "opens_on_pronoun": [replace(GOOD, question="她取得美國國籍的年份是？")],
    "refers_to_passage": [replace(GOOD, question="文中的港口在哪一年開放通商？")],
    "answer_in_stem": [replace(GOOD, question="淡水港一八六三年開放通商，是哪一年？")],
    "unequal_options": [
        replace(GOOD, options=("依天津條約於一八六三年十月正式開港", "一八八五年", "一八九五年", "一九〇七年"))
    ],
    "speaks_of_options": [replace(GOOD, options=("一八六三年", "一八八五年", "一八九五年", "以上皆非"))],
    "simplified_characters": [
        replace(GOOD, question="淡水港在哪一年开放通商？"),
        replace(GOOD, options=("一八六三年", "一八八五年", "一八九五年", "没有开港")),
    ],
    "mainland_vocabulary": [replace(GOOD, question="台灣最大的互聯網公司是？")],
}


def test_every_rule_has_faulty_examples() -> None:
    assert set(FAULTY) == set(RULES)


@pytest.mark.parametrize(("rule", "draft"), [(rule, draft) for rule, drafts in FAULTY.items() for draft in drafts])
def test_a_faulty_draft_is_rejected_by_its_rule(rule: str, draft: Draft) -> None:
    findings = run(rule, draft)
    assert findings and {finding.rule for finding in findings} == {rule}
    assert REJECT in {finding.level for finding in findings}
    assert not screen(draft, shipped()).kept


@pytest.mark.parametrize(
    "options",
    [
        ("1", "0", "2", "-1。"),
        ("2.4%", "20%", "24%", "50%"),
        ("0～5", "-3～-12", "3～12", "-5～0"),
        ("1.59 kHz", "159 Hz", "15.9 Hz", "15.9 kHz"),
        ("1,000", "1", "000", "10"),
        ("Na+", "Na-", "Na", "K"),
    ],
)
def test_numbers_that_differ_by_a_point_or_a_sign_are_not_the_same(options: tuple[str, str, str, str]) -> None:
    assert run("malformed", replace(GOOD, options=options)) == []


def test_findings_say_where() -> None:
    (found,) = run("mainland_vocabulary", replace(GOOD, options=("用軟件", "一八八五年", "一八九五年", "一九〇七年")))
    assert found == Finding("mainland_vocabulary", REJECT, "A", 1, 3, "軟件")
    (found,) = run("opens_on_pronoun", replace(GOOD, question="請問她是誰？"))
    assert (found.start, found.end, found.words) == (2, 3, "她")


def test_review_findings_reject_nothing() -> None:
    for draft in (
        replace(GOOD, question="台灣的神經科學家如何描述產品質量？"),
        replace(
            GOOD, options=("一八六三年", "一八八五年", "一八九五年", "依天津條約於一八六三年十月由清朝政府正式開放")
        ),
    ):
        screened = screen(draft, shipped())
        assert screened.kept and {finding.level for finding in screened.findings} == {REVIEW}


def test_scaffolding_is_stripped_and_told_and_what_is_left_is_screened() -> None:
    screened = screen(replace(GOOD, question="根據本文，淡水港在哪一年開放通商？"), shipped())
    assert screened.kept and screened.draft.question == GOOD.question
    assert screened.findings == (Finding("refers_to_passage", STRIPPED, "question", 0, 5, "根據本文，"),)
    screened = screen(replace(GOOD, question="根據本文，她取得美國國籍的年份是？"), shipped())
    assert not screened.kept and {finding.rule for finding in screened.findings} == {
        "refers_to_passage",
        "opens_on_pronoun",
    }


def test_a_draft_knows_its_key() -> None:
    assert (GOOD.key, GOOD.distractors) == ("一八六三年", GOOD.options[1:])
    assert replace(GOOD, answer="E").key == ""


def test_drafts_are_read_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(
        '\ufeff{"window": "AB", "question": " 題\\r\\n目 ", "A": 1, "B": null, '
        '"C": "丙", "D": "丁", "answer": "b", "x": []}\n\n',
        encoding="utf-8",
    )
    assert list(read_drafts(path)) == [Draft("ab", "題\n目", ("1", "", "丙", "丁"), "B")]


@pytest.mark.parametrize(
    ("line", "said"), [("{", "not JSON"), ("[]", "no window"), ('{"question": "題"}', "no window")]
)
def test_lines_that_are_no_draft(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"window": "w"}\n' + line + "\n", encoding="utf-8")
    with pytest.raises(DatasetError, match=rf"d\.jsonl:2.*{said}"):
        list(read_drafts(path))


# What the rules may reject of sound native questions, in percent: the false-positive story, held. Where most of it is
# right to reject in a closed-book set (a passage's questions, answers by letters), it says so.
CEILING = {
    "malformed": 0.1,
    "opens_on_pronoun": 0.1,
    "refers_to_passage": 1.0,  # nearly all: questions of a group, whose passage stands elsewhere
    "answer_in_stem": 0.5,
    "unequal_options": 4.0,  # the paper's fourth filter: keys pathologically longer
    "speaks_of_options": 1.5,  # all: ABC, 以上皆是
    "simplified_characters": 0.0,
    "mainland_vocabulary": 0.0,
}


def test_what_native_questions_lose(shared: Path) -> None:
    place = shared / "data" / "tmmlu" / "converted"
    if not place.is_dir():
        pytest.skip("needs TMMLU")
    rejected: Counter[str] = Counter()
    count = 0
    for path in sorted(place.glob("*.csv")):
        with path.open(encoding="utf-8-sig", newline="") as file:
            for row in csv.DictReader(file):
                count += 1
                options = (row["A"], row["B"], row["C"], row["D"])
                screened = screen(Draft("w", row["question"].strip(), options, row["answer"].strip()), shipped())
                rejected.update({finding.rule for finding in screened.findings if finding.level == REJECT})
    assert count > 2000
    shares = {rule: 100 * rejected[rule] / count for rule in RULES}
    assert all(shares[rule] <= CEILING[rule] for rule in RULES), shares
