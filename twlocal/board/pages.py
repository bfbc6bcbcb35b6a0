"""A board → its pages. Each says what it is made from, so that only what changed is made again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files as resources
from statistics import median
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from markupsafe import Markup, escape

import twlocal
from twlocal.board import figures, words
from twlocal.board.board import UNRANKED, Bench, Board, Entry, axes_of
from twlocal.board.history import Entry as HistoryEntry
from twlocal.board.names import subject_slugs
from twlocal.board.numbers import Numbers
from twlocal.board.site import Page, digest, digest_of
from twlocal.html import Text, environment, render, t
from twlocal.html.numbers import between, percent
from twlocal.html.page import asset

if TYPE_CHECKING:
    from jinja2 import Environment

_SHOWN_CHANGES = 200
_LARGE = 100_000  # items from which a second decimal means something, in the interval of any score
_NO_SUBJECT = t("（未分科）", "(no subject)")
_NAV = (
    ("subjects.html", t("科目", "Subjects")),
    ("ranks.html", t("名次", "Ranks")),
    ("axes.html", t("兩軸", "Two axes")),
    ("difficulty.html", t("難度", "Difficulty")),
    ("halflife.html", t("半衰期", "Half-life")),
    ("apparatus.html", t("測量工具", "Apparatus")),
    ("history.html", t("更動紀錄", "History")),
    ("data.html", t("資料", "Data")),
)


@cache
def templates() -> str:
    """Digest of everything that turns a board's data into pages: templates, this code, the library that draws."""
    parts: list[str] = []
    for package in ("twlocal.board", "twlocal.html"):
        for folder in (resources(package), resources(package) / "templates"):
            for one in sorted(folder.iterdir(), key=lambda one: one.name):
                if one.name.endswith((".py", ".j2", ".css", ".js")):
                    parts.append(digest(one.read_bytes()))
    for library in ("vl-convert-python", "jinja2"):
        try:
            parts.append(version(library))
        except PackageNotFoundError:
            parts.append("")
    return digest_of([twlocal.__version__, *parts])


def pages(board: Board, history: Sequence[HistoryEntry], files: Mapping[str, str]) -> list[Page]:
    """Every page of the board. files: its data files by name."""
    return _Pages(board, history, files).all()


