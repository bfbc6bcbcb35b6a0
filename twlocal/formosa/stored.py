"""Builds of tw-formosa-bench in the database: what each stage left.

The tables are told by db/migrations/0003_formosa.sql; what models said is in `twlocal.formosa.asked`.

Every method that writes is one transaction, so that a stage that was killed goes on where it stopped, and a row that is
there is there whole.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from twlocal.errors import UsageError
from twlocal.formosa.articles import Article
from twlocal.formosa.asked import Asked
from twlocal.formosa.drafts import Draft
from twlocal.formosa.screening import Screened
from twlocal.formosa.tables import as_json
from twlocal.formosa.windows import Window, printed
from twlocal.item import Item


@dataclass(frozen=True, slots=True)
class Build:
    """One state of the corpus, cut in one way. `files` counts the corpus's files by kind."""

    id: int
    name: str
    corpus: str
    settings: Mapping[str, Any]
    files: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class StoredDraft:
    """A draft with its number in the database and among the drafts of its window from its source."""

    id: int
    source: str
    no: int
    draft: Draft


class Builds(Asked):
    """The builds in a database; `path` is for messages."""

    # --- builds and windows -------------------------------------------------------------------------------------------

    def begin(
        self, key: str, name: str, corpus: str, settings: Mapping[str, Any], files: Mapping[str, int], now: str
    ) -> Build:
        """The build with this key: the one that is there, or a new one. `now` is UTC, ISO 8601."""
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO formosa_builds (key, name, corpus, settings, files, created_at) VALUES (?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (key) DO NOTHING",
                (key, name, corpus, as_json(settings), as_json(files), now),
            )
        return self._builds("WHERE key = ?", (key,))[0]

    def all(self) -> list[Build]:
        """All builds, the newest last."""
        return self._builds("ORDER BY id", ())

    def get(self, name: str | None) -> Build:
        """The build of this name, or the newest. Raises UsageError where there is none."""
        found = self._builds("WHERE name = ?", (name,)) if name else self.all()[-1:]
        if not found:
            said = f"there is no build {name}" if name else "there is no build yet"
            names = ", ".join(build.name for build in self.all())
            raise UsageError(
                f"{said} in {self._path}",
                hint=f"there are: {names}" if names else "twlocal formosa windows CORPUS makes one",
            )
        return found[0]

    def _builds(self, where: str, values: Sequence[Any]) -> list[Build]:
        rows = self._rows(f"SELECT id, name, corpus, settings, files FROM formosa_builds {where}", values)
        return [Build(row[0], row[1], row[2], json.loads(row[3]), json.loads(row[4])) for row in rows]

    def cut(self, build: Build) -> set[str]:
        """Paths of the articles whose windows are stored."""
        return {row[0] for row in self._rows("SELECT path FROM formosa_articles WHERE build_id = ?", (build.id,))}

    def add_article(
        self,
        build: Build,
        article: Article,
        windows: Sequence[Window],
        *,
        chars: int,
        prose: int,
        dropped: Mapping[str, int],
        note: str,
    ) -> None:
        """Store an article and all its windows at once; one that is there already stays as it is."""
        with self._writing() as connection:
            done = connection.execute(
                "INSERT INTO formosa_articles VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (
                    build.id, article.path, article.sha256, article.title, article.category, article.author,
                    article.date, article.license, chars, prose, sum(printed(window.text) for window in windows),
                    as_json(dropped), note,
                ),
            )  # fmt: skip
            if done.rowcount:
                connection.executemany(
                    "INSERT INTO formosa_windows (build_id, path, span_start, span_end, hash, section, text) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?)",
                    [(build.id, w.path, w.start, w.end, w.hash, w.section, w.text) for w in windows],
                )

    def articles(self, build: Build) -> list[dict[str, Any]]:
        """Attribution and lengths of every article, by path."""
        names = (
            "path",
            "sha256",
            "title",
            "category",
            "author",
            "date",
            "license",
            "chars",
            "prose",
            "windowed",
            "dropped",
            "note",
        )
        rows = self._rows(
            f"SELECT {', '.join(names)} FROM formosa_articles WHERE build_id = ? ORDER BY path", (build.id,)
        )
        found = [dict(zip(names, row, strict=True)) for row in rows]
        return [row | {"dropped": json.loads(row["dropped"])} for row in found]

    def windows(self, build: Build) -> list[Window]:
        """Every window, by path and place. A text that stands twice is there twice, under one hash."""
        rows = self._rows(
            "SELECT path, span_start, span_end, section, text FROM formosa_windows WHERE build_id = ? "
            "ORDER BY path, span_start",
            (build.id,),
        )
        return [Window(*row) for row in rows]

    # --- drafts, screening, items -------------------------------------------------------------------------------------

    def add_drafts(self, build: Build, source: str, drafts: Sequence[Draft]) -> int:
        """Store drafts of one source and return how many are new; the same draft of the same window is stored once.

        Raises UsageError for a draft whose window the build does not have.
        """
        known = {row[0] for row in self._rows("SELECT hash FROM formosa_windows WHERE build_id = ?", (build.id,))}
        for number, draft in enumerate(drafts, 1):
            if draft.window not in known:
                raise UsageError(
                    f"draft {number} of {source} names the window {draft.window[:16]}…, which {build.name} has not",
                    hint="screen drafts against the build they were written from (--build)",
                )
        there = {(stored.draft, stored.source) for stored in self.drafts(build)}
        added = 0
        with self._writing() as connection:
            for draft in drafts:
                if (draft, source) in there:
                    continue
                there.add((draft, source))
                added += 1
                connection.execute(
                    "INSERT INTO formosa_drafts (build_id, window_hash, source, no, question, a, b, c, d, answer) "
                    "SELECT ?, ?, ?, COUNT(*), ?, ?, ?, ?, ?, ? FROM formosa_drafts "
                    "WHERE build_id = ? AND window_hash = ? AND source = ?",
                    (
                        build.id,
                        draft.window,
                        source,
                        draft.question,
                        *draft.options,
                        draft.answer,
                        build.id,
                        draft.window,
                        source,
                    ),
                )
        return added

    def drafts(self, build: Build) -> list[StoredDraft]:
        """Every draft, by source, window and number: an order that does not tell when it came."""
        rows = self._rows(
            "SELECT id, source, no, window_hash, question, a, b, c, d, answer FROM formosa_drafts WHERE build_id = ? "
            "ORDER BY source, window_hash, no",
            (build.id,),
        )
        return [StoredDraft(row[0], row[1], row[2], Draft(row[3], row[4], tuple(row[5:9]), row[9])) for row in rows]

    def screened_by(self, build: Build, rules: str) -> set[int]:
        """Ids of the drafts that these rules have screened."""
        rows = self._rows(
            "SELECT draft_id FROM formosa_screened JOIN formosa_drafts ON id = draft_id "
            "WHERE build_id = ? AND rules = ?",
            (build.id, rules),
        )
        return {row[0] for row in rows}

    def add_screened(self, rules: str, results: Sequence[tuple[int, Screened]]) -> None:
        """Store what screening said; what other rules said of the draft, and its item, are replaced."""
        with self._writing() as connection:
            for draft_id, screened in results:
                connection.execute("DELETE FROM formosa_items WHERE draft_id = ?", (draft_id,))
                connection.execute(
                    "INSERT OR REPLACE INTO formosa_screened VALUES (?, ?, ?, ?, ?)",
                    (
                        draft_id,
                        rules,
                        int(screened.kept),
                        screened.draft.question,
                        as_json([asdict(finding) for finding in screened.findings]),
                    ),
                )

    def rules(self, build: Build) -> list[str]:
        """The hashes of the rules that the build's drafts were screened by."""
        rows = self._rows(
            "SELECT DISTINCT rules FROM formosa_screened JOIN formosa_drafts ON id = draft_id WHERE build_id = ? "
            "ORDER BY rules",
            (build.id,),
        )
        return [row[0] for row in rows]

    def screened(self, build: Build) -> list[tuple[StoredDraft, bool, str, list[dict[str, Any]]]]:
        """(draft, kept, stem that goes on, findings) of every screened draft, in the order of `drafts`."""
        by_id = {stored.id: stored for stored in self.drafts(build)}
        rows = self._rows(
            "SELECT draft_id, kept, s.question, findings FROM formosa_screened AS s "
            "JOIN formosa_drafts ON id = draft_id WHERE build_id = ? ORDER BY source, window_hash, no",
            (build.id,),
        )
        return [(by_id[row[0]], bool(row[1]), row[2], json.loads(row[3])) for row in rows]

    def add_items(self, items: Sequence[tuple[int, str, Item]]) -> None:
        """Store (draft id, order, item). The same come out whenever they are made: a second time changes nothing."""
        with self._writing() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO formosa_items VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (draft_id, item.content_hash, order, item.question, *item.options, item.answer)
                    for draft_id, order, item in items
                ],
            )

    def items(self, build: Build) -> list[tuple[StoredDraft, str, Item]]:
        """(draft, order, item) of every item, in the order of `drafts`."""
        by_id = {stored.id: stored for stored in self.drafts(build)}
        rows = self._rows(
            "SELECT draft_id, option_order, i.question, i.a, i.b, i.c, i.d, i.answer FROM formosa_items AS i "
            "JOIN formosa_drafts ON id = draft_id WHERE build_id = ? ORDER BY source, window_hash, no",
            (build.id,),
        )
        return [(by_id[row[0]], row[1], Item(row[2], tuple(row[3:7]), row[7])) for row in rows]
