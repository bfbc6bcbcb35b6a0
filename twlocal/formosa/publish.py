"""Stage `build`: a build's files. The published rows, where they come from, who made them, and what was left out.

    parquet/formosa.parquet   jsonl/formosa.jsonl   the published rows, the same in both
    attribution.csv             every article: title, author, date, licence, sha256, its windows and published rows
    accounting/windows.csv      every window: its article, span and length
    accounting/items.csv        every draft, and every window without one: its fate and what decided it
    verdicts.jsonl              what every judge said of every item
    curation.json, difficulty.jsonl   where a difficulty band was cut: what it was cut by, and every item's difficulty
    README.md                   the dataset card
    build_manifest.json         versions, who was asked and how, the accounting, the sha256 of every other file

The same database gives the same bytes, in however many sittings its stages ran.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import twlocal
from twlocal import publishing
from twlocal.errors import UsageError
from twlocal.formosa import accounting, card, grounded
from twlocal.formosa.accounting import Counts, Line
from twlocal.formosa.asked import AskerRow
from twlocal.formosa.curated import Curations
from twlocal.formosa.fates import PUBLISHED, Draftlike, Fate, fates
from twlocal.formosa.judging import Verdict
from twlocal.formosa.stored import Build, Builds
from twlocal.formosa.windows import Window
from twlocal.item import LABELS, Item

FORMAT = "twlocal-formosa-build/1"
LICENSE = "CC BY-SA 4.0"
_ATTRIBUTION = ("path", "title", "author", "date", "license", "sha256", "windows", "published")
_WINDOWS = ("window", "path", "start", "end", "chars", "section")
_ITEMS = ("window", "source", "no", "fate", "rule", "detail", "content_hash")
_ROW = (
    *("question", *LABELS, "answer", "id", "subject", "source", "path", "section", "start", "end"),
    *("window", "order", "generator"),
)
_CALIBRATED = ("passed", "failings", "thresholds", "caught", "false_alarms", "unread")


@dataclass(frozen=True)
class Parts:
    """All that a build's files are made from."""

    build: Build
    articles: list[dict[str, Any]]
    windows: list[Window]
    fates: list[Fate]
    items: Mapping[int, tuple[str, Item]]  # by draft id: the draft's letters in the order shown, and the item
    judge: AskerRow | None  # None where there is no item to judge, or nobody has
    calibration: Mapping[str, Any] | None
    judges: list[tuple[AskerRow, Mapping[int, Verdict]]]
    generators: list[AskerRow]
    rules: list[str]
    band: tuple[str, str] | None  # texts of curation.json and difficulty.jsonl

    @property
    def self_judged(self) -> bool:
        """Whether the judge is a model that also drafted."""
        judge = self.judge
        return judge is not None and any(judge.identity["model"] == one.identity["model"] for one in self.generators)


def gather(
    builds: Builds,
    build: Build,
    *,
    judge: str | None = None,
    band: str | None = None,
    whole: bool = False,
    unfinished: bool = False,
) -> Parts:
    """What a build has come to. judge: of several, the one that decides. band: a frozen one by name, else the last.

    whole: publish every grounded item, whichever band is frozen. unfinished: it need not have been judged. Raises
    UsageError where no judge, or more than one, or no such band is there.
    """
    items = {stored.id: (order, item) for stored, order, item in builds.items(build)}
    row, verdicts = _judged(builds, build, judge, needed=bool(items) and not unfinished)
    screened = {stored.id: (kept, found) for stored, kept, _, found in builds.screened(build)}
    drafts = []
    for stored in builds.drafts(build):
        kept, found = screened.get(stored.id, (None, []))
        _, item = items.get(stored.id, ("", None))
        digest = item.content_hash if item else ""
        drafts.append(Draftlike(stored.id, stored.draft.window, stored.source, stored.no, kept, tuple(found), digest))
    windows = builds.windows(build)
    texts = None if whole else Curations.beside(builds).texts(build, band)
    chosen = None
    if texts:
        lines = map(json.loads, filter(str.strip, texts[1].split("\n")))
        chosen = frozenset(line["content_hash"] for line in lines if line["in_band"])
    return Parts(
        build=build,
        articles=builds.articles(build),
        windows=windows,
        fates=fates(dict.fromkeys(window.hash for window in windows), builds.faults(build), drafts, verdicts, chosen),
        items=items,
        judge=row,
        calibration=builds.calibration_report(row.asker) if row else None,
        judges=[(one, builds.verdicts(build, one.asker)) for one in builds.askers(build, "judge")],
        generators=builds.askers(build, "draft"),
        rules=builds.rules(build),
        band=texts,
    )


