"""What a site ships of what it was made from: written by a build, read back by the next one and by a check."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from twlocal.board.cells import FACTS, Cell, ItemSet, Meta, ModelFacts, Site
from twlocal.bundle.strict import Malformed, parse
from twlocal.errors import TwlocalError

FORMAT = "twlocal-board/1"
SITE = "data/site.json"
_ITEMS = ("ch", "qh", "subject")
_WITHDRAWN = ("ch", "rule")


class SiteDamaged(TwlocalError):
    """A site whose data cannot be read."""


def pretty(value: Any) -> str:
    """Plain data as the site's JSON: sorted keys, UTF-8, a line for each value and each element of a list.

    Python's own indentation takes ten times as long, and a line for every number is no easier to read.
    """
    if isinstance(value, Mapping):
        lines = [f"{_plain(name)}: {_lines(value[name])}" for name in sorted(value)]
        return "{\n" + ",\n".join(lines) + "\n}\n"
    return _lines(value) + "\n"


def _lines(value: Any) -> str:
    if isinstance(value, Mapping) and value:
        return "{\n" + ",\n".join(f" {_plain(name)}: {_plain(value[name])}" for name in sorted(value)) + "\n}"
    if isinstance(value, list | tuple) and value and isinstance(value[0], list | tuple | dict):
        return "[\n" + ",\n".join(f" {_plain(one)}" for one in value) + "\n]"
    return _plain(value)


# One for all: json.dumps would make a new one for each of the sixty thousand lines.
_plain = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode


def table(header: tuple[str, ...], rows: Any) -> str:
    """A CSV with its header; None is an empty cell, true and false are 1 and 0."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


def items_file(name: str) -> str:
    return f"data/items/{name}.csv"


def rows_file(cell: Cell) -> str:
    return f"data/rows/{cell.bench}/{cell.model}.json"


def files(site: Site) -> dict[str, str]:
    """A site's sources by the names of their files."""
    found = {
        SITE: pretty(
            {
                "format": FORMAT,
                "settings": site.settings,
                "reader": site.reader,
                "models": [asdict(model) for model in site.models],
                "cells": [rows_file(cell) for cell in site.cells],
                "items": {name: items.bench for name, items in sorted(site.items.items())},
                "protocols": sorted(site.protocols),
                "withdrawn": sorted(site.withdrawn),
                "manifests": sorted(site.manifests),
            }
        )
    }
    for name, items in site.items.items():
        found[items_file(name)] = table(_ITEMS, items.rows)
    for cell in site.cells:
        found[rows_file(cell)] = pretty(
            {
                "model": cell.model,
                "bench": cell.bench,
                "items": cell.items,
                "meta": asdict(cell.meta),
                "rows": {name: list(texts) for name, texts in cell.columns.items()},
            }
        )
    for sha256, said in site.protocols.items():
        found[f"data/protocols/{sha256[:16]}.json"] = pretty(said)
    for bench, rows in site.withdrawn.items():
        found[f"data/withdrawn/{bench}.csv"] = table(_WITHDRAWN, rows)
        found[f"data/withdrawn/{bench}.json"] = pretty([dict(zip(_WITHDRAWN, row, strict=True)) for row in rows])
    for name, text in site.manifests.items():
        found[f"data/manifests/{name}"] = text
    return found


def read(folder: Path) -> Site:
    """The sources of the site in `folder`. Raises SiteDamaged, naming the file."""
    said = _json(folder, SITE)
    if not isinstance(said, dict) or said.get("format") != FORMAT:
        raise SiteDamaged(f"{SITE} is not of the format {FORMAT}", hint="twlocal board build makes the site again")
    where = SITE
    try:
        items = {name: _items(folder, name, bench) for name, bench in said["items"].items()}
        cells = []
        for where in said["cells"]:
            cells.append(_cell(_json(folder, where), where, items))
        protocols = {}
        for sha256 in said["protocols"]:
            where = f"data/protocols/{sha256[:16]}.json"
            protocols[sha256] = _json(folder, where)
        withdrawn = {}
        for bench in said["withdrawn"]:
            where = f"data/withdrawn/{bench}.csv"
            withdrawn[bench] = tuple((row[0], row[1]) for row in _table(folder, where, _WITHDRAWN))
        where = SITE
        return Site(
            settings=said["settings"],
            reader=said["reader"],
            models=tuple(ModelFacts(**model) for model in said["models"]),
            items=items,
            cells=tuple(cells),
            protocols=protocols,
            withdrawn=withdrawn,
            manifests={name: text(folder, f"data/manifests/{name}") for name in said["manifests"]},
        )
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise SiteDamaged(f"{where} does not hold together ({type(error).__name__}: {error})", hint=_AGAIN) from error


_AGAIN = "take the site as it was published, or build it again from its runs"


def text(folder: Path, name: str) -> str:
    """The text of a file of the site. Raises SiteDamaged; also for a name that leads out of the site."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise SiteDamaged(f"{name} leads out of the site", hint=_AGAIN)
    try:
        # Bytes, not text mode: a changed line end is a change.
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise SiteDamaged(f"{name} cannot be read: {error.strerror}", hint=_AGAIN) from error
    except UnicodeDecodeError as error:
        raise SiteDamaged(f"{name} is not UTF-8 text", hint=_AGAIN) from error


def _json(folder: Path, name: str) -> Any:
    try:
        return parse(text(folder, name))
    except Malformed as error:
        raise SiteDamaged(f"{name} {error}", hint=_AGAIN) from error


def _table(folder: Path, name: str, header: tuple[str, ...]) -> list[list[str]]:
    rows = list(csv.reader(io.StringIO(text(folder, name), newline="")))
    if not rows or tuple(rows[0]) != header or any(len(row) != len(header) for row in rows):
        raise SiteDamaged(f"{name} does not hold the columns {', '.join(header)}", hint=_AGAIN)
    return rows[1:]


def _items(folder: Path, name: str, bench: str) -> ItemSet:
    place = items_file(name)
    found = ItemSet(bench, tuple((row[0], row[1], row[2]) for row in _table(folder, place, _ITEMS)))
    if found.id != name or list(found.rows) != sorted(found.rows):
        raise SiteDamaged(f"{place} is not the set of items that it is named after", hint=_AGAIN)
    return found


def _cell(data: Mapping[str, Any], name: str, items: Mapping[str, ItemSet]) -> Cell:
    columns = {fact: tuple(texts) for fact, texts in data["rows"].items()}
    meta = Meta(**{**data["meta"], "marks": tuple(data["meta"]["marks"])})
    cell = Cell(data["model"], data["bench"], data["items"], columns, meta)
    size = len(items[cell.items].rows)
    if rows_file(cell) != name:
        raise ValueError(f"is of {cell.model} on {cell.bench}")
    for fact, texts in columns.items():
        if fact not in FACTS or not texts or any(len(one) != size or set(one) - set("01-") for one in texts):
            raise ValueError(f"its {fact} is not a text of 0, 1 and - of one character for each of {size:,} items")
    return cell
