"""The public runners' results directories: `results/<org_model>/{formosa,exam}.jsonl`, `.done`, `_provenance/*.json`.

Their rows are keyed by the stem's hash alone. Stems repeat, so rows with the same hash are all kept, and counted; which
of two such rows is which question, nobody can tell any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from twlocal.bundle import exchange
from twlocal.bundle.scrub import scrubbed
from twlocal.bundle.stored import Result, ResultRow
from twlocal.bundle.strict import Malformed, parse
from twlocal.errors import DatasetError
from twlocal.plural import counted

SUMMARY = "_summary.json"
_QUANTISED = ("quantised", "quantized", "quantization", "quantisation")


def files(folder: Path) -> list[Path]:
    """The row files below a folder: .jsonl files whose first row has a `qh`."""
    return sorted(path for path in folder.rglob("*.jsonl") if path.is_file() and is_rows(path))


def is_rows(path: Path) -> bool:
    """Whether a file begins with a row of the exchange format."""
    try:
        with path.open(encoding="utf-8") as file:
            first = next((line for line in file if line.strip()), "")
        data = parse(first)
    except (Malformed, UnicodeDecodeError):
        return False
    return isinstance(data, dict) and "qh" in data


def read(path: Path, source: str, *, model: str = "", bench: str = "", skip_bad: bool = False) -> Result:
    """The result in one row file, with what lies beside it. Raises DatasetError naming every bad line.

    source: what it came in, for the record. model, bench: overrule the names of folder and file.
    """
    rows, bad = [], []
    for number, line in _lines(path):
        try:
            rows.append(exchange.from_line(line))
        except Malformed as error:
            bad.append(f"{path.name}:{number}: {error}")
    if bad and not (skip_bad and rows):
        more = f"\n  … and {len(bad) - 10:,} more" if len(bad) > 10 else ""
        raise DatasetError(
            f"{path}: {len(bad):,} of {counted(len(bad) + len(rows), 'row')} cannot be taken:\n  "
            + "\n  ".join(bad[:10])
            + more,
            hint="--skip-bad leaves them out and goes on; a cut last line means that the runner was stopped",
        )
    beside = _beside(path)
    named = beside.get("provenance", {})
    name = model or _model(named, path.parent.name) or "unknown"
    told = {"rejected_rows": bad[:100], "rejected": len(bad)} if bad else {}
    return Result(
        name=f"{exchange.folder(name)}-{bench or path.stem}".lower(),
        kind="runner",
        source=source,
        model=name,
        bench=bench or path.stem,
        rows=[ResultRow(qh=row.qh, ch=row.ch, ok=row.ok, boxp=row.boxp, lenp=row.lenp) for row in rows],
        complete=is_done(path),
        quantised=_quantised(named),
        marks=("quantised",) if _quantised(named) else (),
        provenance=scrubbed(beside | told),
    )


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8-sig") as file:
            yield from ((number, line) for number, line in enumerate(file, 1) if line.strip())
    except UnicodeDecodeError as error:
        raise DatasetError(f"{path} is not UTF-8 text", hint="ask for it again") from error


def is_done(path: Path) -> bool:
    """Whether a marker says that this bench is done: an empty one speaks for all, one with names for those."""
    for name in (f"{path.stem}.done", f".{path.stem}.done", f"{path.name}.done"):
        if (path.parent / name).is_file():
            return True
    marker = path.parent / exchange.DONE
    if marker.is_dir():
        return (marker / path.stem).exists()
    if not marker.is_file():
        return False
    said = marker.read_text(encoding="utf-8", errors="replace").split()
    # Some runners write a time into it; only names of benches narrow it down.
    benches = {file.stem for file in path.parent.glob("*.jsonl")}
    return path.stem in said or not benches & set(said)


def _beside(path: Path) -> dict[str, Any]:
    """Provenance and summary beside a row file or one folder up, as far as they are JSON."""
    found: dict[str, Any] = {}
    own = sorted((path.parent / exchange.PROVENANCE).glob("*.json"))
    near = sorted((path.parent.parent / exchange.PROVENANCE).glob("*.json"))
    shared = [file for file in near if file.stem.startswith(path.parent.name)]
    # Of several in the model's own folder those that name this bench, else all of them.
    mine = [file for file in own if path.stem in file.stem] or own or shared
    read = {file.stem: data for file in mine if (data := _json(file)) is not None}
    if read:
        found["provenance"] = read
    for summary in (path.parent / SUMMARY, path.parent.parent / SUMMARY):
        if summary.is_file() and (data := _json(summary)) is not None:
            found["summary"] = data
            break
    return found


def _json(path: Path) -> Any:
    try:
        return parse(path.read_text(encoding="utf-8-sig"))
    except (Malformed, UnicodeDecodeError):
        return None


def _model(named: Mapping[str, Any], folder: str) -> str:
    """The model's own name where a provenance file tells it and it fits the folder's; else the folder's."""
    for data in named.values():
        said = data.get("model") if isinstance(data, dict) else None
        name = said.get("id") if isinstance(said, dict) else said
        if isinstance(name, str) and exchange.folder(name) == folder:
            return name
    return folder


def _quantised(named: Mapping[str, Any]) -> bool | None:
    """What a provenance file says of quantisation; None where it says nothing."""
    told: bool | None = None
    for data in named.values():
        if not isinstance(data, dict):
            continue
        parts = [data, *(part for part in data.values() if isinstance(part, dict))]
        for part in parts:
            for name in _QUANTISED:
                if name in part:
                    value = part[name]
                    told = bool(told) or (value is True or (isinstance(value, str) and value.lower() not in _NONE))
    return told


_NONE = {"", "none", "null", "no", "false"}
