"""How many titles the rules know, weighed by papers; unknown ones are listed."""

from __future__ import annotations

import pytest

from twlocal.errors import UsageError
from twlocal.exam.subjects import Rules
from twlocal.exam.titles import counted, coverage, read_titles

RULES = Rules.load()


def test_coverage_is_weighed_by_papers():
    found = coverage({"民法": 5, "口試": 2, "星際航行學": 3, "": 1}, RULES, keyed=True)
    assert (found.papers, found.matched, dict(found.excluded)) == (11, 5, {"practical": 2})
    assert [(one.title, one.papers) for one in found.unknown] == [("星際航行學", 3), ("", 1)]


def test_titles_from_papers_and_from_a_catalogue():
    assert counted(["民法", "刑法", "民法"]) == {"民法": 2, "刑法": 1}
    assert read_titles("\ufeffsubject_title,catalog_rows\n民法,5\n刑法,\n民法,2\n", "c.csv") == {"民法": 7, "刑法": 1}
    assert read_titles("subject_title\n民法\n", "c.csv") == {"民法": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title\n民法\n", "no column subject_title"),
        ("subject_title,catalog_rows\n民法,many\n", "c.csv:2: catalog_rows"),
    ],
)
def test_a_damaged_catalogue_is_told(text, message):
    with pytest.raises(UsageError, match=message):
        read_titles(text, "c.csv")
