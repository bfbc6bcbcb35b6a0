"""Stage `screen`: one draft through all rules. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from twlocal.formosa import simplified
from twlocal.formosa.drafts import Draft
from twlocal.formosa.lexicon import Lexicon
from twlocal.formosa.rules import REJECT, RULES, VERSION, Finding
from twlocal.formosa.stems import strip_scaffolding
from twlocal.item import clean

STRIPPED = "stripped"


@dataclass(frozen=True, slots=True)
class Screened:
    """A draft as it goes on (scaffolding stripped), what was found, and whether it is kept."""

    draft: Draft
    kept: bool
    findings: tuple[Finding, ...]


def screen(draft: Draft, lexicon: Lexicon) -> Screened:
    """Strip what is pure scaffolding, then let every rule look; one finding that rejects is enough."""
    question = strip_scaffolding(draft.question)
    findings = []
    if question != draft.question:
        cut = len(draft.question) - len(question)
        findings.append(Finding("refers_to_passage", STRIPPED, "question", 0, cut, draft.question[:cut]))
        draft = replace(draft, question=clean(question))
    for rule in RULES.values():
        findings.extend(rule(draft, lexicon))
    return Screened(draft, not any(finding.level == REJECT for finding in findings), tuple(findings))


def rules_hash(lexicon: Lexicon) -> str:
    """What a screening is known by: the version of the rules, the lexicon, the table of characters."""
    return hashlib.sha256(f"{VERSION}\n{lexicon.sha256}\n{simplified.table().sha256}".encode()).hexdigest()
