"""What pages say of their own place (`頁次：4－2`, `全一張（背面）`): whether one is missing, or stands elsewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .glyphs import digits
from .lines import Line
from .page import Page

_TOP = 0.25  # of the page's height: where its number stands
_FOLIO = re.compile(r"頁\s*次\s*[:：]\s*(?P<count>\d{1,2})\s*[-－–—─~～/／]\s*(?P<at>\d{1,2})(?!\d)")
_SIDE = re.compile(r"全\s*一\s*張[^張]{0,80}?[（(]\s*(?P<side>[正背])\s*面\s*[)）]")


def folio(page: Page, lines: Sequence[Line]) -> tuple[int, int] | None:
    """The number that a page carries, and how many pages it says there are; None when it says nothing."""
    top = digits("\n".join(line.text for line in lines[:12] if line.baseline < _TOP * page.height))
    if found := _FOLIO.search(top):
        return int(found["at"]), int(found["count"])
    if found := _SIDE.search(top):
        return 1 + (found["side"] == "背"), 2
    return None


def misplaced(pages: Sequence[Page], page_lines: Sequence[Sequence[Line]]) -> str | None:
    """What is wrong with the order or number of the pages, as a sentence; None when nothing is known to be.

    Pages without text (blank backs) do not count, pages without a number may be any.
    """
    written = [(page, lines) for page, lines in zip(pages, page_lines, strict=True) if lines]
    last, place, total = 0, -1, 0  # the last number seen, on which page, and the count that it named
    for k, (page, lines) in enumerate(written):
        seen = folio(page, lines)
        if seen is None:
            continue
        number, count = seen
        if total and count != total:
            return f"page {page.number} is one of {count}, others are of {total}"
        if number <= last:
            return f"page {number} of {count} stands after page {last}"
        if number - last > k - place:
            return f"page {last + 1} of {count} is missing"
        last, place, total = number, k, count
    if total - last > len(written) - 1 - place:
        return f"page {last + 1} of {total} is missing"
    return None
