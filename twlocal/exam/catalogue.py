"""The Ministry's search pages → which documents there are. Pure: pages come in as text.

A page lists checkboxes whose ids end in `chk_{exam}_{category}` and `chk_{exam}_{category}_{subject}`, their labels,
and links to `wHandExamQandA_File.ashx?t=Q|S|M&code={exam}&c={category}&s={subject}&q={set}`. An exam code is the
Minguo year and a serial (`100030`). Categories that sit together list the same document each for itself.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import parse_qs, urljoin, urlsplit

from .listing import KINDS

_HANDLER = "whandexamqanda_file.ashx"
_KIND = {"Q": "Q", "S": "A", "M": "M"}
_BOX = re.compile(r"chk_(\d+)_(\w+?)(?:_(\w+))?$")
_CODE = re.compile(r"[0-9A-Za-z]{1,16}")


@dataclass(frozen=True)
class Link:
    """One listed document. `kind` is Q, A or M; `title` and `category_title` are the labels, "" without one."""

    kind: str
    exam: str
    category: str
    subject: str
    set: str
    url: str
    title: str = ""
    category_title: str = ""


@dataclass(frozen=True)
class Wanted:
    """A paper to fetch: `documents` maps Q, A and M to addresses; `categories` are those that sit it."""

    name: str
    documents: dict[str, str]
    year: int | None
    title: str
    categories: tuple[str, ...]


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.hrefs: list[str] = []
        self.labels: dict[tuple[str, ...], str] = {}
        self._label: tuple[str, ...] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "a" and _HANDLER in given.get("href", "").lower():
            self.hrefs.append(given["href"])
        elif tag == "label" and (found := _BOX.search(given.get("for", ""))):
            self._label = tuple(part for part in found.groups() if part)
            self.labels[self._label] = ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "label":
            self._label = None

    def handle_data(self, data: str) -> None:
        if self._label is not None:
            self.labels[self._label] += data


def links(page: str, base: str) -> list[Link]:
    """The documents that a search page lists, in its order; `base` is the page's own address.

    An address that is no http(s) one, lacks one of its five parts, or has a part that is no code, is passed over.
    """
    parser = _Page()
    parser.feed(page)
    parser.close()
    labels = {key: " ".join(text.split()) for key, text in parser.labels.items()}
    found: dict[str, Link] = {}
    for href in parser.hrefs:
        url = urljoin(base, href.strip())
        query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        kind = _KIND.get(query.get("t", "").upper())
        parts = [query.get(name, "") for name in ("code", "c", "s", "q")]
        if (
            kind is None
            or urlsplit(url).scheme not in ("http", "https")
            or not all(_CODE.fullmatch(part) for part in parts)
        ):
            continue
        exam, category, subject, number = parts
        named = labels.get((exam, category, subject), "")
        found.setdefault(url, Link(kind, exam, category, subject, number, url, named, labels.get((exam, category), "")))
    return list(found.values())


def wanted(listed: Iterable[Link]) -> list[Wanted]:
    """Papers, each document once: categories share one where exam, subject code, set and title are the same."""
    papers: defaultdict[tuple[str, str, str, str], list[Link]] = defaultdict(list)
    for link in listed:
        # Without a title nothing says that two categories' papers are the same.
        own = link.title or f"({link.category})"
        papers[link.exam, link.subject, link.set, own].append(link)
    titles: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
    for exam, subject, number, title in papers:
        titles[exam, subject, number].add(title)
    made = []
    for (exam, subject, number, _), same in papers.items():
        alone = len(titles[exam, subject, number]) == 1
        name = "_".join([exam, *([] if alone else [same[0].category]), subject, *([] if number == "1" else [number])])
        documents: dict[str, str] = {}
        for link in same:
            documents.setdefault(link.kind, link.url)
        year = int(exam[:3]) if exam[:3].isdigit() and len(exam) == 6 else None
        categories = dict.fromkeys(link.category_title or link.category for link in same)
        made.append(Wanted(name, documents, year, same[0].title, tuple(categories)))
    return sorted(made, key=lambda paper: paper.name)


def manifest(papers: Iterable[Wanted], digests: dict[str, str]) -> list[dict[str, object]]:
    """Entries for `exam parse`; `digests` maps addresses to the sha256 of what was fetched."""
    columns = {kind: column for column, kind in KINDS.items()}
    entries: list[dict[str, object]] = []
    for paper in papers:
        entry: dict[str, object] = {"id": paper.name, "year": paper.year, "subject": paper.title}
        for kind, url in paper.documents.items():
            told = {"file": file_name(paper.name, kind)}
            entry[columns[kind]] = told | ({"sha256": digests[url]} if url in digests else {})
        entry["categories"] = list(paper.categories)
        entries.append(entry)
    return entries


def file_name(name: str, kind: str) -> str:
    """The file of a document, as `exam parse` also finds it without a manifest."""
    return f"{name}__{kind}.pdf"
