"""The stages over a database: `windows`, `screen`, `permute`. Each goes on where it was stopped."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from twlocal.errors import UsageError
from twlocal.formosa.articles import ARTICLE, Source, article, kind, knowledge, read_front, sources
from twlocal.formosa.drafts import Draft
from twlocal.formosa.lexicon import Lexicon
from twlocal.formosa.markdown import front_matter, parser, read
from twlocal.formosa.permute import order, permuted
from twlocal.formosa.screening import rules_hash, screen
from twlocal.formosa.stored import Build, Builds
from twlocal.formosa.windows import TARGET, cut, printed

# Part of a build's key: raise it whenever the same corpus is cut otherwise.
CUTTING = "1"
# Drafts screened in one transaction.
_BATCH = 200


def cut_corpus(
    builds: Builds,
    root: Path,
    *,
    now: str,
    target: int = TARGET,
    name: str | None = None,
    done: Callable[[str], None] = lambda path: None,
) -> Build:
    """Stage `windows`: every article of the checkout at `root` cut into windows, an article a transaction.

    `done` is told each article as it is stored. The same corpus and settings are the same build. Raises DatasetError
    for a corpus that cannot be read, UsageError for a name that another build has.
    """
    parser()
    place = knowledge(root)
    files: Counter[str] = Counter()
    articles: list[Source] = []
    fingerprint = hashlib.sha256()
    for source in sources(place):
        fingerprint.update(f"{source.path}\x1f{source.sha256}\n".encode())
        found = kind(source, read_front(front_matter(source.text)))
        files[found] += 1
        if found == ARTICLE:
            articles.append(source)
    corpus = fingerprint.hexdigest()
    settings = {"cutting": CUTTING, "target": target}
    key = hashlib.sha256(json.dumps([corpus, settings], sort_keys=True).encode("utf-8")).hexdigest()
    taken = next((build for build in builds.all() if build.name == name), None)
    if taken and (taken.corpus, dict(taken.settings)) != (corpus, settings):
        raise UsageError(f"another corpus was already cut under the name {name}", hint="choose another --name")
    build = builds.begin(key, name or f"taiwan-md-{key[:8]}", corpus, settings, dict(files), now)
    there = builds.cut(build)
    for source in articles:
        if source.path not in there:
            _cut_article(builds, build, source, target)
            done(source.path)
    return build


def _cut_article(builds: Builds, build: Build, source: Source, target: int) -> None:
    front = read_front(front_matter(source.text))
    page = read(source.text)
    windows = cut(source.path, source.text, page.blocks, target)
    builds.add_article(
        build,
        article(source, front),
        windows,
        chars=len(source.text),
        prose=sum(printed(block.text) for block in page.blocks),
        dropped=dict(sorted(page.dropped.items())),
        note=front.fault,
    )


def window_rows(builds: Builds, build: Build) -> Iterator[dict[str, Any]]:
    """The windows as rows to write, one a text: a text that stands twice in the corpus is asked about once."""
    titles = {row["path"]: row for row in builds.articles(build)}
    seen: set[str] = set()
    for window in builds.windows(build):
        if window.hash not in seen:
            seen.add(window.hash)
            about = titles[window.path]
            yield {
                "window": window.hash,
                "path": window.path,
                "start": window.start,
                "end": window.end,
                "source_sha256": about["sha256"],
                "title": about["title"],
                "category": about["category"],
                "section": window.section,
                "chars": len(window.text),
                "text": window.text,
            }


def screen_drafts(builds: Builds, build: Build, lexicon: Lexicon) -> int:
    """Stage `screen`: every draft of the build that these rules have not seen. Returns how many were screened now."""
    rules = rules_hash(lexicon)
    seen = builds.screened_by(build, rules)
    waiting = [stored for stored in builds.drafts(build) if stored.id not in seen]
    for at in range(0, len(waiting), _BATCH):
        batch = waiting[at : at + _BATCH]
        builds.add_screened(rules, [(stored.id, screen(stored.draft, lexicon)) for stored in batch])
    return len(waiting)


def permute_items(builds: Builds, build: Build) -> int:
    """Stage `permute`: every kept draft as an item with permuted options. Returns how many items the build has.

    Raises UsageError where nothing was screened, unless no generator's response held a draft.
    """
    screened = builds.screened(build)
    if not screened and (builds.drafts(build) or not builds.faults(build)):
        raise UsageError(f"nothing of {build.name} was screened yet", hint="twlocal formosa screen")
    items = []
    for stored, kept, question, _ in screened:
        if kept:
            draft = Draft(stored.draft.window, question, stored.draft.options, stored.draft.answer)
            items.append((stored.id, order(draft.window, stored.no), permuted(draft, stored.no)))
    builds.add_items(items)
    return len(items)


def screened_rows(screened: Sequence[tuple[Any, bool, str, list[dict[str, Any]]]]) -> Iterator[dict[str, Any]]:
    """Every screened draft as a row to write, with what was found."""
    for stored, kept, question, findings in screened:
        a, b, c, d = stored.draft.options
        yield {
            "window": stored.draft.window,
            "source": stored.source,
            "kept": kept,
            "question": question,
            "A": a,
            "B": b,
            "C": c,
            "D": d,
            "answer": stored.draft.answer,
            "findings": findings,
        }


def item_rows(builds: Builds, build: Build) -> Iterator[dict[str, Any]]:
    """Every item as a row of a dataset that `twlocal run --bench` reads, with its window and the draft's order."""
    places = {window.hash: window for window in reversed(builds.windows(build))}
    for stored, letters, item in builds.items(build):
        a, b, c, d = item.options
        window = places[stored.draft.window]
        yield {
            "id": item.content_hash[:16],
            "question": item.question,
            "A": a,
            "B": b,
            "C": c,
            "D": d,
            "answer": item.answer,
            "window": stored.draft.window,
            "path": window.path,
            "start": window.start,
            "end": window.end,
            "order": letters,
        }
