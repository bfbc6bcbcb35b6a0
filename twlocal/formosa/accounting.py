"""What each stage took, kept and left: every number has its place, and they add up. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from twlocal.formosa.fates import DUPLICATE, FATES, MALFORMED, OUTSIDE, PUBLISHED, REJECTED, UNGROUNDED, WAITING
from twlocal.formosa.windows import Window, printed


def of_windows(
    files: Mapping[str, int], articles: Sequence[Mapping[str, Any]], windows: Sequence[Window]
) -> dict[str, Any]:
    """Files by kind; articles cut and without a window; windows and their lengths in characters; what was left out."""
    lengths = sorted(len(window.text) for window in windows)
    dropped: Counter[str] = Counter()
    for row in articles:
        dropped.update(row["dropped"])
    with_windows = {window.path for window in windows}
    return {
        "files": dict(sorted(files.items())),
        "articles": len(articles),
        "articles_without_window": sorted(row["path"] for row in articles if row["path"] not in with_windows),
        "front_matter_faults": sorted(row["path"] for row in articles if row["note"]),
        "chars": sum(row["chars"] for row in articles),
        "prose_chars": sum(row["prose"] for row in articles),
        "window_chars": sum(printed(window.text) for window in windows),
        "windows": len(windows),
        "duplicate_windows": len(windows) - len({window.hash for window in windows}),
        "median_chars": median(lengths) if lengths else 0,
        "shortest": lengths[0] if lengths else 0,
        "longest": lengths[-1] if lengths else 0,
        "left_out": dict(sorted(dropped.items())),
    }


def of_screening(
    drafted: int, screened: Iterable[tuple[Any, bool, str, Sequence[Mapping[str, Any]]]]
) -> dict[str, Any]:
    """Drafts taken, kept and rejected; drafts by rule and level. A draft that two rules reject counts for both."""
    kept = rejected = 0
    by_rule: dict[str, Counter[str]] = {}
    for _, is_kept, _, findings in screened:
        kept += is_kept
        rejected += not is_kept
        for rule, level in {(finding["rule"], finding["level"]) for finding in findings}:
            by_rule.setdefault(rule, Counter())[level] += 1
    return {
        "drafted": drafted,
        "screened": kept + rejected,
        "kept": kept,
        "rejected": rejected,
        "by_rule": {rule: dict(sorted(counts.items())) for rule, counts in sorted(by_rule.items())},
    }


@dataclass(frozen=True)
class Line:
    """One line of a build's list of items: a draft's fate, or that of a window without one (`source` is "")."""

    window: str
    source: str
    fate: str
    rule: str = ""


@dataclass(frozen=True)
class Counts:
    """What a build took, kept and left, stage by stage. By rule, the first one that decided; nothing counts twice.

    windows = those with a draft or a response + undrafted. responses = malformed + well-formed, and well-formed =
    waiting for screening + rejected + kept. kept = waiting for permuting or a judge + duplicates + ungrounded +
    grounded, and grounded = outside the band + published.
    """

    windows: int
    undrafted: int
    responses: int
    malformed: Mapping[str, int]
    rejected: Mapping[str, int]
    duplicates: int
    waiting: Mapping[str, int]
    ungrounded: Mapping[str, int]
    outside_band: int
    published: int

    @property
    def well_formed(self) -> int:
        """Responses that hold one item."""
        return self.responses - sum(self.malformed.values())

    @property
    def kept(self) -> int:
        """Items that no rule rejected."""
        return self.well_formed - sum(self.rejected.values()) - self.waiting.get("screen", 0)

    @property
    def grounded(self) -> int:
        """Items that the judge let stand."""
        return self.outside_band + self.published


def of_fates(lines: Iterable[Line]) -> Counts:
    """The table of a build, from its list of items. Raises ValueError for a fate that there is none of."""
    tallied: Counter[tuple[str, str]] = Counter()
    windows, with_draft, responses = set(), set(), 0
    for line in lines:
        if line.fate not in FATES:
            raise ValueError(f"no draft can have the fate {line.fate!r}")
        windows.add(line.window)
        if line.source:
            with_draft.add(line.window)
            responses += 1
            tallied[line.fate, line.rule] += 1

    def by_rule(fate: str) -> dict[str, int]:
        return {rule: count for (one, rule), count in sorted(tallied.items()) if one == fate}

    return Counts(
        windows=len(windows),
        undrafted=len(windows - with_draft),
        responses=responses,
        malformed=by_rule(MALFORMED),
        rejected=by_rule(REJECTED),
        duplicates=sum(by_rule(DUPLICATE).values()),
        waiting=by_rule(WAITING),
        ungrounded=by_rule(UNGROUNDED),
        outside_band=sum(by_rule(OUTSIDE).values()),
        published=sum(by_rule(PUBLISHED).values()),
    )


def as_json(counts: Counts) -> dict[str, Any]:
    """Counts as JSON-able data, with the sums that are not counted but follow."""
    return {
        "windows": counts.windows,
        "undrafted": counts.undrafted,
        "drafted": counts.responses,
        "malformed": dict(counts.malformed),
        "well_formed": counts.well_formed,
        "rejected": dict(counts.rejected),
        "kept": counts.kept,
        "duplicates": counts.duplicates,
        "ungrounded": dict(counts.ungrounded),
        "grounded": counts.grounded,
        "outside_band": counts.outside_band,
        "published": counts.published,
        "waiting": dict(counts.waiting),
    }


def table(counts: Counts) -> list[tuple[str, str]]:
    """The table's rows, as (stage, count)."""
    rows = [("Windows", counts.windows), ("  without a draft", counts.undrafted), ("Drafted", counts.responses)]
    rows += [(f"  malformed: {fault}", count) for fault, count in counts.malformed.items()]
    rows += [("Well-formed", counts.well_formed)]
    rows += [(f"  rejected: {rule}", count) for rule, count in counts.rejected.items()]
    rows += [("Kept by the rules", counts.kept), ("  saying the same as another", counts.duplicates)]
    rows += [(f"  not grounded: {rule}", count) for rule, count in counts.ungrounded.items()]
    rows += [("Grounded", counts.grounded), ("  outside the difficulty band", counts.outside_band)]
    rows += [("Published", counts.published)]
    rows += [(f"Waiting for {stage}", count) for stage, count in counts.waiting.items()]
    shown = ("  without a draft", "  saying the same as another", "  outside the difficulty band")
    return [(name, f"{count:,}") for name, count in rows if count or name not in shown]
