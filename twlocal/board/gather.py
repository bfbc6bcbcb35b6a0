"""Runs and imported results of a database → candidates for a board."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from twlocal.board import protocols
from twlocal.board.cells import EXCHANGE, OURS, Cell, ItemSet, Meta, contradictions
from twlocal.bundle import exchange, readings, write
from twlocal.bundle import manifest as manifests
from twlocal.bundle.scrub import bench_name
from twlocal.bundle.stored import FACT, FIELD, UNTOLD, Packed
from twlocal.judge import judge
from twlocal.plural import counted

if TYPE_CHECKING:
    from twlocal.bundle.manifest import RunManifest
    from twlocal.bundle.stored import Imported, Stored
    from twlocal.runs import RunRow, Runs

_VERSION = "1"  # of what is kept of a result: another one reads all results again
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_OPTIONS = {"quantised": "--allow-quantised", "protocol": "--allow-unpublishable", "deviations": "--allow-deviations"}


@dataclass(frozen=True)
class Allowed:
    """What a board may show although it cannot be ranked: keys of bundle.manifest.MARKS."""

    marks: frozenset[str] = frozenset()


@dataclass
class Gathered:
    """What was found. `cells` name the model as its source does; left_out: (name, why)."""

    cells: list[Cell] = field(default_factory=list)
    items: dict[str, ItemSet] = field(default_factory=dict)
    protocols: dict[str, dict[str, Any]] = field(default_factory=dict)
    left_out: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Known:
    """What an earlier build of the same site has read already: cells by `Meta.source`, and their items by id."""

    cells: Mapping[str, Cell] = field(default_factory=dict)
    items: Mapping[str, ItemSet] = field(default_factory=dict)


class Gatherer:
    """Reads results one by one, each only where it is new."""

    def __init__(self, withdrawn: Mapping[str, frozenset[str]], allowed: Allowed, known: Known) -> None:
        self.found = Gathered()
        self._withdrawn, self._allowed, self._known = withdrawn, allowed, known
        self._layouts: dict[tuple[str, tuple[str, ...]], _Layout] = {}

    def database(self, runs: Runs, stored: Stored) -> None:
        """Everything complete in a database."""
        for listed in runs.all():
            if listed.complete and listed.completed_at:
                self._run(runs, stored, runs.get(key=listed.key))
            else:
                self.found.left_out.append(
                    (listed.name, f"incomplete: {listed.answered:,} of {counted(listed.planned, 'response')}")
                )
        for result in stored.results():
            self._result(stored, result)

    def _run(self, runs: Runs, stored: Stored, row: RunRow) -> None:
        described = write.described(stored, row)
        flags = stored.flags(row.id)
        marks = tuple(manifests.marks(described, flags, full=False))
        bench = _bench(described.bench)
        if self._barred(row.name, marks):
            return
        source = self._source(bench, row.key, row.completed_at, row.answered, _readers())
        protocol = manifests.protocol_of(described.manifest)
        said = described.manifest["protocol"]
        if (old := self._again(source)) is None:
            rows = _Rows()
            thought = n = 0
            for record in runs.records(row.id):
                judged = judge(record, described.reader)
                own = readings.reading_row(record, judged, 0)
                board = exchange.board_row(record) if record.repeat == 0 else None
                rows.add(record.content_hash, record.stem_hash[:16], record.subject, record.repeat, own, board)
                thought, n = thought + judged.thought, n + 1
            meta = _of_manifest(described, source, marks, "run")
            meta = replace(meta, thinking=2 * thought > n)
            self._add(described.model, bench, rows.packed(), meta)
        else:
            self.found.cells.append(replace(old, model=described.model))
        self.found.protocols[protocol.sha256] = protocols.published(
            replace(
                protocol,
                publishable=said["publishable"],
                why_not=said["why_not"],
                title_zh=said.get("title_zh", ""),
                why_not_zh=said.get("why_not_zh", ""),
            )
        )

    def _result(self, stored: Stored, result: Imported) -> None:
        if self._barred(result.name, result.marks):
            return
        bench = _bench(result.bench)
        source = self._source(bench, result.checksum)
        if (old := self._again(source)) is not None:
            self.found.cells.append(replace(old, model=result.model))
            meta = old.meta
        else:
            meta = _of_result(result, source)
            if not self._add(result.model, bench, stored.packed(result.id), meta):
                return
        text = protocols.bundled(meta.protocol, meta.protocol_sha256, meta.max_tokens)
        if text is not None:
            self.found.protocols[text.sha256] = protocols.published(text)

    def _barred(self, name: str, marks: Sequence[str]) -> bool:
        # All at once: whoever allows one thing should not learn of the next only then.
        barred = [mark for mark in marks if mark in _OPTIONS and mark not in self._allowed.marks]
        if not barred:
            return False
        options = " ".join(_OPTIONS[mark] for mark in barred)
        why = f"{'; '.join(manifests.MARKS[mark] for mark in barred)}"
        verb = "shows" if len(barred) == 1 else "show"
        self.found.left_out.append((name, f"{why} ({options} {verb} it, without a rank)"))
        return True

    def _source(self, bench: str, *parts: object) -> str:
        gone = sorted(self._withdrawn.get(bench, ()))
        return manifests.digest([_VERSION, bench, *parts, gone])

    def _again(self, source: str) -> Cell | None:
        cell = self._known.cells.get(source)
        if cell is None or cell.items not in self._known.items:
            return None
        self.found.items[cell.items] = self._known.items[cell.items]
        return cell

    def _add(self, model: str, bench: str, packed: Packed, meta: Meta) -> bool:
        """Take a result's rows in; whether they tell anything that a board can show."""
        layout = self._layouts.get((bench, packed.rows))
        if layout is None:
            layout = _layout(bench, packed.rows, self._withdrawn.get(bench, frozenset()))
            self._layouts[bench, packed.rows] = layout
        # What Twinkle Eval calls right is another reading than the exchange format's.
        columns = layout.columns(packed.facts, exchange_told=meta.kind != "twinkle")
        why = "its rows tell neither twlocal's readings nor the public board's" if not columns else ""
        if odd := contradictions(columns, meta.reader):
            why = f"its rows exclude each other: {'; '.join(odd)}"
        if why:
            self.found.left_out.append((meta.name, why))
            return False
        self.found.items[layout.items.id] = layout.items
        meta = replace(meta, withdrawn=meta.withdrawn + layout.withdrawn)
        if meta.planned is not None:
            meta = replace(meta, planned=meta.planned - layout.withdrawn * meta.repeats)
        self.found.cells.append(Cell(model, bench, layout.items.id, columns, meta))
        return True


