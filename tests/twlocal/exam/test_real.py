"""Real papers beside the repository, against the items that a person read from their pictures."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest

from twlocal.exam.key import parse_key
from twlocal.exam.pair import pair
from twlocal.exam.paper import parse_paper


@pytest.fixture
def data(shared):
    return shared / "data"


def plain(text):
    return re.sub(r"\s", "", unicodedata.normalize("NFKC", text))


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


def test_hand_checked_items_are_exactly_right(data):
    checked = 0
    for path in sorted((data / "ground_truth").glob("*.json")):
        truth = load(path)
        paper = parse_paper(data / "papers" / truth["question_pdf"])
        items = {item.number: item for item in paper.items}
        assert paper.accepted, (path.name, paper.rejections)
        for wanted in truth["items"]:
            item = items[wanted["number"]]
            where = (path.name, wanted["number"])
            assert plain(item.question) == plain(wanted["question"]), where
            for letter in "ABCD":
                assert plain(item.options[letter]) == plain(wanted[letter]), (*where, letter)
            assert item.page == wanted["page"], where
            assert item.group == (tuple(wanted["group"]) if "group" in wanted else None), where
            if wanted.get("needs_figure"):
                assert "figure" in item.flags, where
            checked += 1
        assert [(g.first, g.last, g.kind, plain(g.lead)) for g in paper.groups] == [
            (g["first"], g["last"], g["kind"], plain(g["lead"])) for g in truth["groups"]
        ]
    assert checked >= 118


def test_hand_checked_answers_after_corrections(data):
    for path in sorted((data / "ground_truth").glob("*.json")):
        truth = load(path)
        paper = parse_paper(data / "papers" / truth["question_pdf"])
        answer, correction = (
            parse_key(data / "papers" / truth[name]) if truth[name] else None
            for name in ("answer_pdf", "correction_pdf")
        )
        keyed = {k.item.number: k for k in pair(paper, answer, correction).items}
        for wanted in truth["items"]:
            found = keyed[wanted["number"]]
            assert found.answer == wanted["answer"], (path.name, wanted["number"])
            if "correction" in wanted:
                assert list(found.accepted) == wanted["correction"]["accept"]
                assert found.original == wanted["original_answer"]


def test_every_machine_read_key_agrees(data):
    for name, wanted in load(data / "keys_machine.json").items():
        for kind, suffix in (("answer", "A"), ("correction", "M")):
            if kind not in wanted:
                continue
            key = parse_key(data / "papers" / f"{name}__{suffix}.pdf")
            assert key.accepted, (name, key.rejections)
            assert key.kind == kind
            assert {str(n): cell for n, cell in key.cells.items()} == wanted[kind], name
            assert key.stated_count == wanted["stated_count"]
            if kind == "correction":
                notes = {str(n): plain(note.text) for n, note in key.notes.items()}
                assert notes == {n: plain(text) for n, text in wanted.get("notes", {}).items()}
                assert all(note.kind != "unknown" for note in key.notes.values())


def test_every_paper_is_whole_or_refused_with_its_reason(data):
    for entry in load(data / "manifest.json")["papers"]:
        paper = parse_paper(data / entry["question"]["file"])
        reasons = {rejection.reason for rejection in paper.rejections}
        family = entry.get("layout_family")
        if family in ("essay", "E2"):
            assert reasons == {"essay_only" if family == "essay" else "missing_option_text"}, entry["id"]
            continue
        assert paper.accepted, (entry["id"], paper.rejections)
        stated = [int(count) for count in entry["stated_counts_in_question_pdf"]]
        assert ([paper.stated_count] if paper.stated_count else []) == stated, entry["id"]
        assert [item.number for item in paper.items] == list(range(1, len(paper.items) + 1))
        assert len(paper.usable) >= 0.98 * len(paper.items), entry["id"]


@pytest.mark.slow
def test_cut_and_changed_real_papers_never_hang(data, tmp_path):
    import random

    from twlocal.exam.limits import Limits, run_all

    rng = random.Random(7)
    papers = sorted((data / "papers").glob("*__Q.pdf"))
    for k in range(60):
        content = bytearray(papers[k % len(papers)].read_bytes())
        if k % 2:
            del content[rng.randrange(len(content)) :]
        else:
            for _ in range(50):
                content[rng.randrange(len(content))] = rng.randrange(256)
        (tmp_path / f"{k}.pdf").write_bytes(content)
    outcomes = list(run_all(sorted(tmp_path.glob("*.pdf")), parse_paper, jobs=2, limits=Limits(seconds=30)))
    assert len(outcomes) == 60
    assert not [o for o in outcomes if o.rejection and o.rejection.reason == "timeout"]
