"""A bundle → findings: everything in it that can be made again is made again and compared.

Checksums; the shape and sense of every row; every number of the summary from the rows; marks, provenance and key from
the manifest; the sample's hash from the rows; the protocol against the one that ships here. With responses,
every one is read again, and the rows are made again from them. With a dataset, the item set is compared.

What cannot be found: a sender who invents all of it consistently. A bundle without responses vouches for less.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from twlocal.bundle import exchange, readings, scrub, sums, text, write
from twlocal.bundle import manifest as manifests
from twlocal.bundle.itemset import Comparison, compare
from twlocal.bundle.manifest import RunManifest
from twlocal.bundle.strict import Malformed, parse
from twlocal.dataset import Dataset
from twlocal.item import UNIT_SEPARATOR
from twlocal.judge import judge
from twlocal.plural import counted
from twlocal.record import Record
from twlocal.score import score

_SHOWN = 5  # findings of a kind that are told a file; the rest are counted


@dataclass(frozen=True)
class Finding:
    """Something that does not hold, and where."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass(frozen=True)
class Checked:
    """A run of a bundle as far as it could be read; `run` None where its manifest could not.

    entry: what bundle.json says of it. board, rows: its rows, as stated. compared: against a dataset.
    """

    name: str
    run: RunManifest | None
    entry: Mapping[str, Any]
    board: tuple[exchange.BoardRow, ...] = ()
    rows: tuple[readings.ReadingRow, ...] = ()
    compared: Comparison | None = None


@dataclass(frozen=True)
class Verified:
    """What a verification found. digest: sha256 (hex) of the checksum file, which stands for the whole bundle."""

    findings: tuple[Finding, ...]
    runs: tuple[Checked, ...]
    full: bool
    digest: str

    @property
    def clean(self) -> bool:
        return not self.findings


def verify(folder: Path, *, dataset: Dataset | None = None, withdrawn: AbstractSet[str] = frozenset()) -> Verified:
    """Verify the opened bundle in `folder`, against `dataset` where one is given.

    withdrawn: content hashes of rows that are drawn and not scored; they are neither missing nor too many.
    """
    findings = [Finding(where, what) for where, what in sums.findings(folder)]
    checksums = folder / sums.NAME
    digest = sums.of_file(checksums) if checksums.is_file() else ""
    try:
        head = _head(folder)
    except Malformed as error:
        return Verified((*findings, Finding(write.NAME, str(error))), (), False, digest)
    full = head["full"]
    checked, expected = [], {write.NAME}
    for at, entry in enumerate(head["runs"]):
        one = _Run(folder, entry, full, f"{write.NAME}: runs[{at}]")
        checked.append(one.check(dataset, withdrawn))
        findings += one.findings
        expected |= one.files
    expected |= _done(folder, checked, findings)
    findings += [
        Finding(name, "belongs to no run of the bundle") for name in sums.names(folder) if name not in expected
    ]
    places = Counter(write.place(one.run).casefold() for one in checked if one.run)
    findings += [Finding(write.NAME, f"holds {place} {counted(n, 'time')}") for place, n in places.items() if n > 1]
    return Verified(tuple(findings), tuple(checked), full, digest)


def _head(folder: Path) -> dict[str, Any]:
    head = read_json(folder / write.NAME)
    if not isinstance(head, dict) or head.get("format") != write.FORMAT:
        said = head.get("format") if isinstance(head, dict) else None
        raise Malformed(f"is of the format {said!r}, and this twlocal reads {write.FORMAT}")
    if set(head) != {"format", "twlocal", "full", "runs"} or type(head["full"]) is not bool:
        raise Malformed("does not hold exactly format, twlocal, full and runs")
    if not isinstance(head["twlocal"], str) or not isinstance(head["runs"], list) or not head["runs"]:
        raise Malformed("holds no run")
    return head


def read_json(path: Path) -> Any:
    """The value of a JSON file. Raises Malformed."""
    try:
        return parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise Malformed("is missing") from error
    except UnicodeDecodeError as error:
        raise Malformed("is not UTF-8 text") from error


def _done(folder: Path, checked: Sequence[Checked], findings: list[Finding]) -> set[str]:
    benches: dict[str, list[str]] = {}
    for one in checked:
        if one.run:
            benches.setdefault(exchange.folder(one.run.model), []).append(exchange.file(one.run.bench))
    names = set()
    for model, done in benches.items():
        name = f"{exchange.RESULTS}/{model}/{exchange.DONE}"
        names.add(name)
        path = folder / name
        if not path.is_file() or path.read_bytes() != "".join(f"{one}\n" for one in sorted(done)).encode():
            findings.append(Finding(name, f"does not say that {', '.join(sorted(done))} is done"))
    return names


