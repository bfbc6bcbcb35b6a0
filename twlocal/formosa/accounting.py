"""What each stage took, kept and left: every number has its place, and they add up. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

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
