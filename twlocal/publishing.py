"""A dataset's folder as it is published: written whole, its rows twice, every file named with its sha256.

What the builds of both benchmarks share. Nothing in it depends on when, where or in how many sittings it was made.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from twlocal.errors import UsageError
from twlocal.item import UNIT_SEPARATOR

MANIFEST = "build_manifest.json"


@contextmanager
def folder(out: Path) -> Iterator[Path]:
    """A folder beside `out` to write a build to; after the block it takes the place of `out`, whole.

    Raises UsageError where `out` is something else than a build, or cannot be written to.
    """
    if out.is_file() or (out.is_dir() and any(out.iterdir()) and not (out / MANIFEST).is_file()):
        raise UsageError(f"{out} is there and is no build of twlocal", hint="name a folder that is empty or not there")
    part = out.with_name(out.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        part.mkdir(parents=True)
        yield part
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


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Rows as JSON Lines."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(one, ensure_ascii=False) + "\n" for one in rows)


def write_parquet(path: Path, rows: Sequence[Mapping[str, str]], columns: Sequence[str]) -> None:
    """Rows of text as Parquet. Raises EngineMissing where pyarrow is not installed."""
    from twlocal.backend import missing

    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise missing("parquet", "pyarrow") from error
    schema = arrow.schema([(name, arrow.string()) for name in columns])
    parquet.write_table(arrow.Table.from_pylist(list(rows), schema=schema), path, compression="zstd")


def write_csv(path: Path, columns: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    """Lines of text as CSV with a header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(lines)
    path.write_bytes(text.getvalue().encode("utf-8"))


def read_csv(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of such a file."""
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def write_text(path: Path, text: str) -> None:
    """A text with LF line ends."""
    path.write_text(text, encoding="utf-8", newline="\n")


def write_manifest(place: Path, told: Mapping[str, Any], rows: Mapping[str, int]) -> None:
    """The manifest of a folder: what is told, and every file in it with its sha256 and, where it has some, its rows."""
    files = {
        name: {"sha256": hashlib.sha256((place / name).read_bytes()).hexdigest()} | ({"rows": n} if n else {})
        for name, n in sorted(rows.items())
    }
    write_text(place / MANIFEST, json.dumps({**told, "files": files}, ensure_ascii=False, indent=1) + "\n")


def read_manifest(place: Path) -> dict[str, Any]:
    """The manifest of a folder. Raises UsageError where there is none that can be read."""
    try:
        found = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
        if not isinstance(found["files"], dict):
            raise TypeError("its files are no object")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{place} holds no build manifest that can be read: {error}") from error
    return dict(found)


def count_lines(path: Path) -> int:
    """How many lines a file has."""
    with path.open("rb") as file:
        return sum(1 for _ in file)


def present(place: Path) -> set[str]:
    """Every file in a folder but its manifest, with slashes."""
    return {path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()} - {MANIFEST}


def changed(place: Path, manifest: Mapping[str, Any]) -> list[str]:
    """Files that are missing, not listed, or not those that were built, a sentence each."""
    files, there = manifest["files"], present(place)
    wrong = [f"{name} is missing" for name in sorted(files.keys() - there)]
    wrong += [f"{name} is not listed in the manifest" for name in sorted(there - files.keys())]
    for name in sorted(files.keys() & there):
        if hashlib.sha256((place / name).read_bytes()).hexdigest() != files[name]["sha256"]:
            wrong.append(f"{name} is not the file that was built")
    return wrong


def fingerprint(rows: Iterable[tuple[str, str]]) -> str:
    """As `Dataset.fingerprint` of rows given as (content hash, subject), so that a run on them names the same data."""
    lines = sorted(f"{content_hash}{UNIT_SEPARATOR}{subject}" for content_hash, subject in rows)
    return hashlib.sha256("\n".join(lines).encode("utf-8")).hexdigest()


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return (
        "\n".join("| " + " | ".join(cell.strip().replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"
    )