class _Run:
    """One run of a bundle under examination."""

    def __init__(self, folder: Path, entry: Any, full: bool, where: str) -> None:
        self.findings: list[Finding] = []
        self.files: set[str] = set()
        self._folder, self._entry, self._full, self._where = folder, entry, full, where
        self._told: Counter[str] = Counter()

    def _find(self, where: str, what: str) -> None:
        self._told[where.split(":")[0]] += 1
        if self._told[where.split(":")[0]] <= _SHOWN:
            self.findings.append(Finding(where, what))

    def check(self, dataset: Dataset | None, withdrawn: AbstractSet[str]) -> Checked:
        """Examine it; what is wrong is in `findings` afterwards."""
        run = self._manifest()
        if run is None:
            name = self._entry.get("name") if isinstance(self._entry, dict) else None
            return Checked(str(name or self._where), None, {})
        names = write.files(run, full=self._full)
        self.files = set(names.values())
        board = tuple(row for _, row in self._rows(names["board"], exchange.from_line))
        rows = tuple(row for _, row in self._rows(names["readings"], lambda line: readings.from_line(line, run.reader)))
        self._plan(run, board, rows, names)
        flags, alarms = self._stated()
        if self._full:
            flags, alarms = self._again(run, board, rows, names)
        made = write.entry(run, flags, alarms, readings.summary(board, rows), full=self._full)
        for said in readings.differences(self._entry, made):
            self._find(write.NAME, f"{run.name}: {said}")
        self._provenance(run, names["provenance"])
        compared = self._items(run, rows, dataset, withdrawn, names["readings"])
        for place, count in self._told.items():
            if count > _SHOWN:
                self.findings.append(Finding(place, f"and {count - _SHOWN:,} more findings of this file"))
        return Checked(run.name, run, made, board, rows, compared)

    def _manifest(self) -> RunManifest | None:
        try:
            name = self._entry["files"]["manifest"]
            if name not in sums.names(self._folder):
                self._find(self._where, f"names {str(name)[:80]!r} as its manifest, which is not in the bundle")
                return None
        except (KeyError, TypeError):
            self._find(self._where, "names no manifest")
            return None
        try:
            data = read_json(self._folder / name)
            run = manifests.from_json(data)
        except Malformed as error:
            self._find(name, str(error))
            return None
        if write.files(run, full=self._full)["manifest"] != name:
            self._find(name, f"is the manifest of {run.model} on {run.bench}, whose place is another")
        for place in scrub.leaks({part: value for part, value in data.items() if part not in ("manifest", "key")}):
            self._find(name, f"holds a path, an address or a key at {place}")
        for place in scrub.leaks({part: value for part, value in run.manifest.items() if part != "protocol"}):
            self._find(name, f"holds a path, an address or a key at manifest.{place}")
        return run

    def _rows(self, name: str, read: Any) -> Iterator[tuple[int, Any]]:
        """The rows of a file of lines with their line numbers; lines that are none become findings."""
        try:
            with (self._folder / name).open(encoding="utf-8", newline="\n") as file:
                for number, line in enumerate(file, 1):
                    try:
                        if not line.endswith("\n"):
                            raise Malformed("the last line is cut off")
                        yield number, read(line)
                    except Malformed as error:
                        self._find(f"{name}:{number}", str(error))
        except FileNotFoundError:
            self._find(name, "is missing")
        except UnicodeDecodeError:
            self._find(name, "is not UTF-8 text")

    def _plan(
        self,
        run: RunManifest,
        board: Sequence[exchange.BoardRow],
        rows: Sequence[readings.ReadingRow],
        names: Mapping[str, str],
    ) -> None:
        """Whether the rows are those of the plan: all of them, once, in its order, giving the sample's hash."""
        where = names["readings"]
        wanted = [(no, repeat) for no in range(run.rows) for repeat in range(run.repeats)] if self._fits(run) else []
        if [(row.no, row.repeat) for row in rows] != wanted:
            questions, times = counted(run.rows, "question"), counted(run.repeats, "time")
            self._find(where, f"does not hold {questions}, {times} each, in the plan's order")
        first = [row for row in rows if row.repeat == 0]
        if [row.ch for row in first] != [row.ch for row in board]:
            self._find(names["board"], f"does not hold the rows of {where}")
        if any(one.ch is None for one in board):
            self._find(names["board"], "holds a row without ch")
        seen: Counter[tuple[str, str]] = Counter()
        for row in first:
            if row.occurrence != seen[row.ch, row.subject]:
                self._find(where, f"does not count how often the row {row.ch[:12]} of {row.subject!r} occurs")
            seen[row.ch, row.subject] += 1
        by_no = {row.no: (row.ch, row.subject, row.occurrence) for row in first}
        if any((row.ch, row.subject, row.occurrence) != by_no.get(row.no) for row in rows):
            self._find(where, "gives one question several content hashes or subjects")
        if [row.ch for row in first] != sorted(row.ch for row in first):
            self._find(where, "is not in the order of content hashes, as every plan is")
        sample = sorted(f"{row.ch} {row.subject}" for row in first)
        if hashlib.sha256("\n".join(sample).encode()).hexdigest() != run.manifest["identity"]["sample"]:
            self._find(where, "does not give the hash of the sample that the run was planned with")
        if run.manifest["bench"]["rows"] == len(first):
            whole = "\n".join(sorted(f"{row.ch}{UNIT_SEPARATOR}{row.subject}" for row in first))
            if hashlib.sha256(whole.encode()).hexdigest() != run.manifest["bench"]["fingerprint"]:
                self._find(where, "is the whole dataset, and does not give its fingerprint")

    def _fits(self, run: RunManifest) -> bool:
        # A manifest may state any number; no list is made of a billion.
        return run.rows * run.repeats <= readings.MOST_ROWS

    def _stated(self) -> tuple[dict[str, int], list[str]]:
        """Flags and alarms as a bundle without responses states them: they cannot be made again."""
        flags = self._entry.get("flags")
        alarms = self._entry.get("alarms")
        sound = isinstance(flags, dict) and all(type(n) is int and n > 0 for n in flags.values())
        listed = isinstance(alarms, list) and all(isinstance(one, str) for one in alarms)
        return (flags if sound else {}), (alarms if listed else [])

    def _again(
        self,
        run: RunManifest,
        board: Sequence[exchange.BoardRow],
        rows: Sequence[readings.ReadingRow],
        names: Mapping[str, str],
    ) -> tuple[Counter[str], list[str]]:
        """Read every response again and compare what comes out; flags and alarms as found."""
        where, flags = names["responses"], Counter[str]()
        planned = Counter(row.subject for row in rows if row.repeat == 0)
        made: tuple[list[exchange.BoardRow], list[readings.ReadingRow]] = ([], [])
        try:
            scored = score(
                self._records(run, where, flags, made),
                planned,
                run.reader,
                repeats=run.repeats,
                max_tokens=run.manifest["decoding"]["max_tokens"],
                temperature=run.manifest["decoding"]["temperature"],
            )
            alarms = sorted(alarm.kind for alarm in scored.alarms)
        except (ValueError, TypeError) as error:
            self._find(where, str(error))
            alarms = []
        for name, stated, found in ((names["board"], board, made[0]), (names["readings"], rows, made[1])):
            for number, (one, other) in enumerate(zip_longest(stated, found), 1):
                if one != other:
                    self._find(f"{name}:{number}", f"is not what {where} gives when it is read again")
        return flags, alarms

    def _records(
        self,
        run: RunManifest,
        where: str,
        flags: Counter[str],
        made: tuple[list[exchange.BoardRow], list[readings.ReadingRow]],
    ) -> Iterator[Record]:
        shuffled = bool(run.manifest["protocol"]["shuffle"])
        for number, (record, row) in self._rows(where, text.from_line):
            judged = judge(record, run.reader)
            for said in text.contradictions(record, row, judged, shuffled=shuffled):
                self._find(f"{where}:{number}", said)
            if not 1 <= row["sitting"] <= len(run.sittings):
                self._find(f"{where}:{number}", "belongs to a sitting that is not in the manifest")
            else:
                sitting = run.sittings[row["sitting"] - 1]
                if (row["engine"], row.get("engine_version")) != (sitting["engine"], sitting["engine_version"]):
                    self._find(f"{where}:{number}", "names another engine than its sitting")
            if run.private and text.words_of(row):
                self._find(f"{where}:{number}", "holds the question of a private run")
            if not run.private and not text.words_of(row):
                self._find(f"{where}:{number}", "lacks its question")
            flags.update(record.flags)
            if record.repeat == 0:
                made[0].append(exchange.board_row(record))
            made[1].append(readings.reading_row(record, judged, row["occurrence"]))
            yield record

    def _provenance(self, run: RunManifest, name: str) -> None:
        try:
            said = read_json(self._folder / name)
        except Malformed as error:
            self._find(name, str(error))
            return
        for one in readings.differences(said, manifests.provenance(run)):
            self._find(name, one)

    def _items(
        self,
        run: RunManifest,
        rows: Sequence[readings.ReadingRow],
        dataset: Dataset | None,
        withdrawn: AbstractSet[str],
        where: str,
    ) -> Comparison | None:
        if dataset is None:
            return None
        here = Counter(row.ch for row in rows if row.repeat == 0)
        compared = compare(here, dataset.items, run.manifest["sample"], withdrawn)
        if not compared.same:
            self._find(where, f"against {dataset.name}: {compared}")
        return compared
