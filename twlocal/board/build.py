"""Runs, bundles and imported results → a site in a folder."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from twlocal.board import board as boards
from twlocal.board import data, history, models, pages, settings, site, source
from twlocal.board.cells import Cell, Site, tells
from twlocal.board.gather import Allowed, Gatherer, Known
from twlocal.board.settings import BOARD, BOX
from twlocal.bundle import pack, scrub
from twlocal.bundle import write as bundles
from twlocal.bundle.importing import Wanted
from twlocal.bundle.importing import import_ as import_results
from twlocal.bundle.stored import opened
from twlocal.bundle.strict import Malformed, parse
from twlocal.dataset import withdrawals
from twlocal.errors import UsageError
from twlocal.registry import Registry

AUTO = "auto"
_LINK = re.compile(r"(?:https|hf)://[\w./@#-]+")
# An import notes its time, and nothing of it comes to a page.
_NO_TIME = "1970-01-01T00:00:00.000000Z"


@dataclass(frozen=True)
class Wish:
    """How a board is to be built. sources: bundles and results; database: one of twlocal's, or None.

    reader: box, board, or auto. own: the keeper's settings. reason, day: for the history.
    """

    database: Path | None
    sources: tuple[Path, ...] = ()
    reader: str = AUTO
    own: Path | None = None
    allowed: Allowed = field(default_factory=Allowed)
    reason: str = ""
    day: str = ""


@dataclass(frozen=True)
class Built:
    """What a build came to. left_out: (name, why). superseded: (name, by which)."""

    board: boards.Board
    written: site.Written
    entries: tuple[history.Entry, ...]
    added: bool
    left_out: tuple[tuple[str, str], ...]
    superseded: tuple[tuple[str, str], ...]


def build(folder: Path, wish: Wish, registry: Registry) -> Built:
    """Build or bring up to date the site in `folder`.

    Raises UsageError (nothing to show, a changed number without a reason, a folder of something else), HistoryDamaged,
    and what imports raise.
    """
    said = settings.load(wish.own)
    withdrawn, manifests = _withdrawn(said), _manifests(said)
    try:
        old = site.read_index(folder)
    except Malformed as error:
        raise UsageError(f"{folder / site.INDEX} {error}", hint="name another folder") from error
    gatherer = Gatherer({name: frozenset(rows) for name, rows in withdrawn.items()}, wish.allowed, _known(folder, old))
    if wish.database is not None:
        with opened(wish.database, create=False) as (runs, stored):
            gatherer.database(runs, stored)
    if wish.sources:
        with (
            tempfile.TemporaryDirectory(prefix="twlocal-board-") as made,
            opened(Path(made) / "board.db", create=True) as (runs, stored),
        ):
            for one in (part for source in wish.sources for part in _each(source)):
                import_results(one, runs, stored, Wanted(), at=_NO_TIME)
            gatherer.database(runs, stored)
    found = gatherer.found
    if not found.cells:
        why = "".join(f"\n  {name}: {reason}" for name, reason in found.left_out[:10])
        looked = [f"looked in {', '.join(map(str, wish.sources))}"] if wish.sources else []
        looked += ["twlocal runs lists what the database holds"] if wish.database is not None else []
        raise UsageError(f"there is no result to show{why}", hint="; ".join(looked))
    reader = _reader(wish.reader, found.cells)
    placed = models.place(found.cells, registry, reader)
    whole = Site(
        settings=_public(said),
        reader=reader,
        models=placed.models,
        items={name: found.items[name] for name in sorted({cell.items for cell in placed.cells})},
        cells=placed.cells,
        protocols={
            sha256: one
            for sha256, one in sorted(found.protocols.items())
            if any(cell.meta.protocol_sha256 == sha256 for cell in placed.cells)
        },
        withdrawn={name: tuple(rows.items()) for name, rows in withdrawn.items()},
        manifests=manifests,
    )
    board = boards.make(whole)
    entries = _history(folder, old, board, wish)
    files = everything(board, entries)
    made_pages = pages.pages(board, entries, files)
    site.may_write(folder, [*files, *(page.name for page in made_pages)], old)
    folder.mkdir(parents=True, exist_ok=True)
    before = _old_history(folder, old)
    written = site.write(folder, files, made_pages, pages.templates(), old)
    return Built(board, written, tuple(entries), len(entries) > len(before), tuple(found.left_out), placed.superseded)


def _each(path: Path) -> list[Path]:
    """A folder's bundles one by one, and what else in it holds rows; any other source as it is."""
    if not path.is_dir() or (path / bundles.NAME).is_file():
        return [path]
    inside = sorted(path.iterdir())
    found = [one for one in inside if pack.is_archive(one) or (one / bundles.NAME).is_file()]
    rest = [one for one in inside if one not in found and one.is_dir() and any(one.rglob("*.jsonl"))]
    return [*found, *rest] if found else [path]


