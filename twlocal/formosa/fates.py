"""What became of every window and every draft: one fate each, so that the accounting adds up. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from twlocal.formosa.judging import UNREAD, Verdict
from twlocal.formosa.rules import REJECT, RULES

# In the order of the stages. What is waiting has not been through all of them; its rule is the stage that it waits for.
MALFORMED = "malformed"
REJECTED = "rejected"
DUPLICATE = "duplicate"
UNGROUNDED = "ungrounded"
OUTSIDE = "outside_band"
PUBLISHED = "published"
WAITING = "waiting"
FATES = (MALFORMED, REJECTED, DUPLICATE, UNGROUNDED, OUTSIDE, PUBLISHED, WAITING)
STAGES = ("draft", "screen", "permute", "ground")


@dataclass(frozen=True, slots=True)
class Fate:
    """One draft, or a window that has none (then `source` is ""). rule: what decided, by name. draft_id: 0 for none."""

    window: str
    source: str
    no: int
    fate: str
    rule: str = ""
    detail: str = ""
    content_hash: str = ""
    draft_id: int = 0


@dataclass(frozen=True, slots=True)
class Draftlike:
    """A draft with what the stages know of it. kept: None before screening. content_hash: "" before permuting."""

    id: int
    window: str
    source: str
    no: int
    kept: bool | None
    findings: tuple[Mapping[str, object], ...]
    content_hash: str


def fates(
    windows: Collection[str],
    faults: Iterable[tuple[str, str, str, str]],
    drafts: Iterable[Draftlike],
    verdicts: Mapping[int, Verdict],
    chosen: Collection[str] | None,
) -> list[Fate]:
    """The fate of every response and every draft, and of every window without one.

    windows: their hashes, in order. faults: (source, window, fault, detail). verdicts: by draft id. chosen: content
    hashes of a difficulty band; None where there is none. Of drafts that say the same the first one counts.
    """
    found: dict[str, list[Fate]] = {window: [] for window in windows}
    for source, window, fault, detail in faults:
        if fault:
            found[window].append(Fate(window, source, 0, MALFORMED, fault, detail))
    for draft in drafts:
        found[draft.window].append(_before(draft))
    seen: dict[str, str] = {}
    return [
        _after(one, seen, verdicts, chosen)
        for window, ones in found.items()
        for one in (sorted(ones, key=lambda one: (one.source, one.no)) or _none(window))
    ]


def _none(window: str) -> list[Fate]:
    return [Fate(window, "", 0, WAITING, "draft")]


def _before(draft: Draftlike) -> Fate:
    """What screening and permuting made of a draft; an item has no fate yet."""
    fate, rule, detail = "", "", ""
    if draft.kept is None:
        fate, rule = WAITING, "screen"
    elif not draft.kept:
        fate = REJECTED
        finding = min(_rejecting(draft.findings), key=lambda one: list(RULES).index(str(one["rule"])))
        rule, detail = str(finding["rule"]), f"{finding['where']}: {finding['words']}"
    elif not draft.content_hash:
        fate, rule = WAITING, "permute"
    return Fate(draft.window, draft.source, draft.no, fate, rule, detail, draft.content_hash, draft.id)


def _rejecting(findings: Iterable[Mapping[str, object]]) -> Iterator[Mapping[str, object]]:
    return (one for one in findings if one["level"] == REJECT)


def _after(one: Fate, seen: dict[str, str], verdicts: Mapping[int, Verdict], chosen: Collection[str] | None) -> Fate:
    if one.fate:
        return one

    def end(fate: str, rule: str = "", detail: str = "") -> Fate:
        return Fate(one.window, one.source, one.no, fate, rule, detail, one.content_hash, one.draft_id)

    if one.content_hash in seen:
        return end(DUPLICATE, "same_item", seen[one.content_hash])
    seen[one.content_hash] = one.source
    said = verdicts.get(one.draft_id)
    if said is None:
        return end(WAITING, "ground")
    rule = said.objection
    if rule:
        return end(UNGROUNDED, f"{rule}:{said.fault}" if rule == UNREAD else rule, said.reason)
    return end(PUBLISHED if chosen is None or one.content_hash in chosen else OUTSIDE)
