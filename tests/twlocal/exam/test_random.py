"""Whole papers of each layout family, drawn at random: every item comes back as it was written."""

from __future__ import annotations

import re
import unicodedata

import pytest

from twlocal.exam.paper import parse_paper


def plain(text):
    return re.sub(r"\s+", "", unicodedata.normalize("NFKC", text))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("family", ["A", "B", "C", "D", "E1", "F", "typed"])
def test_every_item_of_a_random_paper(family, seed):
    from random_papers import draw

    drawn = draw(family, seed)
    paper = parse_paper(drawn.data)
    assert paper.accepted, paper.rejections
    read = {
        item.number: (plain(item.question), [plain(text) for text in item.options.values()]) for item in paper.items
    }
    assert read == {n: (plain(said.stem), [plain(text) for text in said.options]) for n, said in drawn.items.items()}
    assert {item.number: item.group for item in paper.items} == {n: said.group for n, said in drawn.items.items()}
    # An item may be kept out where the page leaves open what an option's last line is.
    assert len(paper.usable) >= 24
