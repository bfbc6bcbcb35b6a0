"""What a board keeper decides: titles, bands, noise of the keys, who has an advantage, what was withdrawn.

The bundled `board.toml` holds what the paper states of the two benchmarks; a keeper's own file goes over it, value by
value.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

from twlocal.errors import UsageError
from twlocal.study.noise import Floor, parse

BOX = "box"  # twlocal's own readings
BOARD = "board"  # the exchange format's
READERS = (BOX, BOARD)

_TOP = {"title": str, "title_zh": str, "about": str, "about_zh": str}
_BENCH = {
    "title": str,
    "title_zh": str,
    "keys": str,
    "band": list,
    "since": date,
    "pool": list,
    "self_advantage": list,
    "withdrawn": str,
    "manifests": list,
}


def load(own: Path | None = None) -> dict[str, Any]:
    """The bundled settings with a keeper's file over them, as plain data. Raises UsageError naming file and setting."""
    bundled = files("twlocal.board").joinpath("board.toml").read_text(encoding="utf-8")
    found = checked(tomllib.loads(bundled), "board.toml", Path())
    if own is None:
        return found
    try:
        table = tomllib.loads(own.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"the settings {own} cannot be read: {error}", hint="--settings names a TOML file") from error
    mine = checked(table, str(own), own.parent)
    benches = dict(found["benches"])
    for name, values in mine.pop("benches", {}).items():
        benches[name] = benches.get(name, {}) | values
    return found | mine | {"benches": benches}


def checked(table: Mapping[str, Any], origin: str, folder: Path) -> dict[str, Any]:
    """Settings as plain JSON-able data; files are named from `folder`. Raises UsageError."""
    found: dict[str, Any] = {}
    for name, value in table.items():
        if name == "benches":
            if not isinstance(value, Mapping) or not all(isinstance(one, Mapping) for one in value.values()):
                raise UsageError(f"{origin}: [benches] holds a table a bench", hint="[benches.exam]")
            found[name] = {bench: _bench(values, f"{origin}: {bench}", folder) for bench, values in value.items()}
        else:
            _kind(name, value, _TOP, origin)
            found[name] = value
    return found


def _bench(values: Mapping[str, Any], origin: str, folder: Path) -> dict[str, Any]:
    found = dict(values)
    for name, value in values.items():
        _kind(name, value, _BENCH, origin)
    if "keys" in found:
        try:
            parse(found["keys"])
        except ValueError as error:
            raise UsageError(f"{origin}: keys: {error}") from error
    if "band" in found:
        band = found["band"]
        numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in band)
        if len(band) != 2 or not numbers or not 0 <= band[0] < band[1] <= 1:
            raise UsageError(f"{origin}: band is two shares of 1, the lower one first, such as [0.469, 0.746]")
    if "since" in found:
        found["since"] = found["since"].isoformat()
    for name in ("pool", "self_advantage", "manifests"):
        if not all(isinstance(one, str) for one in found.get(name, ())):
            raise UsageError(f"{origin}: {name} is a list of texts")
    if "withdrawn" in found:
        found["withdrawn"] = str(folder / found["withdrawn"])
    if "manifests" in found:
        found["manifests"] = [str(folder / one) for one in found["manifests"]]
    return found


def _kind(name: str, value: object, known: Mapping[str, type], origin: str) -> None:
    if name not in known:
        raise UsageError(f"{origin}: there is no setting {name!r}", hint=f"there are: {', '.join(sorted(known))}")
    if not isinstance(value, known[name]):
        raise UsageError(f"{origin}: {name} cannot be {value!r}")


def floor(settings: Mapping[str, Any], bench: str) -> Floor | None:
    """The measured share of disputed keys of a bench; None where nobody measured it."""
    said = settings["benches"].get(bench, {}).get("keys")
    return parse(said) if said else None


def bench_title(settings: Mapping[str, Any], bench: str) -> tuple[str, str]:
    """A bench's title in English and in Chinese: its name where the settings say nothing."""
    values = settings["benches"].get(bench, {})
    title = values.get("title", bench)
    return title, values.get("title_zh", title)
