"""The two pages of a review, the list and one item, as HTML. Everything that comes from a paper is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from twlocal.exam.model import PaperItem
from twlocal.exam.regions import Part
from twlocal.exam.review import words
from twlocal.exam.review.decided import Noted
from twlocal.exam.review.desk import SHOWN, Entry, Sheet
from twlocal.exam.review.sight import Document, Seen, Unseen
from twlocal.html import Text, environment, render, t
from twlocal.html.page import asset

if TYPE_CHECKING:
    from jinja2 import Environment

PACKAGE = "twlocal.exam.review"
ROWS = 100  # items on a page of the list
# Pictures come from the server, and what is decided goes to it: nothing else is asked for.
_ALLOW = {"img-src": "'self' data:", "form-action": "'self'"}


@dataclass(frozen=True)
class View:
    """Which items are walked through: a key of SHOWN, and a subject's slug or ""."""

    show: str = "todo"
    subject: str = ""

    def query(self, **more: object) -> str:
        """As the query of an address."""
        told = {"show": self.show, "subject": self.subject, **more}
        return urlencode({name: value for name, value in told.items() if value not in ("", None)})

    def item(self, entry: Entry | None, **more: object) -> str:
        """The address of an item, or of the list when there is none."""
        return f"/item/{quote(entry.id, safe='')}?{self.query(**more)}" if entry else self.list(**more)

    def list(self, **more: object) -> str:
        """The address of the list."""
        return f"/?{self.query(**more)}"


@dataclass(frozen=True)
class Drawn:
    """One page's picture with what is drawn on it; `seen` is False when the item could not be found on it again."""

    document: Document
    page: int
    width: float
    height: float
    parts: Sequence[Part]


@dataclass(frozen=True)
class Beside:
    """What stands beside the parsed item: its pages, or why there are none. `again` is how it is parsed now."""

    drawn: Sequence[Drawn] = ()
    unseen: Sequence[tuple[Document, Unseen]] = ()
    again: PaperItem | None = None


@dataclass(frozen=True)
class Around:
    """Where an item stands among those that are shown, `at` counting from 1 (0: it is not among them)."""

    at: int
    total: int
    before: Entry | None
    after: Entry | None


@dataclass(frozen=True)
class Visit:
    """What every page needs: the token of its forms, whose decisions they are, what was just decided or went wrong."""

    token: str
    by: str
    view: View = field(default_factory=View)
    done: Noted | None = None
    done_id: str = ""
    said: Text | None = None


@cache
def _environment(lang: str) -> Environment:
    env = environment(PACKAGE, lang=lang)
    env.globals.update(flag=words.flag, words=words)
    return env


def _page(template: str, lang: str, **values: object) -> str:
    return render(
        _environment(lang),
        template,
        scripts=[asset("review.js", PACKAGE)],
        styles=[asset("review.css", PACKAGE)],
        allow=_ALLOW,
        **values,
    )


def listing(
    rows: Sequence[tuple[Entry, str]],
    counts: Mapping[str, int],
    subjects: Sequence[str],
    visit: Visit,
    *,
    page: int,
    lang: str,
) -> str:
    """The list: `rows` are all that the view shows, of which one page is written."""
    pages = max(1, -(-len(rows) // ROWS))
    page = min(max(1, page), pages)
    return _page(
        "review_list.html.j2",
        lang,
        title=t("試題審閱", "Exam review"),
        rows=rows[(page - 1) * ROWS : page * ROWS],
        total=len(rows),
        page=page,
        pages=pages,
        counts=counts,
        shown=list(SHOWN),
        subjects=subjects,
        visit=visit,
        view=visit.view,
    )


def item(sheet: Sheet, beside: Beside, around: Around, now: str, visit: Visit, *, lang: str) -> str:
    """One item beside its pages."""
    again = beside.again
    differs = again is not None and (again.question, dict(again.options)) != (sheet.question, dict(sheet.options))
    return _page(
        "review_item.html.j2",
        lang,
        title=t(f"審閱 {sheet.entry.id}", f"Review of {sheet.entry.id}"),
        sheet=sheet,
        entry=sheet.entry,
        beside=beside,
        around=around,
        now=now,
        differs=differs,
        visit=visit,
        view=visit.view,
    )


def beside(sheet: Sheet, seen: Mapping[int, Seen | Unseen]) -> Beside:
    """The pages on which an item stands, with its parts, given what is known of its documents (by their id)."""
    drawn: list[Drawn] = []
    unseen: list[tuple[Document, Unseen]] = []
    again = None
    for document in sheet.documents:
        found = seen[document.id]
        if isinstance(found, Unseen):
            unseen.append((document, found))
            continue
        parts = found.outline.parts.get(sheet.entry.number, ())
        if document.kind == "Q":
            again = found.outline.items.get(sheet.entry.number)
        # Where a paper is parsed otherwise than it was, the page that the build names is shown as it is.
        pages = sorted({part.region.page for part in parts}) or ([sheet.page] if document.kind == "Q" else [])
        for page in pages:
            if 0 < page <= len(found.sizes):
                width, height = found.sizes[page - 1]
                on_it = [part for part in parts if part.region.page == page]
                drawn.append(Drawn(document, page, width, height, on_it))
    return Beside(drawn, unseen, again)