def everything(board: boards.Board, entries: Sequence[history.Entry]) -> dict[str, str]:
    """Every file of a site but its pages and its index, by name."""
    return {
        history.NAME: history.write(entries),
        **source.files(board.site),
        **data.files(board, entries),
    }


def _reader(wanted: str, cells: Sequence[Cell]) -> str:
    """`auto`: twlocal's own reading where any result tells it, since only that is the published protocol's."""
    if wanted != AUTO:
        return wanted
    return BOX if any(tells(cell.columns, BOX) for cell in cells) else BOARD


def _known(folder: Path, old: site.Index | None) -> Known:
    """What the site in `folder` already holds of its results, where nobody has touched it since."""
    if old is None:
        return Known()
    try:
        whole = source.read(folder)
    except source.SiteDamaged:
        return Known()
    names = [*(source.rows_file(cell) for cell in whole.cells), *(source.items_file(name) for name in whole.items)]
    if any(site.digest((folder / name).read_bytes()) != old.files.get(name, ("",))[0] for name in names):
        return Known()
    return Known({cell.meta.source: cell for cell in whole.cells}, whole.items)


def _old_history(folder: Path, old: site.Index | None) -> list[history.Entry]:
    path = folder / history.NAME
    if not path.is_file():
        if old is not None and history.NAME in old.files:
            raise history.HistoryDamaged(
                f"{path} is missing", hint="the history is never thrown away: take it back from where it is published"
            )
        return []
    return history.read(source.text(folder, history.NAME))


def _history(folder: Path, old: site.Index | None, board: boards.Board, wish: Wish) -> list[history.Entry]:
    days = [entry.cell.meta.date for bench in board.benches for entry in bench.entries]
    return history.extended(
        _old_history(folder, old),
        boards.state(board),
        reason=wish.reason,
        day=wish.day,
        data_day=max(days, default=""),
    )


def _withdrawn(said: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Bench → content hash → the rule that withdrew it. The reason may quote the question, and stays here."""
    found = {}
    for name, values in said["benches"].items():
        if "withdrawn" in values:
            rows = withdrawals.read(Path(values["withdrawn"]))
            found[name] = {ch: why.partition(": ")[0] if ": " in why else "" for ch, why in sorted(rows.items())}
    return found


def _manifests(said: Mapping[str, Any]) -> dict[str, str]:
    """`bench/name.json` → its text. Raises UsageError for a file that is no JSON or holds what may not be published."""
    found = {}
    for bench, values in said["benches"].items():
        for place in values.get("manifests", ()):
            path = Path(place)
            try:
                text = path.read_text(encoding="utf-8")
                value = parse(text)
            except (OSError, UnicodeDecodeError, Malformed) as error:
                raise UsageError(f"the manifest {path} cannot be published: {error}", hint="a JSON file") from error
            for leak in scrub.leaks(_without_links(value)):
                raise UsageError(f"the manifest {path} holds a path, an address or a key at {leak}")
            if _holds(value, {"question", "stem", "options"}):
                raise UsageError(f"the manifest {path} holds questions, which a board never publishes")
            found[f"{bench}/{path.name}"] = text.replace("\r\n", "\n")
    return found


def _without_links(value: Any) -> Any:
    """Plain data without the addresses of public places, which a manifest may name."""
    if isinstance(value, str):
        return _LINK.sub("", value)
    if isinstance(value, Mapping):
        return {name: _without_links(one) for name, one in value.items()}
    return [_without_links(one) for one in value] if isinstance(value, list) else value


def _holds(value: Any, names: set[str]) -> bool:
    if isinstance(value, Mapping):
        return any(str(name).lower() in names or _holds(one, names) for name, one in value.items())
    return isinstance(value, list) and any(_holds(one, names) for one in value)


def _public(said: Mapping[str, Any]) -> dict[str, Any]:
    """Settings without the places of files on this machine."""
    private = {"withdrawn", "manifests"}
    benches = {
        name: {key: value for key, value in values.items() if key not in private}
        for name, values in said["benches"].items()
    }
    return {**said, "benches": benches}
