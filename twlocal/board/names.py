"""Names of subjects in addresses. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from twlocal.bundle.exchange import folder


def subject_slugs(subjects: Iterable[str]) -> dict[str, str]:
    """Each subject's name as part of a file's name: no two the same, not even where case does not count."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for subject in sorted(subjects):
        plain = folder(subject).lower() if subject else "none"
        slug, number = plain, 2
        while slug in taken:
            slug, number = f"{plain}-{number}", number + 1
        taken.add(slug)
        found[subject] = slug
    return found