def _bench(name: str) -> str:
    return exchange.file(bench_name(name)).lower()


@cache
def _readers() -> str:
    """sha256 over the source that reads a response: with another reader, another reading."""
    sources = [one for one in files("twlocal.readers").iterdir() if one.name.endswith(".py")]
    sources += [files("twlocal").joinpath(name) for name in ("judge.py", "bundle/exchange.py", "bundle/readings.py")]
    digest = hashlib.sha256()
    for one in sorted(sources, key=lambda one: one.name):
        digest.update(one.read_bytes())
    return digest.hexdigest()


class _Rows:
    """Rows of a run, gathered in the form of `Stored.packed`."""

    def __init__(self) -> None:
        self._rows: tuple[list[str], ...] = ([], [], [], [])
        self._facts: list[str] = []

    def add(
        self, ch: str, qh: str, subject: str, repeat: int, own: readings.ReadingRow, board: exchange.BoardRow | None
    ) -> None:
        for column, value in zip(self._rows, (ch, qh, subject.replace(FIELD, " "), str(repeat)), strict=True):
            column.append(value)
        first = UNTOLD[0] if board is None else sum(getattr(board, fact) << at for at, fact in enumerate(EXCHANGE))
        second = sum(getattr(own, fact) << at for at, fact in enumerate(OURS))
        self._facts.append(str(FACT + first + 16 * second + 1024 * own.truncated))

    def packed(self) -> Packed:
        ch, qh, subject, repeat = map(FIELD.join, self._rows)
        return Packed((ch, qh, subject, repeat), "".join(self._facts))


