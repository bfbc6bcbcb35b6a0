"""SHA256SUMS: a line a file, as `sha256sum -c` reads it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

NAME = "SHA256SUMS"
_LINE = re.compile(r"(?P<sum>[0-9a-f]{64})  (?P<name>[^\r\n]+)")
_BLOCK = 1 << 20


def names(folder: Path) -> list[str]:
    """Every file below `folder` but the checksums themselves, as sorted names with slashes."""
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in found if name != NAME)


def write(folder: Path) -> None:
    """Write the checksums of everything in `folder`."""
    lines = [f"{of_file(folder / name)}  {name}\n" for name in names(folder)]
    (folder / NAME).write_text("".join(lines), encoding="utf-8", newline="\n")


def of_file(path: Path) -> str:
    """sha256 (hex) of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def of_lines(lines: Iterable[str]) -> str:
    """sha256 (hex) over texts, in the order given."""
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line.encode("utf-8"))
    return digest.hexdigest()


def findings(folder: Path) -> Iterator[tuple[str, str]]:
    """(file, what is wrong with it) for everything that the checksums do not bear out."""
    try:
        text = (folder / NAME).read_bytes().decode("utf-8")
    except FileNotFoundError:
        yield NAME, "is missing: nothing vouches for the files"
        return
    except UnicodeDecodeError:
        yield NAME, "is not UTF-8 text"
        return
    stated: dict[str, str] = {}
    # Not splitlines(): it would also break at U+2028, which a file's name may hold.
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        match = _LINE.fullmatch(line)
        if match is None:
            yield f"{NAME}:{number}", "is not a checksum and a file name"
        elif match["name"] in stated:
            yield f"{NAME}:{number}", f"names {match['name']} a second time"
        else:
            stated[match["name"]] = match["sum"]
    there = names(folder)
    if list(stated) != sorted(stated) or not text.endswith("\n"):
        yield NAME, "is not sorted by name, or does not end with a line end"
    for name in sorted(set(stated) - set(there)):
        yield name, "is missing, although it has a checksum"
    for name in there:
        if name not in stated:
            yield name, f"has no checksum in {NAME}"
        elif of_file(folder / name) != stated[name]:
            yield name, "was changed: its checksum is another"