def _judged(
    builds: Builds, build: Build, judge: str | None, *, needed: bool
) -> tuple[AskerRow | None, dict[int, Verdict]]:
    if needed or judge or any(builds.verdicts(build, one.asker) for one in builds.askers(build, "judge")):
        return grounded.judged(builds, build, judge)
    return None, {}


def write(out: Path, parts: Parts) -> Counts:
    """Write a build to the folder `out` and return its accounting.

    Raises UsageError where nothing is left to publish, or `out` is something else than a build.
    """
    rows = published(parts)
    if not rows:
        raise UsageError(
            f"nothing of {parts.build.name} is left to publish",
            hint="twlocal formosa accounting says where it went",
        )
    with publishing.folder(out) as place:
        return _write(place, parts, rows)


def counted(parts: Parts) -> Counts:
    """The accounting of what a build has come to."""
    return accounting.of_fates(Line(one.window, one.source, one.fate, one.rule) for one in parts.fates)


def published(parts: Parts) -> list[dict[str, str]]:
    """The published rows, by article and place. All cells are text."""
    places = {window.hash: window for window in reversed(parts.windows)}
    about = {row["path"]: row for row in parts.articles}
    rows = []
    for fate in parts.fates:
        if fate.fate == PUBLISHED:
            order, item = parts.items[fate.draft_id]
            window = places[fate.window]
            article = about[window.path]
            rows.append(
                {
                    "question": item.question,
                    **dict(zip(LABELS, item.options, strict=True)),
                    "answer": item.answer,
                    "id": item.content_hash[:16],
                    "subject": article["category"],
                    "source": f"Taiwan.md：{article['title']}",
                    "path": window.path,
                    "section": window.section,
                    "start": str(window.start),
                    "end": str(window.end),
                    "window": fate.window,
                    "order": order,
                    "generator": fate.source,
                }
            )
    return rows


def _write(place: Path, parts: Parts, rows: list[dict[str, str]]) -> Counts:
    for folder in ("parquet", "jsonl", "accounting"):
        (place / folder).mkdir()
    publishing.write_parquet(place / "parquet" / "formosa.parquet", rows, _ROW)
    publishing.write_jsonl(place / "jsonl" / "formosa.jsonl", rows)
    attribution = _attribution(parts, rows)
    publishing.write_csv(
        place / "attribution.csv", _ATTRIBUTION, [[one[name] for name in _ATTRIBUTION] for one in attribution]
    )
    publishing.write_csv(place / "accounting" / "windows.csv", _WINDOWS, map(_window_line, parts.windows))
    publishing.write_csv(place / "accounting" / "items.csv", _ITEMS, map(_item_line, parts.fates))
    verdicts = _verdicts(parts)
    publishing.write_jsonl(place / "verdicts.jsonl", verdicts)
    files = {
        "parquet/formosa.parquet": len(rows),
        "jsonl/formosa.jsonl": len(rows),
        "attribution.csv": len(attribution),
        "accounting/windows.csv": len(parts.windows),
        "accounting/items.csv": len(parts.fates),
        "verdicts.jsonl": len(verdicts),
        "README.md": 0,
    }
    if parts.band:
        for name, text in zip(("curation.json", "difficulty.jsonl"), parts.band, strict=True):
            publishing.write_text(place / name, text)
        files |= {"curation.json": 0, "difficulty.jsonl": parts.band[1].count("\n")}
    counts = rederived(place)
    publishing.write_text(place / "README.md", card.text(counts, parts, attribution))
    publishing.write_manifest(place, _manifest(parts, rows, counts), files)
    return counts


