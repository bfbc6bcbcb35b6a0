"""Which papers there are: a manifest (JSON or CSV), or files named `<id>__Q.pdf`, `<id>__A.pdf`, `<id>__M.pdf`.

A manifest lists, for each paper, its id and the files of its question paper, answer key and correction, relative to
the manifest's own folder, and optionally their sha256, the year (Minguo), title and subject as the Ministry's listing
names them:

    id,question,answer,correction,year,subject
    100030_0101,q/100030_0101.pdf,,m/100030_0101.pdf,100,醫學㈠
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twlocal.errors import UsageError

KINDS = {"question": "Q", "answer": "A", "correction": "M"}
# S is what the Ministry's own addresses call an answer key.
_NAMED = re.compile(r"(?P<id>.+)__(?P<kind>[QASM])\.pdf", re.IGNORECASE)
_MANIFESTS = ("manifest.json", "manifest.csv")


@dataclass(frozen=True)
class Document:
    """A file that a paper needs. `kind` is Q, A or M; `sha256` what the listing says of it, or None."""

    kind: str
    path: Path
    sha256: str | None = None


@dataclass(frozen=True)
class Listed:
    """A paper of a listing. `year` (Minguo), `title` and `subject` are empty where the listing does not name them."""

    name: str
    documents: tuple[Document, ...]
    year: int | None = None
    title: str = ""
    subject: str = ""


def discover(place: Path, manifest: Path | None = None) -> list[Listed]:
    """The papers of a folder, sorted by name: by `manifest`, by the folder's own manifest, or by file names.

    `place` may be a manifest itself. Raises UsageError, naming the file and the entry.
    """
    if place.is_file() and manifest is None:
        manifest = place
    elif not place.is_dir():
        raise UsageError(f"there is no folder {place}", hint="name the folder that holds the papers, or a manifest")
    if manifest is None:
        manifest = next((place / name for name in _MANIFESTS if (place / name).is_file()), None)
    papers = _by_names(place) if manifest is None else read_manifest(manifest)
    return sorted(papers, key=lambda paper: paper.name)


def _by_names(folder: Path) -> list[Listed]:
    found: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.rglob("*")):
        named = _NAMED.fullmatch(path.name)
        if named is None or not path.is_file():
            continue
        name = (path.relative_to(folder).parent / named["id"]).as_posix()
        kind = named["kind"].upper().replace("S", "A")
        other = found.setdefault(name, {}).setdefault(kind, path)
        if other != path:
            raise UsageError(f"{other} and {path} are the same document", hint="remove one of them")
    if not found:
        raise UsageError(
            f"no paper in {folder}",
            hint="name the files ID__Q.pdf, ID__A.pdf, ID__M.pdf, or list them: --manifest FILE",
        )
    return [
        Listed(name, tuple(Document(kind, kinds[kind]) for kind in "QAM" if kind in kinds))
        for name, kinds in found.items()
    ]


def read_manifest(path: Path) -> list[Listed]:
    """The papers of a manifest. Raises UsageError, naming the entry."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeError) as error:
        raise UsageError(f"cannot read the manifest {path}: {error}") from error
    entries: Any
    if path.suffix.lower() == ".csv":
        entries = csv.DictReader(io.StringIO(text))
    else:
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"the manifest {path} is not JSON: {error}", hint="a CSV manifest ends in .csv") from error
        entries = data.get("papers") if isinstance(data, dict) else data
    if not isinstance(entries, Iterable):
        raise UsageError(f"the manifest {path} lists no papers", hint='a list of papers, or {"papers": […]}')
    papers: dict[str, Listed] = {}
    for number, entry in enumerate(entries, 1):
        paper = _entry(entry, path, number)
        if paper.name in papers:
            raise UsageError(f"{path}, entry {number}: the paper {paper.name} is listed twice")
        papers[paper.name] = paper
    if not papers:
        raise UsageError(f"the manifest {path} lists no papers")
    return list(papers.values())


def _entry(entry: Any, manifest: Path, number: int) -> Listed:
    where = f"{manifest}, entry {number}"
    name = entry.get("id") or entry.get("name") if isinstance(entry, Mapping) else None
    if not isinstance(name, str) or not name.strip():
        raise UsageError(f"{where}: no id", hint="a paper has id, question, answer, correction")
    documents = []
    for column, kind in KINDS.items():
        value = entry.get(column)
        file, digest = value, entry.get(f"{column}_sha256")
        if isinstance(value, Mapping):
            file, digest = value.get("file"), value.get("sha256")
        if not file:
            continue
        if not isinstance(file, str):
            raise UsageError(f"{where}: {column} is not a file name")
        documents.append(Document(kind, manifest.parent / file, str(digest).lower() if digest else None))
    year = str(entry.get("year") or "").strip()
    if year and not (year.isascii() and year.isdigit()):
        raise UsageError(f"{where}: the year is {year!r}", hint="the Minguo year as a number, such as 100")
    title, subject = (str(entry.get(column) or "").strip() for column in ("title", "subject"))
    return Listed(name.strip(), tuple(documents), int(year) if year else None, title, subject)
