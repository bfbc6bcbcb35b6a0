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
import hashlib
import io
import json
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import twlocal
from twlocal.errors import UsageError
from twlocal.item import LABELS, UNIT_SEPARATOR

from . import accounting, card, version
from .accounting import Accounting, ItemLine, PaperLine
from .decide import PUBLISHED, WITHDRAWN, Fate
from .ledger import PaperRow
from .subjects import Rules

MANIFEST = "build_manifest.json"
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
    _free(out)
    part = out.with_name(out.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        found = _write(part, papers, fates, rules, others)
        old = out.with_name(out.name + ".old")
        shutil.rmtree(old, ignore_errors=True)
        if out.exists():
            out.replace(old)
        part.replace(out)
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return found


def _free(out: Path) -> None:
    if out.is_file() or (out.is_dir() and any(out.iterdir()) and not (out / MANIFEST).is_file()):
        raise UsageError(f"{out} is there and is no build of twlocal", hint="name a folder that is empty or not there")


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
        for kind, writer in (("jsonl", _jsonl), ("parquet", _parquet)):
            path = folder / kind / f"{subject}.{kind}"
            path.parent.mkdir(exist_ok=True)
            writer(path, table)
            files[f"{kind}/{path.name}"] = len(table)
    withdrawn = [_withdrawal(fate) for fate in fates if fate.fate == WITHDRAWN]
    _jsonl(folder / "withdrawn.jsonl", withdrawn)
    files["withdrawn.jsonl"] = len(withdrawn)
    (folder / "accounting").mkdir()
    for name, columns, lines in (
        ("papers", _PAPERS, [_paper_line(paper) for paper in papers]),
        ("items", _ITEMS, [_item_line(fate) for fate in fates]),
    ):
        (folder / "accounting" / f"{name}.csv").write_bytes(_csv(columns, lines))
        files[f"accounting/{name}.csv"] = len(lines)
    found = rederived(folder)
    (folder / "README.md").write_text(card.text(found, rules, others), encoding="utf-8", newline="\n")
    files["README.md"] = 0
    kept = (fate for rows in published.values() for fate in rows)
    manifest = {
        "format": FORMAT,
        "twlocal": twlocal.__version__,
        "parser": version.parser(),
        "rules": version.builder(),
        "dataset_fingerprint": _fingerprint((fate.content_hash, fate.subject) for fate in kept),
        "disjoint_from": [vars(other) for other in others],
        "accounting": {
            "papers_seen": found.seen,
            "papers_parsed": found.parsed,
            "papers_rejected": dict(found.rejected),
            **accounting.as_json(found.items),
        },
        "subjects": {subject: accounting.as_json(counts) for subject, counts in found.subjects.items()},
        "files": {
            name: {"sha256": hashlib.sha256((folder / name).read_bytes()).hexdigest()} | ({"rows": n} if n else {})
            for name, n in sorted(files.items())
        },
    }
    text = json.dumps(manifest, ensure_ascii=False, indent=1) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8", newline="\n")
    return found


def _fingerprint(rows: Iterable[tuple[str, str]]) -> str:
    """As `Dataset.fingerprint` of the published rows, so that a run on them names the same data."""
    lines = sorted(f"{content_hash}{UNIT_SEPARATOR}{subject}" for content_hash, subject in rows)
    return hashlib.sha256("\n".join(lines).encode("utf-8")).hexdigest()


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


def _csv(columns: Sequence[str], lines: Iterable[Sequence[str]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(lines)
    return text.getvalue().encode("utf-8")


def _jsonl(path: Path, rows: Iterable[Mapping[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(one, ensure_ascii=False) + "\n" for one in rows)


def _parquet(path: Path, rows: Sequence[Mapping[str, str]]) -> None:
    from twlocal.backend import missing

    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise missing("parquet", "pyarrow") from error
    schema = arrow.schema([(name, arrow.string()) for name in rows[0]])
    parquet.write_table(arrow.Table.from_pylist(list(rows), schema=schema), path, compression="zstd")


def rederived(folder: Path) -> Accounting:
    """The accounting of a build, from its two lists. Raises UsageError when they cannot be read."""
    try:
        papers = (PaperLine(one["paper"], one["reason"]) for one in _lines(folder / "accounting" / "papers.csv"))
        items = (
            ItemLine(one["paper"], one["subject"], one["fate"], one["rule"])
            for one in _lines(folder / "accounting" / "items.csv")
        )
        return accounting.of(papers, items)
    except (OSError, UnicodeError, KeyError, ValueError, csv.Error) as error:
        raise UsageError(f"{folder} is not a build that can be read: {error}") from error


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def check(folder: Path) -> list[str]:
    """What is wrong with a build's folder, a sentence each: files changed, numbers that cannot be derived again."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        files, stated = manifest["files"], manifest["accounting"]
        subjects = manifest["subjects"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{folder} holds no build manifest that can be read: {error}") from error
    wrong: list[str] = []
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} - {MANIFEST}
    wrong += [f"{name} is missing" for name in sorted(files.keys() - there)]
    wrong += [f"{name} is not listed in the manifest" for name in sorted(there - files.keys())]
    for name in sorted(files.keys() & there):
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != files[name]["sha256"]:
            wrong.append(f"{name} is not the file that was built")
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
            rows = sum(1 for _ in (folder / name).open(encoding="utf-8"))
            listed = found.subjects[subject].published if subject in found.subjects else 0
            if not rows == listed == stated_file.get("rows"):
                wrong.append(f"{name} has {rows} rows, the lists say {listed}")
    return wrong
