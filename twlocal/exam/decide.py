"""What becomes of each raw item: filtered, folded, in another dataset, published, or published and withdrawn.

Pure. Items come in with the earliest first; the first printing of a question that passes the filters is kept, and every
later one is folded into it, whatever the order of its options (section 3.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from twlocal.audit.fingerprint import fingerprint
from twlocal.item import content_hash

from . import filters
from .filters import Candidate
from .subjects import Match, Rules

PUBLISHED, WITHDRAWN, FOLDED, ELSEWHERE = "published", "withdrawn", "folded", "in_other_dataset"
NO_SUBJECT, EXCLUDED = "unknown_subject", "excluded_subject"
BY_PERSON = "decision"

# Every fate that keeps an item out of the published set, in the order in which they are tried.
FILTERS: Mapping[str, str] = {
    NO_SUBJECT: "No rule knows what the paper's title examines; it is listed, never forced into a subject.",
    EXCLUDED: "The paper's title is excluded: it examines several subjects, or none of the 148.",
    **{rule.name: rule.says for rule in filters.FIRST_PASS},
    ELSEWHERE: "A dataset that this one is kept disjoint from has the question.",
}
WITHDRAWALS: Mapping[str, str] = {
    **{rule.name: rule.says for rule in filters.SECOND_PASS},
    BY_PERSON: "A person withdrew it, with a reason.",
}


@dataclass(frozen=True)
class Decision:
    """What a person decided about a row: `withdraw`, or `keep` against the rules of the second pass."""

    action: str
    reason: str
    by: str


@dataclass(frozen=True)
class Fate:
    """What became of one item. `subject` and `field` are slugs, "" where the title led to none.

    `fate` is `published`, `withdrawn` (published, but not scored), `folded`, or a key of `FILTERS`. `rule` is the key
    of `WITHDRAWALS` for a withdrawn one. `detail` is what the rule saw, or the printing that it was folded into.
    `content_hash` is "" where there is no single key, `fingerprint` where none was taken. Only published items keep
    their words.
    """

    item: Candidate
    subject: str
    field: str
    fate: str
    rule: str = ""
    detail: str = ""
    content_hash: str = ""
    fingerprint: str = ""


def decide(
    candidates: Iterable[Candidate],
    rules: Rules,
    *,
    elsewhere: Mapping[str, str] | None = None,
    decisions: Mapping[str, Decision] | None = None,
) -> Iterator[Fate]:
    """The fate of each candidate, in their order, which must be the earliest first.

    `elsewhere` maps the fingerprints of other datasets to their names; `decisions` are by content hash.
    """
    elsewhere, decisions = elsewhere or {}, decisions or {}
    matched = lru_cache(maxsize=None)(lambda title: rules.match(title, keyed=True))
    kept: dict[str, str] = {}
    for item in candidates:
        match: Match = matched(item.subject_title)
        subject, field = match.subject or "", match.field or ""
        if match.unknown:
            yield Fate(_bare(item), "", "", NO_SUBJECT, detail=item.subject_title)
            continue
        if not subject:
            yield Fate(_bare(item), "", "", EXCLUDED, detail=match.exclusion or "")
            continue
        if found := filters.first(filters.FIRST_PASS, item):
            yield Fate(_bare(item), subject, field, found[0], detail=found[1])
            continue
        assert item.answer is not None  # `no_key` lets none pass
        mark = fingerprint(item.question, item.texts)
        hashed = content_hash(item.question, item.texts, item.answer)
        if mark in kept:
            yield Fate(_bare(item), subject, field, FOLDED, "", kept[mark], hashed, mark)
            continue
        kept[mark] = f"{item.paper}-{item.number:03d}"
        if mark in elsewhere:
            yield Fate(_bare(item), subject, field, ELSEWHERE, "", elsewhere[mark], hashed, mark)
            continue
        rule, detail = _withdrawn(item, decisions.get(hashed))
        yield Fate(item, subject, field, WITHDRAWN if rule else PUBLISHED, rule, detail, hashed, mark)


def _bare(item: Candidate) -> Candidate:
    """The item without its words: a build holds hundreds of thousands that it does not publish."""
    return replace(item, question="", options={})


def _withdrawn(item: Candidate, decision: Decision | None) -> tuple[str, str]:
    if decision is not None:
        return (BY_PERSON, decision.reason) if decision.action == "withdraw" else ("", "")
    return filters.first(filters.SECOND_PASS, item) or ("", "")
