"""A board's files on disk: what changed is written, what did not is left alone, what went is removed.

`site.json` at the top lists every file with its sha256, and for a page what it was made from. Nothing else in the
folder is touched: a CNAME or a .git stays.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import twlocal
from twlocal.board.source import FORMAT, pretty
from twlocal.bundle.strict import Malformed, parse
from twlocal.errors import UsageError
from twlocal.whole import whole

INDEX = "site.json"
# GitHub Pages would leave out names that begin with an underscore, and spend a minute on Jekyll.
FIXED: Mapping[str, str] = {".nojekyll": ""}


@dataclass(frozen=True)
class Page:
    """A page to be: its name, the digest of all it is made from, and how it is made."""

    name: str
    made_from: str
    make: Callable[[], str]


@dataclass(frozen=True)
class Written:
    """What a build did: names of files by what became of them."""

    written: tuple[str, ...]
    kept: tuple[str, ...]
    removed: tuple[str, ...]


@dataclass(frozen=True)
class Index:
    """A site's files: name → (sha256, what it was made from or ""). templates: digest of what makes pages."""

    twlocal: str
    templates: str
    files: Mapping[str, tuple[str, str]]

    def text(self) -> str:
        return pretty(
            {
                "format": FORMAT,
                "twlocal": self.twlocal,
                "templates": self.templates,
                "files": {
                    name: {"sha256": sha256} | ({"from": made_from} if made_from else {})
                    for name, (sha256, made_from) in self.files.items()
                },
            }
        )


def digest(text: str | bytes) -> str:
    """sha256 (hex)."""
    return hashlib.sha256(text.encode("utf-8") if isinstance(text, str) else text).hexdigest()


def digest_of(parts: Sequence[Any]) -> str:
    """sha256 (hex) of plain data."""
    return digest(json.dumps(parts, ensure_ascii=False, sort_keys=True))


def read_index(folder: Path) -> Index | None:
    """The index of the site in `folder`; None where there is none. Raises Malformed."""
    path = folder / INDEX
    if not path.is_file():
        return None
    try:
        data = parse(path.read_text(encoding="utf-8"))
        if data["format"] != FORMAT:
            raise Malformed(f"is of the format {data['format']!r}, and this twlocal reads {FORMAT}")
        files = {str(name): (str(one["sha256"]), str(one.get("from", ""))) for name, one in data["files"].items()}
        return Index(str(data["twlocal"]), str(data["templates"]), files)
    except (KeyError, TypeError, AttributeError, UnicodeDecodeError) as error:
        raise Malformed(f"does not hold together ({type(error).__name__}: {error})") from error


def may_write(folder: Path, names: Iterable[str], old: Index | None) -> None:
    """Raises UsageError where building would overwrite files that no board wrote."""
    if old is not None or not folder.exists():
        return
    if not folder.is_dir():
        raise UsageError(f"{folder} is a file", hint="name a folder for the site")
    there = [name for name in names if (folder / name).exists() and name not in FIXED]
    if there:
        raise UsageError(
            f"{folder} holds {there[0]}, and no board that twlocal built", hint="name an empty folder, or move it away"
        )


def write(folder: Path, data: Mapping[str, str], pages: Sequence[Page], templates: str, old: Index | None) -> Written:
    """Bring the folder up to date. The index comes last: a build that was killed is done again.

    Only a first build leaves an empty one before anything else, so that the folder is known as its own.
    """
    before = old.files if old is not None else {}
    if old is None:
        begun = Index(twlocal.__version__, templates, {}).text()
        _put(folder, INDEX, begun, digest(begun))
    files: dict[str, tuple[str, str]] = {}
    written: list[str] = []
    kept: list[str] = []
    for name, text in {**FIXED, **data}.items():
        sha256 = digest(text)
        files[name] = (sha256, "")
        (written if _put(folder, name, text, sha256) else kept).append(name)
    for page in pages:
        stated = before.get(page.name)
        if stated is not None and stated[1] == page.made_from and sha_of(folder / page.name) == stated[0]:
            files[page.name] = stated
            kept.append(page.name)
            continue
        text = page.make()
        sha256 = digest(text)
        files[page.name] = (sha256, page.made_from)
        (written if _put(folder, page.name, text, sha256) else kept).append(page.name)
    removed = [name for name in before if name not in files and _inside(folder, name)]
    for name in removed:
        (folder / name).unlink(missing_ok=True)
        _prune(folder, (folder / name).parent)
    index = Index(twlocal.__version__, templates, dict(sorted(files.items()))).text()
    _put(folder, INDEX, index, digest(index))
    return Written(tuple(written), tuple(kept), tuple(removed))


def sha_of(path: Path) -> str:
    """sha256 (hex) of a file; "" where there is none."""
    try:
        return digest(path.read_bytes())
    except OSError:
        return ""


def _put(folder: Path, name: str, text: str, sha256: str) -> bool:
    """Write a file unless it holds that already; whether it was written."""
    path = folder / name
    if sha_of(path) == sha256:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole(path) as part:
        part.write_text(text, encoding="utf-8", newline="\n")
    return True


def _inside(folder: Path, name: str) -> bool:
    """An index is a file, and may say anything: only what lies in the folder is removed."""
    return (folder / name).resolve().is_relative_to(folder.resolve()) and name != INDEX


def _prune(folder: Path, place: Path) -> None:
    while place != folder and place.is_relative_to(folder) and place.is_dir() and not any(place.iterdir()):
        place.rmdir()
        place = place.parent


def others(folder: Path, index: Index) -> list[str]:
    """Files of the folder that its index does not list; hidden ones at the top and a CNAME belong to the host."""
    found = []
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name not in index.files and name != INDEX:
            if name.startswith(".") or name == "CNAME":
                continue
            found.append(name)
    return sorted(found)