class _Pages:
    def __init__(self, board: Board, history: Sequence[HistoryEntry], files: Mapping[str, str]) -> None:
        self._board, self._history, self._files = board, history, files
        said = board.site.settings
        self._title = t(said.get("title_zh", said["title"]), said["title"])
        self._names = {facts.slug: facts.name for facts in board.site.models}
        self._slugs = {bench.name: subject_slugs(bench.subjects) for bench in board.benches}
        shown = {
            "subjects.html": any(bench.subjects for bench in board.benches),
            "axes.html": bool(board.axes),
            "difficulty.html": any(bench.difficulty for bench in board.benches),
            "halflife.html": any(bench.halflife for bench in board.benches),
        }
        self._nav = [(name, text) for name, text in _NAV if shown.get(name, True)]
        # What stands on every page.
        self._common = digest_of(
            [templates(), said, [name for name, _ in self._nav], [(b.name, b.title) for b in board.benches]]
        )
        self._digests: dict[str, str] = {}
        self._subject_rows: dict[str, Mapping[str, list[tuple[Entry, Numbers]]]] = {}
        self._row_cells: dict[Numbers, str] = {}
        self._env: Environment | None = None
        self._styles = [asset("board.css", "twlocal.board")]

    def all(self) -> list[Page]:
        board = self._board
        found = [self._page("index.html", ["data/board.json"], self._index)]
        for facts in board.site.models:
            # The names and numbers of models too close to tell apart stand on the page as well: they are in its data.
            name = f"data/models/{facts.slug}.json"
            found.append(
                self._page(
                    f"models/{facts.slug}.html",
                    [name],
                    partial(self._model, facts.slug),
                    self._around(facts.slug),
                )
            )
        for bench in board.benches:
            for subject in bench.subjects:
                place = f"subjects/{bench.name}/{self._slugs[bench.name][subject]}"
                found.append(
                    self._page(
                        f"{place}.html",
                        [f"data/{place}.json"],
                        partial(self._subject, bench, subject),
                        [bench.floor and [bench.floor.conflicts, bench.floor.groups]],
                    )
                )
        subjects = [name for name in self._files if name.startswith("data/subjects/") and name.endswith(".json")]
        by_kind = {kind: [name for name in self._files if name.startswith(f"data/{kind}")] for kind in _KINDS}
        made: dict[str, tuple[list[str], Callable[[], str]]] = {
            "subjects.html": (subjects, self._subjects),
            "ranks.html": (["data/board.json", *by_kind["ranks"]], self._ranks),
            "axes.html": (["data/board.json", *by_kind["axes"]], self._axes),
            "difficulty.html": (by_kind["difficulty"], self._difficulty),
            "halflife.html": (["data/board.json", *by_kind["halflife"]], self._halflife),
            "apparatus.html": (["data/board.json", *by_kind["protocols"]], self._apparatus),
            "history.html": (["data/history.json", "data/board.json"], self._changes),
            "data.html": (
                ["data/board.json", "data/site.json", *by_kind["withdrawn"], *by_kind["manifests"]],
                self._data,
            ),
        }
        return [*found, *(self._page(name, *made[name]) for name, _ in self._nav)]

    def _page(self, name: str, sources: Sequence[str], make: Callable[[], str], more: Any = None) -> Page:
        return Page(name, digest_of([self._common, name, [self._digest(one) for one in sources], more]), make)

    def _digest(self, name: str) -> str:
        if name not in self._digests:
            self._digests[name] = digest(self._files[name])
        return self._digests[name]

    def _around(self, slug: str) -> list[Any]:
        """What a model's page shows that its own data do not hold: facts, and names of models that are close."""
        found: list[Any] = []
        for bench in self._board.benches:
            entry = bench.of(slug)
            if entry is not None:
                found.append(
                    [entry.facts.family, entry.facts.parameters, entry.facts.licence, entry.facts.taiwan_tuned]
                )
                found.append([(one, self._names[one]) for one in entry.close])
                found.append([len(bench.ranked), bench.floor and bench.floor.share])
        return found

    def _render(self, template: str, title: Text, root: str, **values: Any) -> str:
        if self._env is None:
            self._env = environment("twlocal.board")
            self._env.filters.update(size=words.parameters)
            self._env.tests["has"] = lambda found, one: one in found
            self._env.globals.update(notes=words.NOTES, readers=words.READERS, unranked=UNRANKED)
        return render(
            self._env,
            template,
            styles=self._styles,
            title=title,
            site=self._title,
            root=root,
            nav=self._nav,
            here=template.removesuffix(".j2"),
            board=self._board,
            names=self._names,
            **values,
        )

    # -- pages --------------------------------------------------------------------------------------------------

    def _index(self) -> str:
        board = self._board
        rows = [
            {"facts": facts, "cells": [_shown(bench, facts.slug) for bench in board.benches]}
            for facts in sorted(board.site.models, key=self._place)
        ]
        seen = list(board.site.models)
        used = {note for bench in board.benches for entry in bench.entries for note in entry.notes}
        said = board.site.settings
        return self._render(
            "index.html.j2",
            self._title,
            "",
            rows=rows,
            about=t(said.get("about_zh", said.get("about", "")), said.get("about", "")),
            families=sorted({one.family for one in seen if one.family}),
            licences=sorted({one.licence for one in seen if one.licence}),
            sizes=[
                (name, text)
                for name, text, *_ in words.SIZES
                if any(words.size(one.parameters) == name for one in seen)
            ],
            unknown={
                "family": any(not one.family for one in seen),
                "licence": any(not one.licence for one in seen),
                "size": any(one.parameters is None for one in seen),
            },
            tuned=words.TAIWAN,
            size_of=words.size,
            used=[name for name in words.NOTES if name in used],
            close=any(entry.close for bench in board.benches for entry in bench.entries),
            last=self._history[-1] if self._history else None,
        )

    def _place(self, facts: Any) -> tuple[bool, int, str]:
        """Models in the order of the first bench on which they are ranked, the others behind."""
        for at, bench in enumerate(self._board.benches):
            entry = bench.of(facts.slug)
            if entry is not None and entry.rank is not None:
                return (at > 0, entry.rank.place, facts.slug)
        return (True, 1_000_000, facts.slug)

    def _model(self, slug: str) -> str:
        board = self._board
        entries = [(bench, entry) for bench in board.benches if (entry := bench.of(slug)) is not None]
        return self._render(
            "model.html.j2",
            t(self._names[slug], self._names[slug]),
            "../",
            facts=entries[0][1].facts,
            entries=[
                {
                    "bench": bench,
                    "entry": entry,
                    "cell": _shown(bench, slug),
                    "subjects": self._rows(
                        (f"../subjects/{bench.name}/{self._slugs[bench.name][name]}.html", name or _NO_SUBJECT, one)
                        for name, one in entry.subjects
                    ),
                }
                for bench, entry in entries
            ],
            tuned=words.TAIWAN,
            thinking=words.THINKING,
            kinds=words.KINDS,
        )

    def _by_subject(self, bench: Bench) -> Mapping[str, list[tuple[Entry, Numbers]]]:
        """Every result's numbers on each subject of a bench."""
        if bench.name not in self._subject_rows:
            found: dict[str, list[tuple[Entry, Numbers]]] = {name: [] for name in bench.subjects}
            for entry in bench.entries:
                for name, one in entry.subjects:
                    found[name].append((entry, one))
            self._subject_rows[bench.name] = found
        return self._subject_rows[bench.name]

    def _rows(self, found: Iterable[tuple[str, Text | str, Numbers]]) -> Markup:
        """Rows of numbers (address, label, numbers), made at once: a board has sixty thousand of them.

        The same numbers stand on a model's page and on a subject's.
        """
        made, rows = self._row_cells, []
        for address, label, one in found:
            if one not in made:
                made[one] = _row_cells(one)
            link = f'<a href="{escape(quote(address))}">{escape(label)}</a>'
            rows.append(f'<tr><th scope="row">{link}</th>{made[one]}</tr>\n')
        return Markup("".join(rows))

    def _subject(self, bench: Bench, subject: str) -> str:
        found = self._by_subject(bench)[subject]
        ordered = sorted(found, key=lambda row: (not row[0].ranked, -(row[1].accuracy or 0), row[0].slug))
        rows = self._rows((f"../../models/{entry.slug}.html", entry.facts.name, one) for entry, one in ordered)
        most = max((one.items for _, one in found), default=0)
        title = t(subject, subject) if subject else _NO_SUBJECT
        return self._render(
            "subject.html.j2",
            title,
            "../../",
            bench=bench,
            subject=subject,
            slug=self._slugs[bench.name][subject],
            rows=rows,
            items=most,
            smallest=bench.floor.smallest_difference(most) if bench.floor is not None else None,
        )

    def _subjects(self) -> str:
        found = []
        for bench in self._board.benches:
            rows = []
            for subject in bench.subjects:
                own = [(one, entry) for entry, one in self._by_subject(bench)[subject] if entry.ranked and one.n]
                scores = sorted(one.accuracy or 0.0 for one, _ in own)
                best = max(own, key=lambda row: (row[0].accuracy or 0.0, row[1].slug), default=None)
                rows.append(
                    {
                        "subject": subject,
                        "slug": self._slugs[bench.name][subject],
                        "items": max((one.items for one, _ in own), default=0),
                        "models": len(own),
                        "low": scores[0] if scores else None,
                        "median": median(scores) if scores else None,
                        "high": scores[-1] if scores else None,
                        "best": best[1].facts if best else None,
                    }
                )
            if rows:
                found.append((bench, rows))
        return self._render("subjects.html.j2", t("科目", "Subjects"), "", tables=found)

    def _ranks(self) -> str:
        shown = [
            (bench, [{"entry": entry, "cell": _shown(bench, entry.slug)} for entry in bench.ranked])
            for bench in self._board.benches
            if bench.ranked
        ]
        counts = {
            bench.name: int(bench.pairs.real.sum()) if bench.pairs is not None else 0 for bench in self._board.benches
        }
        return self._render("ranks.html.j2", t("名次與差異", "Ranks and differences"), "", tables=shown, real=counts)

    def _axes(self) -> str:
        both = axes_of(self._board.benches)
        assert both is not None  # the page is only there with both
        moved = {
            one.reader: sorted(one.gains.items(), key=lambda row: (-abs(row[1]), row[0]))[:20]
            for one in self._board.axes
        }
        return self._render(
            "axes.html.j2",
            t("兩份題庫的異同", "What the two benchmarks agree on"),
            "",
            first=both[0],
            second=both[1],
            moved=moved,
            family=words.FAMILIES,
            group=words.group,
            readings={"strict": t("嚴格讀法", "strict"), "lenient": t("寬鬆讀法", "lenient")},
            chart=figures.scatter(self._board, both),
            tuned={facts.slug: facts.taiwan_tuned for facts in self._board.site.models},
        )

    def _difficulty(self) -> str:
        tables = []
        for bench in self._board.benches:
            easy = bench.difficulty
            if easy is None:
                continue
            rows: dict[str, list[float]] = {}
            for (_, _, subject), share in zip(self._board.site.items[easy.items].rows, easy.shares, strict=True):
                rows.setdefault(subject, []).append(share)
            listed = [
                {
                    "subject": subject,
                    "slug": self._slugs[bench.name].get(subject, ""),
                    "items": len(shares),
                    "mean": sum(shares) / len(shares),
                    "nobody": sum(share < 1e-9 for share in shares),
                    "everybody": sum(share > 1 - 1e-9 for share in shares),
                }
                for subject, shares in sorted(rows.items())
            ]
            tables.append((bench, easy, listed, figures.difficulty(bench, easy)))
        return self._render("difficulty.html.j2", t("題目難度", "Difficulty of the items"), "", tables=tables)

    def _halflife(self) -> str:
        tables = [
            (bench, bench.halflife, figures.halflife(bench, bench.halflife))
            for bench in self._board.benches
            if bench.halflife is not None
        ]
        return self._render("halflife.html.j2", t("分數區間的半衰期", "Half-life of the score band"), "", tables=tables)

    def _apparatus(self) -> str:
        entries = [entry for bench in self._board.benches for entry in bench.entries]
        used: dict[tuple[str, str], int] = {}
        engines: dict[tuple[str, str], int] = {}
        for entry in entries:
            meta = entry.cell.meta
            used[meta.protocol, meta.protocol_sha256] = used.get((meta.protocol, meta.protocol_sha256), 0) + 1
            engines[meta.engine, meta.engine_version] = engines.get((meta.engine, meta.engine_version), 0) + 1
        return self._render(
            "apparatus.html.j2",
            t("測量工具", "The apparatus"),
            "",
            protocols=[
                (name, sha256, count, self._board.site.protocols.get(sha256))
                for (name, sha256), count in sorted(used.items(), key=lambda row: (-row[1], row[0]))
            ],
            engines=sorted(engines.items(), key=lambda row: (-row[1], row[0])),
        )

    def _changes(self) -> str:
        return self._render(
            "history.html.j2",
            t("更動紀錄", "History"),
            "",
            entries=[
                (entry, [_change(one) for one in entry.changes[:_SHOWN_CHANGES]], len(entry.changes))
                for entry in reversed(self._history)
            ],
            whats=words.WHATS,
        )

    def _data(self) -> str:
        site = self._board.site
        rules: dict[str, list[tuple[str, int]]] = {}
        for bench, rows in site.withdrawn.items():
            counted: dict[str, int] = {}
            for _, rule in rows:
                counted[rule] = counted.get(rule, 0) + 1
            rules[bench] = sorted(counted.items(), key=lambda row: (-row[1], row[0]))
        return self._render(
            "data.html.j2",
            t("資料下載", "Data"),
            "",
            withdrawn=site.withdrawn,
            rules=rules,
            manifests=sorted(site.manifests),
            items=site.items,
            files=self._files,
        )


