"""One fate for every window and every draft, and an accounting that adds up."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twlocal.formosa import accounting
from twlocal.formosa.accounting import Line, of_fates
from twlocal.formosa.fates import FATES, STAGES, Draftlike, Fate, fates
from twlocal.formosa.judging import Verdict
from twlocal.formosa.rules import RULES

YES, NO, TWO = Verdict(True, True), Verdict(False, True, "找不到"), Verdict(True, False, "兩個都對")
UNREAD = Verdict(None, None, "嗯", "no_json")


def finding(rule: str, level: str = "reject") -> dict[str, Any]:
    return {"rule": rule, "level": level, "where": "question", "start": 0, "end": 1, "words": "它"}


def drafted(
    number: int, window: str, kept: bool | None = True, digest: str | None = None, *found: dict[str, Any]
) -> Draftlike:
    return Draftlike(number, window, "甲", 0, kept, found, f"hash{number}" if digest is None else digest)


def told(found: list[Fate]) -> list[tuple[str, str, str]]:
    return [(one.window, one.fate, one.rule) for one in found]


def test_each_stage_has_its_fate() -> None:
    rejected = (finding("mainland_vocabulary"), finding("unequal_options", "review"), finding("opens_on_pronoun"))
    found = fates(
        list("abcdefghijkl"),
        [("甲", "b", "no_json", "不適合"), ("甲", "c", "", "")],
        [
            drafted(1, "c", None, ""),
            drafted(2, "d", False, "", *rejected),
            drafted(3, "e", True, ""),
            drafted(4, "f"),
            drafted(5, "g", True, "same"),
            drafted(6, "h", True, "same"),
            drafted(7, "i"),
            drafted(8, "j"),
            drafted(9, "k"),
            drafted(10, "l"),
        ],
        {5: YES, 6: YES, 7: NO, 8: TWO, 9: UNREAD, 10: YES},
        {"same"},
    )
    assert told(found) == [
        ("a", "waiting", "draft"),
        ("b", "malformed", "no_json"),
        ("c", "waiting", "screen"),
        ("d", "rejected", "opens_on_pronoun"),  # the first rule of them, in the order of the rules
        ("e", "waiting", "permute"),
        ("f", "waiting", "ground"),
        ("g", "published", ""),
        ("h", "duplicate", "same_item"),
        ("i", "ungrounded", "unsupported"),
        ("j", "ungrounded", "several_answers"),
        ("k", "ungrounded", "unread:no_json"),
        ("l", "outside_band", ""),
    ]
    assert [one.detail for one in found if one.fate == "ungrounded"] == ["找不到", "兩個都對", "嗯"]
    counts = of_fates(Line(one.window, one.source, one.fate, one.rule) for one in found)
    assert accounting.as_json(counts) == {
        "windows": 12,
        "undrafted": 1,
        "drafted": 11,
        "malformed": {"no_json": 1},
        "well_formed": 10,
        "rejected": {"opens_on_pronoun": 1},
        "kept": 8,
        "duplicates": 1,
        "ungrounded": {"several_answers": 1, "unread:no_json": 1, "unsupported": 1},
        "grounded": 2,
        "outside_band": 1,
        "published": 1,
        "waiting": {"ground": 1, "permute": 1, "screen": 1},
    }


def test_without_a_band_all_that_is_grounded_is_published() -> None:
    found = fates(["a"], [], [drafted(1, "a")], {1: YES}, None)
    assert told(found) == [("a", "published", "")]
    assert told(fates(["a"], [], [drafted(1, "a")], {1: YES}, set())) == [("a", "outside_band", "")]


def test_a_fate_that_there_is_none_of_is_an_error() -> None:
    with pytest.raises(ValueError, match="lost"):
        of_fates([Line("a", "甲", "lost")])


VERDICTS = st.sampled_from([None, YES, NO, TWO, UNREAD])
DRAFTS = st.tuples(
    st.integers(0, 5),  # its window
    st.sampled_from(["甲", "乙"]),
    st.sampled_from([None, True, False]),
    st.sampled_from(["", "p", "q", "r"]),
    st.sampled_from(sorted(RULES)),
    VERDICTS,
)


@given(
    st.lists(DRAFTS, max_size=12),
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["丙", "丁"]), st.sampled_from(["no_json", ""])), max_size=6),
    st.sampled_from([None, {"p"}, {"q", "r"}]),
)
def test_the_accounting_adds_up(
    made: list[tuple[int, str, bool | None, str, str, Verdict | None]],
    faults: list[tuple[int, str, str]],
    chosen: set[str] | None,
) -> None:
    windows = [f"w{number}" for number in range(6)]
    drafts = [
        Draftlike(at + 1, windows[window], source, at, kept, (finding(rule),), digest if kept else "")
        for at, (window, source, kept, digest, rule, _) in enumerate(made)
    ]
    verdicts = {at + 1: one[5] for at, one in enumerate(made) if one[5] is not None}
    found = fates(windows, [(source, windows[at], fault, "") for at, source, fault in faults], drafts, verdicts, chosen)
    assert {one.window for one in found} == set(windows) and all(one.fate in FATES for one in found)
    malformed = sum(bool(fault) for _, _, fault in faults)
    assert sum(bool(one.source) for one in found) == len(drafts) + malformed, "each draft and response once"
    counts = of_fates(Line(one.window, one.source, one.fate, one.rule) for one in found)
    waiting = counts.waiting
    assert set(waiting) <= set(STAGES) and counts.windows == 6
    assert counts.responses == sum(counts.malformed.values()) + counts.well_formed
    assert counts.well_formed == waiting.get("screen", 0) + sum(counts.rejected.values()) + counts.kept
    assert counts.kept == counts.duplicates + sum(counts.ungrounded.values()) + counts.grounded + waiting.get(
        "permute", 0
    ) + waiting.get("ground", 0)
    assert counts.grounded == counts.outside_band + counts.published
    assert counts.published == sum(one.fate == "published" for one in found)
    kept = [one.content_hash for one in found if one.fate == "published"]
    assert len(kept) == len(set(kept)) and (chosen is None or set(kept) <= chosen)