def _manifest(parts: Parts, rows: list[dict[str, str]], counts: Counts) -> dict[str, Any]:
    build, stated = parts.build, parts.calibration
    hashes = {item.content_hash[:16]: item.content_hash for _, item in parts.items.values()}
    return {
        "format": FORMAT,
        "twlocal": twlocal.__version__,
        "license": LICENSE,
        "build": build.name,
        "corpus": {"sha256": build.corpus, "files": dict(build.files), "articles": len(parts.articles)},
        "cutting": dict(build.settings),
        "rules": parts.rules,
        "generators": [_asker(one) for one in parts.generators],
        "judge": (_asker(parts.judge) if parts.judge else {})
        | {
            "also_drafted": parts.self_judged,
            "calibration": {name: stated[name] for name in _CALIBRATED if name in stated} if stated else None,
        },
        "band": json.loads(parts.band[0])["name"] if parts.band else None,
        "dataset_fingerprint": publishing.fingerprint((hashes[row["id"]], row["subject"]) for row in rows),
        "accounting": accounting.as_json(counts),
    }


def _asker(one: AskerRow) -> dict[str, Any]:
    return {"name": one.name, "key": one.asker, "identity": dict(one.identity)}


def _attribution(parts: Parts, rows: list[dict[str, str]]) -> list[dict[str, str]]:
    windows = Counter(window.path for window in parts.windows)
    used = Counter(row["path"] for row in rows)
    return [
        {name: row[name] for name in ("path", "title", "author", "date", "license", "sha256")}
        | {"windows": str(windows[row["path"]]), "published": str(used[row["path"]])}
        for row in parts.articles
    ]


def _window_line(window: Window) -> list[str]:
    return [window.hash, window.path, str(window.start), str(window.end), str(len(window.text)), window.section]


def _item_line(fate: Fate) -> list[str]:
    return [fate.window, fate.source, str(fate.no), fate.fate, fate.rule, fate.detail, fate.content_hash]


def _verdicts(parts: Parts) -> list[dict[str, Any]]:
    by_hash: dict[tuple[str, str], dict[str, Any]] = {}
    for judge, verdicts in parts.judges:
        for draft_id, said in verdicts.items():
            digest = parts.items[draft_id][1].content_hash
            by_hash[digest, judge.name] = {"content_hash": digest, "judge": judge.name, **asdict(said)}
    return [by_hash[key] for key in sorted(by_hash)]


def rederived(place: Path) -> Counts:
    """The accounting of a build, from its list of items. Raises UsageError where that cannot be read."""
    try:
        return accounting.of_fates(
            Line(one["window"], one["source"], one["fate"], one["rule"])
            for one in publishing.read_csv(place / "accounting" / "items.csv")
        )
    except (OSError, UnicodeError, KeyError, ValueError) as error:
        raise UsageError(f"{place} is not a build that can be read: {error}") from error


def check(place: Path) -> list[str]:
    """What is wrong with a build's folder, a sentence each: files changed, numbers that cannot be derived again."""
    manifest = publishing.read_manifest(place)
    if manifest.get("format") != FORMAT:
        raise UsageError(f"{place} is no build of tw-formosa-bench", hint="twlocal exam check looks at the other one")
    wrong, there = publishing.changed(place, manifest), publishing.present(place)
    if "accounting/items.csv" in there:
        again = accounting.as_json(rederived(place))
        stated = manifest.get("accounting", {})
        wrong += [
            f"the manifest says {name} is {stated.get(name)}, the list says {again[name]}"
            for name in again
            if stated.get(name) != again[name]
        ]
        if "jsonl/formosa.jsonl" in there:
            rows = publishing.count_lines(place / "jsonl" / "formosa.jsonl")
            if rows != again["published"]:
                wrong.append(f"jsonl/formosa.jsonl has {rows} rows, the list says {again['published']}")
    return wrong