_KINDS = ("ranks", "axes", "difficulty", "halflife", "protocols", "withdrawn", "manifests")


def _figures(one: Numbers) -> dict[str, Any]:
    """The numbers of a row as a table shows them: a column over the same items has the same decimals."""
    places = _places(one)
    return {
        "numbers": one,
        "strict": percent(one.accuracy, places),
        "between": between(one.interval if one.n else None, places),
        "lenient": percent(one.lenient_accuracy, places),
        "box": percent(one.box_rate),
        "parse": percent(one.parse_rate),
        "n": f"{one.n:,}",
        "bar": _bar(one),
    }


def _row_cells(one: Numbers) -> str:
    """The cells of a row of numbers, in the columns of the macro `columns`.

    Digits, signs and the bar's own markup: nothing in them has to be escaped.
    """
    places = _places(one)
    return (
        f'<td class="num">{one.n:,}</td><td class="num">{percent(one.accuracy, places)}</td>'
        f'<td class="num">{between(one.interval if one.n else None, places)}</td>'
        f'<td class="wide-bar">{_bar(one)}</td>'
        f'<td class="num">{percent(one.lenient_accuracy, places)}</td>'
        f'<td class="num">{percent(one.box_rate)}</td><td class="num">{percent(one.parse_rate)}</td>'
    )


