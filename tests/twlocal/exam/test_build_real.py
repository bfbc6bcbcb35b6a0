"""The real papers beside the repository, from PDFs to the accounting table."""

from __future__ import annotations

import json

import pytest

from twlocal.exam import accounting
from twlocal.exam.accounting import ItemLine, PaperLine
from twlocal.exam.decide import decide
from twlocal.exam.ledger import Ledger, distinct
from twlocal.exam.listing import discover
from twlocal.exam.parsing import parse
from twlocal.exam.subjects import Rules
from twlocal.formosa import simplified
from twlocal.formosa.lexicon import STRICT, shipped


@pytest.mark.slow
def test_the_handout(shared, tmp_path):
    place = shared / "data"
    if not (place / "manifest.json").is_file():
        pytest.skip("needs ../shared/data")
    with Ledger.opened(tmp_path / "exam.db", create=True) as ledger:
        parse(ledger, discover(place), jobs=2)
        fates = list(decide(ledger.candidates(), Rules.load()))
        papers = distinct(ledger.papers())
    found = accounting.of(
        [PaperLine(paper.name, paper.reasons[0].reason if paper.reasons else "") for paper in papers],
        [ItemLine(fate.item.paper, fate.subject, fate.fate, fate.rule) for fate in fates],
    )
    assert (found.seen, dict(found.rejected)) == (21, {"essay_only": 1, "missing_option_text": 1})
    items = found.items
    assert items.raw == 815 == items.folded + sum(items.filtered.values()) + items.published
    assert "unknown_subject" not in items.filtered and "excluded_subject" not in items.filtered
    # What people found by looking at the pages.
    kept = {(fate.item.paper, fate.item.number) for fate in fates if fate.fate == "published"}
    checked = 0
    for path in sorted((place / "ground_truth").glob("*.json")):
        truth = json.loads(path.read_text(encoding="utf-8"))
        for wanted in truth["items"]:
            checked += 1
            if wanted["answer"] is None or wanted.get("needs_figure") or "group" in wanted:
                assert (truth["paper"], wanted["number"]) not in kept, (truth["paper"], wanted["number"])
    assert checked >= 118
    # Questions of the Ministry are Taiwanese text: no strict rule of the everyday benchmark's screening fires on them.
    texts = [text for fate in fates for text in (fate.item.question, *fate.item.options.values())]
    assert len(texts) > 3000
    fires = [hit.term.text for text in texts for hit in shipped().find(text) if hit.term.level == STRICT]
    flags = [char for text in texts for _, char, strict in simplified.find(text) if strict]
    assert fires == [] and flags == []
