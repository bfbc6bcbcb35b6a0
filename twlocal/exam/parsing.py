"""The stage `exam parse`: documents → what they say → papers with their official answers, all in the ledger.

It goes on where it stopped: a document is read once for each parser, a paper paired once for each reading of its
documents. What is on the disk is looked at anew every time.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Protocol, TypeVar, cast

from . import version
from .key import parse_key
from .ledger import Found, Ledger, PaperRow
from .limits import Limits, Outcome, run_all
from .listing import Document, Listed
from .model import Key, Paper, Rejection
from .pair import Pairing, pair
from .paper import parse_paper

T = TypeVar("T")

# Commits hold at most this much work: what a kill loses is read again in a moment.
_BATCH, _SECONDS = 64, 2.0
_CHUNK = 256


@dataclass(frozen=True)
class Step:
    """Progress: `done` of `total` in the phase `what` (`files`, `questions`, `keys`, `papers`)."""

    what: str
    done: int
    total: int


class RunAll(Protocol):
    """Reads many files in some order and place; `limits.run_all` does it here."""

    def __call__(
        self, paths: Iterable[Path], parse: Callable[[Path], Any], *, jobs: int, limits: Limits | None
    ) -> Iterator[Outcome[Any]]: ...


def parse(
    ledger: Ledger,
    listed: Sequence[Listed],
    *,
    jobs: int = 1,
    limits: Limits | None = None,
    watch: Callable[[Step], None] = lambda step: None,
    questions: Callable[[Path], Paper] = parse_paper,
    keys: Callable[[Path], Key] = parse_key,
    run: RunAll = run_all,
) -> None:
    """Registers, reads and pairs; returns when nothing is left. Raises StoreError and its children.

    `questions` and `keys` read one file each in a process of its own; they must be importable. `run` does that.
    """
    failed = ledger.failed_downloads()
    for done, part in _chunks(listed, _CHUNK):
        ledger.register([(paper, [look(document, failed) for document in paper.documents]) for paper in part])
        watch(Step("files", done, len(listed)))
    parser = version.parser()
    _read(ledger, "Q", questions, "questions", parser, jobs, limits, watch, run)
    _read(ledger, "AM", keys, "keys", parser, jobs, limits, watch, run)
    left = ledger.unpaired(parser)
    for done, (row, mark) in enumerate(left, 1):
        _pair(ledger, row, mark)
        watch(Step("papers", done, len(left)))


def look(document: Document, failed: Collection[str] = ()) -> Found:
    """A document on the disk: its hash, or `missing_file` or `checksum` when it is not there or not what was listed.

    `failed` are names of files that `exam fetch` could not get: one that is not there is then a `download_failed`.
    """
    try:
        with document.path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.tell()
    except OSError:
        reason = "download_failed" if document.path.name in failed else "missing_file"
        return Found(document.kind, document.path, reason=reason)
    if document.sha256 is not None and document.sha256 != digest:
        return Found(document.kind, document.path, reason="checksum")
    return Found(document.kind, document.path.absolute(), digest, size)


def _read(
    ledger: Ledger,
    kinds: str,
    read: Callable[[Path], Paper | Key],
    what: str,
    parser: str,
    jobs: int,
    limits: Limits | None,
    watch: Callable[[Step], None],
    run: RunAll,
) -> None:
    ids: defaultdict[Path, list[int]] = defaultdict(list)
    for document in ledger.waiting(kinds, parser):
        ids[document.path].append(document.id)  # one file may be listed as a key and as a correction
    batch: list[tuple[int, Paper | Key | Rejection]] = []
    since = monotonic()
    outcomes = run(ids, read, jobs=min(jobs, max(1, len(ids))), limits=limits)
    # Closed whatever happens, so that no worker outlives an interrupted build.
    with closing(cast(Generator[Outcome[Paper | Key], None, None], outcomes)):
        for done, outcome in enumerate(outcomes if ids else (), 1):
            value = outcome.value if outcome.value is not None else outcome.rejection
            assert value is not None  # an outcome has one of the two
            batch += [(number, value) for number in ids[outcome.path]]
            if len(batch) >= _BATCH or monotonic() - since > _SECONDS:
                ledger.store(batch, parser)
                batch, since = [], monotonic()
            watch(Step(what, done, len(ids)))
    ledger.store(batch, parser)


def _pair(ledger: Ledger, row: PaperRow, mark: str) -> None:
    paper = ledger.paper(row.question) if row.question else Paper()
    answer, correction = (ledger.key(number) if number else None for number in (row.answer, row.correction))
    pairing = joined(row, paper, answer, correction)
    title = row.listed_title or paper.header.title
    subject = row.listed_subject or paper.header.fields.get("科目", "")
    if not subject:
        subject = next((key.subject for key in (answer, correction) if key and key.subject), "")
    year = row.listed_year if row.listed_year is not None else paper.header.year
    ledger.store_pairing(row.name, mark, pairing, year=year, title=title, subject_title=subject)


def joined(row: PaperRow, paper: Paper, answer: Key | None, correction: Key | None) -> Pairing:
    """The paper with its keys; files that are listed and cannot be had refuse it, because a key may be corrected."""
    absent = [Rejection(reason, f"{kind}: {path}") for kind, reason, path in row.absent]
    if row.question is None and not any(kind == "Q" for kind, _, _ in row.absent):
        absent.append(Rejection("no_question_paper", "only a key is there"))
    if absent:
        return Pairing(rejections=tuple(absent))
    found = pair(paper, answer, correction)
    flags = [*found.flags]
    if answer is not None and answer.accepted and answer.kind != "answer":
        flags.append("answer_is_a_correction")
    if correction is not None and correction.accepted and correction.kind != "correction":
        flags.append("correction_is_an_answer")
    if row.listed_year is not None and paper.header.year not in (None, row.listed_year):
        flags.append(f"year_on_paper:{paper.header.year}")
    return Pairing(found.items, tuple(flags), found.rejections)


def _chunks(values: Sequence[T], size: int) -> Iterator[tuple[int, Iterable[T]]]:
    for start in range(0, len(values), size):
        part = values[start : start + size]
        yield start + len(part), part