def _places(one: Numbers) -> int:
    """Decimals of a percentage: a column over the same items has the same ones."""
    return 2 if one.items >= _LARGE else 1


def _shown(bench: Bench, slug: str) -> dict[str, Any] | None:
    """A result as the tables show it; None where there is none."""
    entry = bench.of(slug)
    if entry is None:
        return None
    short = entry.planned is not None and entry.planned != entry.numbers.n
    return _figures(entry.numbers) | {
        "entry": entry,
        "bench": bench,
        "of": f"{entry.planned:,}" if short else "",
        "meta": entry.cell.meta,
        "rank": entry.rank,
        "models": len(bench.ranked),
    }


def _bar(one: Numbers) -> Markup:
    """The interval as a bar on a line from 0 to 100%, for the eye; the numbers stand beside it."""
    if not one.n:
        return Markup("")
    low, high, value = 100 * one.interval.low, 100 * one.interval.high, 100 * (one.accuracy or 0)
    # Numbers only: nothing that has to be escaped.
    return Markup(
        f'<span class="ci" aria-hidden="true"><i style="left:{low:.1f}%;width:{high - low:.1f}%"></i>'
        f'<b style="left:{value:.1f}%"></b></span>'
    )


def _change(change: Any) -> dict[str, Any]:
    """A change as a row: only what tells most of it, the rest is in the data."""
    fields = [name for name in change.before if name in change.now or change.what == "changed"]
    return {
        "what": change.what,
        "key": change.key,
        "moved": change.moved,
        "fields": [(name, _said(change.before.get(name)), _said(change.now.get(name))) for name in sorted(fields)],
        "accuracy": _said((change.now or change.before).get("accuracy")),
    }


def _said(value: Any) -> str:
    if value is None or value == "" or value == []:
        return "–"
    if isinstance(value, float):
        return percent(value, 2)
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value) if len(str(value)) <= 24 else f"{str(value)[:16]}…"
