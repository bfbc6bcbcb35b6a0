"""A build's files: data by subject, the withdrawal list, the accounting, the card and the manifest that ties them.

    parquet/<subject>.parquet   jsonl/<subject>.jsonl   the published rows, the same in both
    withdrawn.jsonl             rows that are published and not scored, with the reason
    accounting/papers.csv       every paper seen: its documents' sha256, its state, why it was rejected
    accounting/items.csv        every raw item: its subject and what became of it
    README.md                   the dataset card
    build_manifest.json         versions, the accounting table, and the sha256 of every other file

Nothing in them depends on when, where or in how many sittings they were made: building twice gives the same bytes. The
folder is written beside its place and moved there whole.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import twlocal
from twlocal import publishing
from twlocal.errors import UsageError
from twlocal.item import LABELS

from . import accounting, card, version
from .accounting import Accounting, ItemLine, PaperLine
from .decide import PUBLISHED, WITHDRAWN, Fate
from .ledger import PaperRow
from .subjects import Rules

FORMAT = "twlocal-exam-build/1"
_PAPERS = ("paper", "state", "reason", "detail", "year", "subject_title", "question", "answer", "correction", "flags")
_ITEMS = ("paper", "number", "subject", "fate", "rule", "detail", "content_hash")


@dataclass(frozen=True)
class Other:
    """A dataset that the build is kept disjoint from."""

    name: str
    revision: str
    fingerprint: str
    rows: int


def row(fate: Fate, printings: int, names: Mapping[str, str]) -> dict[str, str]:
    """A published row. `printings` counts how often the question was printed, this time included; all cells are text.

    `original_answer` is the letter before an official correction, "" when there was none.
    """
    item = fate.item
    year = "" if item.year is None else str(item.year)
    return {
        "question": item.question,
        **dict(zip(LABELS, item.texts, strict=True)),
        "answer": item.answer or "",
        "id": f"{item.paper}-{item.number:03d}",
        "subject": fate.subject,
        "field": fate.field,
        "year": year,
        "source": " ".join(filter(None, ["考選部", item.title, item.subject_title, f"第{item.number}題"])),
        "subject_zh": names.get(fate.subject, ""),
        "printings": str(printings),
        "original_answer": item.original if item.original not in (None, item.answer) and item.original else "",
        "flags": " ".join(item.flags),
    }


def write(
    out: Path, papers: Sequence[PaperRow], fates: Sequence[Fate], rules: Rules, others: Sequence[Other] = ()
) -> Accounting:
    """Writes a build to the folder `out` and returns its accounting. Raises UsageError when `out` is something else."""
    with publishing.folder(out) as part:
        return _write(part, papers, fates, rules, others)


def _write(
    folder: Path, papers: Sequence[PaperRow], fates: Sequence[Fate], rules: Rules, others: Sequence[Other]
) -> Accounting:
    names = {subject.slug: subject.zh for subject in rules.subjects}
    printings = Counter(fate.fingerprint for fate in fates if fate.fingerprint)
    published: defaultdict[str, list[Fate]] = defaultdict(list)
    for fate in fates:
        if fate.fate in (PUBLISHED, WITHDRAWN):
            published[fate.subject].append(fate)
    files: dict[str, int] = {}
    for subject in sorted(published):
        table = [row(fate, printings[fate.fingerprint], names) for fate in published[subject]]
        for kind, writer in (("jsonl", publishing.write_jsonl), ("parquet", _parquet)):
            path = folder / kind / f"{subject}.{kind}"
            path.parent.mkdir(exist_ok=True)
            writer(path, table)
            files[f"{kind}/{path.name}"] = len(table)
    withdrawn = [_withdrawal(fate) for fate in fates if fate.fate == WITHDRAWN]
    publishing.write_jsonl(folder / "withdrawn.jsonl", withdrawn)
    files["withdrawn.jsonl"] = len(withdrawn)
    (folder / "accounting").mkdir()
    for name, columns, lines in (
        ("papers", _PAPERS, [_paper_line(paper) for paper in papers]),
        ("items", _ITEMS, [_item_line(fate) for fate in fates]),
    ):
        publishing.write_csv(folder / "accounting" / f"{name}.csv", columns, lines)
        files[f"accounting/{name}.csv"] = len(lines)
    found = rederived(folder)
    publishing.write_text(folder / "README.md", card.text(found, rules, others))
    files["README.md"] = 0
    kept = (fate for rows in published.values() for fate in rows)
    manifest = {
        "format": FORMAT,
        "twlocal": twlocal.__version__,
        "parser": version.parser(),
        "rules": version.builder(),
        "dataset_fingerprint": publishing.fingerprint((fate.content_hash, fate.subject) for fate in kept),
        "disjoint_from": [vars(other) for other in others],
        "accounting": {
            "papers_seen": found.seen,
            "papers_parsed": found.parsed,
            "papers_rejected": dict(found.rejected),
            **accounting.as_json(found.items),
        },
        "subjects": {subject: accounting.as_json(counts) for subject, counts in found.subjects.items()},
    }
    publishing.write_manifest(folder, manifest, files)
    return found


def _parquet(path: Path, rows: Sequence[Mapping[str, str]]) -> None:
    publishing.write_parquet(path, rows, list(rows[0]))


def _withdrawal(fate: Fate) -> dict[str, str]:
    return {
        "ch": fate.content_hash,
        "id": f"{fate.item.paper}-{fate.item.number:03d}",
        "subject": fate.subject,
        "rule": fate.rule,
        "reason": fate.detail,
    }


def _paper_line(paper: PaperRow) -> list[str]:
    first = paper.reasons[0] if paper.reasons else None
    year = "" if paper.year is None else str(paper.year)
    told = [first.reason, first.detail] if first else ["", ""]
    return [paper.name, paper.state, *told, year, paper.subject_title, *paper.sha256, " ".join(paper.flags)]


def _item_line(fate: Fate) -> list[str]:
    item = fate.item
    return [item.paper, str(item.number), fate.subject, fate.fate, fate.rule, fate.detail, fate.content_hash]


def rederived(folder: Path) -> Accounting:
    """The accounting of a build, from its two lists. Raises UsageError when they cannot be read."""
    try:
        papers = (
            PaperLine(one["paper"], one["reason"]) for one in publishing.read_csv(folder / "accounting" / "papers.csv")
        )
        items = (
            ItemLine(one["paper"], one["subject"], one["fate"], one["rule"])
            for one in publishing.read_csv(folder / "accounting" / "items.csv")
        )
        return accounting.of(papers, items)
    except (OSError, UnicodeError, KeyError, ValueError, csv.Error) as error:
        raise UsageError(f"{folder} is not a build that can be read: {error}") from error


def check(folder: Path) -> list[str]:
    """What is wrong with a build's folder, a sentence each: files changed, numbers that cannot be derived again."""
    manifest = publishing.read_manifest(folder)
    try:
        files, stated, subjects = manifest["files"], manifest["accounting"], manifest["subjects"]
    except KeyError as error:
        raise UsageError(f"{folder} holds no manifest of tw-exam-bench: {error} is missing") from error
    wrong, there = publishing.changed(folder, manifest), publishing.present(folder)
    if not {"accounting/papers.csv", "accounting/items.csv"} <= there:
        return wrong
    found = rederived(folder)
    again = accounting.as_json(found.items) | {
        "papers_seen": found.seen,
        "papers_parsed": found.parsed,
        "papers_rejected": dict(found.rejected),
    }
    wrong += [
        f"the manifest says {name} is {stated.get(name)}, the lists say {again[name]}"
        for name in again
        if stated.get(name) != again[name]
    ]
    for subject, counts in found.subjects.items():
        if subjects.get(subject) != accounting.as_json(counts):
            wrong.append(f"the manifest's numbers for {subject or '(no subject)'} are not those of the lists")
    for name, stated_file in files.items():
        if name.startswith("jsonl/") and name in there:
            subject = name.removeprefix("jsonl/").removesuffix(".jsonl")
            rows = publishing.count_lines(folder / name)
            listed = found.subjects[subject].published if subject in found.subjects else 0
            if not rows == listed == stated_file.get("rows"):
                wrong.append(f"{name} has {rows} rows, the lists say {listed}")
    return wrong