@dataclass(frozen=True)
class _Layout:
    """Where each row of a result goes: `slots` into (asking, item), for the rows in `kept`."""

    items: ItemSet
    askings: int
    kept: Any
    slots: Any
    withdrawn: int

    def columns(self, packed: str, *, exchange_told: bool = True) -> dict[str, tuple[str, ...]]:
        """The facts that every row tells, as texts; nothing where not even one reading is told."""
        digits = np.frombuffer(packed.encode("ascii"), dtype=np.uint8).reshape(-1, 4).astype(np.int32) - ord("0")
        values = (digits @ np.array([1000, 100, 10, 1], dtype=np.int32))[self.kept] - FACT
        placed: Any = np.full(self.askings * len(self.items.rows), _ABSENT, dtype=np.int32)
        placed[self.slots] = values
        placed = placed.reshape(self.askings, len(self.items.rows))
        absent = placed == _ABSENT
        board, own, cut = placed & 15, placed >> 4 & 63, placed >> 10 & 3
        found: dict[str, tuple[str, ...]] = {}
        if exchange_told and not (board[:1][~absent[:1]] == UNTOLD[0]).any():
            found |= _texts(EXCHANGE, board[:1], absent[:1])
        if not (own[~absent] == UNTOLD[1]).any():
            found |= _texts(OURS, own, absent)
        if found and not (cut[~absent] == UNTOLD[2]).any():
            found |= _texts(("truncated",), cut, absent)
        return found


_ABSENT = -1


def _texts(names: Sequence[str], values: Any, absent: Any) -> dict[str, tuple[str, ...]]:
    """Each bit of the values as a column of 0 and 1."""
    found = {}
    for at, name in enumerate(names):
        shown = np.where(absent, ord("-"), 48 + (values >> at & 1)).astype(np.uint8)
        found[name] = tuple(asking.tobytes().decode("ascii") for asking in shown)
    return found


def _layout(bench: str, rows: tuple[str, ...], withdrawn: frozenset[str]) -> _Layout:
    """The items that rows are about, and where each row goes. Equal rows of one asking keep their order."""
    kept: list[int] = []
    askings: dict[int, list[tuple[tuple[str, str, str], int]]] = {}
    gone = 0
    columns = [column.split(FIELD) for column in rows] if rows[-1] else []
    for at, (ch, qh, subject, repeat) in enumerate(zip(*columns, strict=True)):
        if ch in withdrawn:
            gone += repeat == "0"
            continue
        askings.setdefault(int(repeat), []).append(((ch, qh, subject), len(kept)))
        kept.append(at)
    counted: dict[tuple[str, str, str], int] = {}
    for found in askings.values():
        here: dict[tuple[str, str, str], int] = {}
        for key, _ in found:
            here[key] = here.get(key, 0) + 1
        for key, n in here.items():
            counted[key] = max(n, counted.get(key, 0))
    # Only the first asking of a bundle tells the stem hash.
    counted = _with_stems(counted)
    items = ItemSet(bench, tuple(key for key in sorted(counted) for _ in range(counted[key])))
    start: dict[tuple[str, str], int] = {}
    for at, (ch, qh, subject) in enumerate(items.rows):
        start.setdefault((ch or qh, subject), at)
    slots: Any = np.zeros(len(kept), dtype=np.int64)
    for number, asking in enumerate(sorted(askings)):
        used: dict[tuple[str, str], int] = {}
        for (ch, qh, subject), row in askings[asking]:
            name = (ch or qh, subject)
            slots[row] = number * len(items.rows) + start[name] + used.get(name, 0)
            used[name] = used.get(name, 0) + 1
    return _Layout(items, max(1, len(askings)), np.array(kept, dtype=np.int64), slots, gone)


def _with_stems(counted: Mapping[tuple[str, str, str], int]) -> dict[tuple[str, str, str], int]:
    stems = {(ch, subject): qh for ch, qh, subject in counted if ch and qh}
    found: dict[tuple[str, str, str], int] = {}
    for (ch, qh, subject), n in counted.items():
        key = (ch, qh or stems.get((ch, subject), ""), subject)
        found[key] = max(n, found.get(key, 0))
    return found


