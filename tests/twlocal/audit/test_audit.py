"""Groups, agreement, conflicts, verdicts and overlaps, over rows written here; TMMLU's known groups where at hand."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest

from twlocal.audit import verdicts
from twlocal.audit.conflicts import FIGURE, REVISED, TRUE, TYPOGRAPHY, VIGNETTE
from twlocal.audit.groups import Agreement, duplicate_groups
from twlocal.audit.report import as_json, audit, told
from twlocal.errors import DatasetError
from twlocal.item import Item

OPTIONS = ("內政部", "環境保護署", "清潔隊", "行政院")


def item(question="家戶垃圾由誰負責處理？", options=OPTIONS, answer="A", **more):
    return Item(question, options, answer, **more)


def classes(*items):
    found = audit({"": items})
    return [(one.proposed, one.counted) for one in found.conflicts]


def test_the_papers_arithmetic():
    agreement = Agreement(31_312, 27)
    assert f"{agreement.rate:.4%}" == "99.9138%"
    assert (f"{agreement.interval.low:.4%}", f"{agreement.interval.high:.4%}") == ("99.8746%", "99.9407%")
    assert Agreement(0, 0).rate is None


def test_keys_are_compared_by_text_and_not_by_letter():
    one, other = item(), item(options=("清潔隊", "行政院", "內政部", "環境保護署。"), answer="C")
    (group,) = duplicate_groups([one, other])
    assert group.agrees and group.reordered and group.letters_differ
    (group,) = duplicate_groups([one, item(options=("清潔隊", "行政院", "內政部", "環境保護署"), answer="A")])
    assert not group.agrees and not group.letters_differ, "equal letters hide a conflict too"


def test_options_with_the_same_text_agree():
    (group,) = duplicate_groups(
        [item(options=("1", "2", "2", "3"), answer="B"), item(options=("1", "2", "2", "3"), answer="C")]
    )
    assert group.agrees


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("下圖箭頭所指之構造為何？", FIGURE),
        ("這張心電圖最恰當的診斷為何？", FIGURE),
        ("此病人最可能的診斷為何？", VIGNETTE),
        ("我國憲法規定之五院不包括何者？", TRUE),
    ],
)
def test_classes_of_disagreeing_keys(question, wanted):
    assert classes(item(question), item(question, answer="D")) == [(wanted, True)]


def test_a_figure_seen_on_the_page_is_a_figure():
    seen = item("最可能的構造為何？", meta={"flags": "figure"})
    assert classes(item("最可能的構造為何？", answer="B"), seen) == [(FIGURE, True)]


def test_typography_is_listed_and_not_counted():
    one = item(options=("右心房、壓力", "乙", "丙", "丁"))
    assert classes(one, item(options=("乙", "右心房壓力", "丙", "丁"), answer="B")) == [(TYPOGRAPHY, False)]
    assert classes(one, item(options=("乙", "右心房 、壓力。", "丙", "丁"), answer="B")) == []


def test_a_rewritten_option_set_is_listed_and_not_counted():
    one, other = item(), item(options=("內政部", "環境保護署", "衛生局", "行政院"), answer="B")
    assert classes(one, other) == [(REVISED, False)]
    found = audit({"": [one, other]})
    assert (len(found.groups), found.agreement.conflicts) == (0, 0)
    assert classes(item("下列何者正確？"), item("下列何者正確？", other.options, "B")) == [], "everybody's stem"
    assert classes(one, item(options=("甲", "乙", "丙", "內政部"), answer="A")) == [], "too little in common"


def test_verdicts_are_written_read_back_and_kept():
    rows = [item(meta={"year": "103"}), item(answer="D", meta={"year": "105"})]
    found = audit({"": rows})
    table = verdicts.render(found.conflicts, {})
    (line,) = verdicts.parse(table, "t.csv").values()
    assert line.verdict == "" and "103: A (內政部) / 105: D (行政院)" in table
    assert found.attributed is None
    filled = table.replace(f"{line.key},true,,,", f"{line.key},true,typography,me,看過")
    given = verdicts.parse("\ufeff" + filled, "t.csv")
    again = audit({"": rows}, verdicts=given)
    assert again.attributed == Agreement(1, 0)
    assert as_json(again)["verdicts"] == {"typography": 1}
    assert verdicts.render(again.conflicts, given) == filled
    assert verdicts.render([], given) == filled, "a verdict outlives its conflict"
    assert any("true conflicts: 0;" in line for line in told(again))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("conflict,verdict\nabc,wrong\n", "t.csv:2: 'wrong' is no verdict"),
        ("conflict,verdict\nabc,true\nabc,figure\n", "t.csv:3: the conflict abc is there twice"),
        ("a,b\n1,2\n", "no column conflict, verdict"),
        ("", "no column conflict, verdict"),
    ],
)
def test_a_damaged_table_of_verdicts_is_told(text, message):
    with pytest.raises(DatasetError, match=message):
        verdicts.parse(text, "t.csv")


def test_splits_and_other_datasets():
    test = [item(), item("甲乙丙丁戊己庚辛壬癸？")]
    train = [item(), item(options=("行政院", "清潔隊", "環境保護署", "內政部"), answer="D"), item("別的題目")]
    found = audit(
        {"test": test, "train": train}, against={"other": [item("甲乙丙丁戊己庚辛壬癸？", ("1", "2", "3", "4"))]}
    )
    assert found.across == 1
    shared = found.splits[("test", "train")]
    assert (shared.rows, len(shared.same), shared.verbatim) == (2, 1, 1)
    shared = found.splits[("train", "test")]
    assert (shared.rows, len(shared.same), shared.verbatim) == (3, 2, 1)
    other = found.against["other"]
    assert (len(other.same), other.stems) == (0, 1)
    assert "of 2 rows of test, 1 also in train, 1 of them verbatim" in told(found)


def test_known_groups_of_tmmlu(shared):
    """An oracle made by others: every group with the same options is found, with its order and its agreement."""
    from twlocal.dataset import load

    path = shared / "data" / "tmmlu" / "duplicate_groups.json"
    if not path.is_file():
        pytest.skip("needs ../shared/data/tmmlu")
    known = json.loads(path.read_text(encoding="utf-8"))
    found = audit({"": load(str(path.parent / "converted"), skip_bad=True).items})
    mine = {_stem(group.members[0].question): group for group in found.groups}
    wanted = {one["norm_stem"]: one for one in known if one["same_option_set"]}
    assert set(mine) == set(wanted) and len(wanted) >= 30
    for stem, one in wanted.items():
        group = mine[stem]
        assert sorted((i.subject, i.answer) for i in group.members) == sorted(
            (member["subject"], member["answer"]) for member in one["members"]
        )
        assert group.reordered == (not one["same_option_order"])
        assert group.agrees == one["same_answer_text"]
    assert found.agreement.conflicts == 0


def _stem(text):
    return re.sub(r"[\W_]", "", unicodedata.normalize("NFKC", text)).lower()


def test_rows_without_a_double_are_told_in_one_short_line() -> None:
    one = Item("臺灣最高的山？", ("玉山", "雪山", "合歡山", "阿里山"), "A", "地理")
    assert told(audit({"": [one]})) == ["1 row, no question twice"]