def _of_manifest(run: RunManifest, source: str, marks: tuple[str, ...], kind: str) -> Meta:
    last = run.sittings[-1]
    said = run.manifest
    return Meta(
        name=run.name,
        kind=kind,
        source=source,
        protocol=run.protocol,
        protocol_sha256=said["protocol"]["sha256"],
        reader=run.reader,
        backend=run.backend,
        engine=last["engine"],
        engine_version=", ".join(dict.fromkeys(sitting["engine_version"] for sitting in run.sittings)),
        quantised=manifests.quantised(run.sittings),
        precision=_precision(last["engine_info"].get("model", {}), last["engine_info"].get("settings", {})),
        thinking=_thinking(last["engine_info"].get("settings", {})),
        date=run.completed_at[:10],
        planned=run.rows * run.repeats,
        complete=True,
        repeats=run.repeats,
        max_tokens=said["decoding"]["max_tokens"],
        temperature=said["decoding"]["temperature"],
        marks=marks,
        withdrawn=len(said["sample"].get("withdrawn", ())),
    )


def _of_result(result: Imported, source: str) -> Meta:
    told = result.provenance.get("provenance")
    meta = Meta(
        name=result.name,
        kind=result.kind,
        source=source,
        protocol=result.protocol,
        quantised=result.quantised,
        complete=result.complete,
        marks=result.marks,
    )
    if result.kind == "bundle" and isinstance(told, Mapping):
        return _of_bundle(meta, told)
    parts = [one for one in told.values() if isinstance(one, Mapping)] if isinstance(told, Mapping) else []
    parts += [one for part in parts for one in part.values() if isinstance(one, Mapping)]
    summary = result.provenance.get("summary")
    parts += [summary] if isinstance(summary, Mapping) else []
    budget = _first(parts, ("max_tokens", "max_new_tokens"), int)
    return replace(
        meta,
        engine=_first(parts, ("engine", "backend", "runtime", "framework"), str) or "",
        engine_version=_first(parts, ("engine_version", "runtime_version"), str) or "",
        precision=_precision(*parts),
        date=_day(_first(parts, ("date", "finished_at", "ended_at", "completed_at", "timestamp"), str) or ""),
        max_tokens=budget,
        thinking=_first(parts, ("thinking", "enable_thinking"), bool),
    )


def _of_bundle(meta: Meta, told: Mapping[str, Any]) -> Meta:
    last = told["sittings"][-1]
    return replace(
        meta,
        protocol=told["protocol"]["name"],
        protocol_sha256=told["protocol"]["sha256"],
        reader=told["protocol"]["reader"],
        backend=told["backend"],
        engine=last["engine"],
        engine_version=", ".join(dict.fromkeys(sitting["engine_version"] for sitting in told["sittings"])),
        precision=_precision(last.get("engine_model", {}), last.get("settings", {})),
        thinking=_thinking(last.get("settings", {})),
        date=_day(last["ended_at"] or last["started_at"]),
        planned=told["sample"]["rows"] * told["repeats"],
        repeats=told["repeats"],
        max_tokens=told["decoding"]["max_tokens"],
        temperature=told["decoding"]["temperature"],
        withdrawn=len(told["sample"].get("withdrawn", ())),
    )


def _first(parts: Sequence[Mapping[str, Any]], names: Sequence[str], kind: type) -> Any:
    """The first value of that kind under any of the names; None where no part has one."""
    return next((part[name] for name in names for part in parts if type(part.get(name)) is kind), None)


def _precision(*parts: Mapping[str, Any]) -> str:
    found = _first(parts, ("quantisation", "quantization", "quantised", "dtype", "precision", "file_type_name"), str)
    return found or ""


def _thinking(settings: Mapping[str, Any]) -> bool | None:
    variables = settings.get("template_variables")
    if isinstance(variables, str):
        try:
            variables = json.loads(variables)
        except ValueError:
            return None
    said = variables.get("enable_thinking") if isinstance(variables, Mapping) else None
    return said if isinstance(said, bool) else None


def _day(text: str) -> str:
    return text[:10] if _DAY.match(text) else ""
