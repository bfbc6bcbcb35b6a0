"""A source's name → the files behind it, local or on the Hub, as lazily read bytes."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path, PurePosixPath

from twlocal.dataset import withdrawals
from twlocal.dataset.benches import Bench
from twlocal.dataset.hub import Hub, HubSource, parse
from twlocal.errors import DatasetError

SUFFIXES = (".csv", ".tsv", ".tab", ".json", ".jsonl", ".ndjson", ".parquet", ".arrow", ".feather")
# What the `datasets` library writes beside the data.
_NOT_DATA = frozenset({"dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json", withdrawals.NAME})
# A folder with this file was written by `twlocal exam build`: its data, and the same once more as JSON Lines.
_BUILD, _BUILT = "build_manifest.json", "parquet"


@dataclass(frozen=True)
class SourceFile:
    """One file: the name to show, its stem and suffix, and how to get its bytes."""

    name: str
    stem: str
    suffix: str
    read: Callable[[], bytes]


@dataclass(frozen=True)
class Found:
    """The files of a source in a fixed order; `revision` is the Hub's commit, or "". `withdrawn` ships beside them."""

    files: tuple[SourceFile, ...]
    revision: str = ""
    withdrawn: SourceFile | None = None


def readable(path: str) -> str:
    """A path as text that can be printed and stored, whatever the locale: names on disk are taken for UTF-8."""
    try:
        return os.fsencode(path).decode("utf-8", "replace")
    except UnicodeEncodeError:  # an ASCII locale, and text that did not come from the operating system
        return path


def _native(path: str) -> str:
    """The path as the operating system's calls want it: the same bytes also under an ASCII locale."""
    return os.fsdecode(path.encode("utf-8", "surrogateescape"))


def find(source: str, *, private: bool, hub: Callable[[], Hub], benches: Mapping[str, Bench]) -> Found:
    """The files of a bench, a file, a folder or a `hf://` source. Raises DatasetError."""
    entry = benches.get(source)
    if entry is not None:
        if not entry.source.startswith("hf://"):
            bundled = files("twlocal.data").joinpath(entry.source)
            return Found((_file(source, PurePosixPath(entry.source), bundled.read_bytes),))
        source, private = entry.source, private or entry.private
    if source.startswith("hf://"):
        return _on_hub(parse(source), hub(), private)
    if "://" in source:
        raise DatasetError(
            f"{source} is not a source that can be read", hint="a file, a folder, hf://owner/name, or a bench"
        )
    return _local(source, benches)


def _local(source: str, benches: Mapping[str, Bench]) -> Found:
    path, name = Path(_native(source)), readable(source)
    if not source:
        raise DatasetError("no dataset is named", hint=f"a file, a folder, hf://owner/name, or {', '.join(benches)}")
    try:
        if path.is_dir():
            inside = [Path(folder, file) for folder, _, names in os.walk(path, onerror=_raise) for file in names]
            relative = {readable(str(one.relative_to(path).as_posix())): one for one in inside}
            known = _known(name, list(relative))
            return Found(
                tuple(
                    _file(f"{name.rstrip('/')}/{one}", PurePosixPath(one), relative[one].read_bytes) for one in known
                ),
                withdrawn=_beside(path),
            )
        if path.exists():
            shown = PurePosixPath(readable(path.name))
            if shown.suffix.lower() not in SUFFIXES:
                raise DatasetError(
                    f"{name}: {_kind(shown.suffix)} files are not read", hint=f"known: {' '.join(SUFFIXES)}"
                )
            return Found((_file(name, shown, path.read_bytes),), withdrawn=_beside(path))
        near = _near(name, path, benches)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise DatasetError(f"cannot read {name}: {getattr(error, 'strerror', None) or error}") from error
    raise DatasetError(f"no such file, folder or bench: {name}", hint=near)


def _beside(path: Path) -> SourceFile | None:
    """The list of withdrawn rows of a folder or a file: in its folder, or above it where that is a build's folder."""
    path = path.absolute()
    if path.name == withdrawals.NAME:
        return None
    folder = path if path.is_dir() else path.parent
    places = [folder, *([folder.parent] if (folder.parent / _BUILD).is_file() else [])]
    for place in places:
        if (found := place / withdrawals.NAME).is_file():
            return _file(readable(os.path.relpath(found)), PurePosixPath(found.name), found.read_bytes)
    return None


def _raise(error: OSError) -> None:
    raise error


def _kind(suffix: str) -> str:
    return suffix or "nameless (no suffix)"


def _alike(first: str, second: str) -> bool:
    """Whether names are near by more than their suffixes."""
    return difflib.SequenceMatcher(None, first, second).ratio() >= 0.4


def _near(name: str, path: Path, benches: Mapping[str, Bench]) -> str:
    siblings = sorted(readable(one.name) for one in path.parent.iterdir()) if path.parent.is_dir() else []
    asked = PurePosixPath(name)
    close = difflib.get_close_matches(asked.name, [*benches, *siblings], n=3, cutoff=0.6)
    close = [one for one in close if _alike(asked.stem, PurePosixPath(one).stem)]
    said = f"near: {', '.join(close)}; " if close else ""
    if name.count("/") == 1 and not path.parent.exists():
        said += f"on the Hub: hf://{name}; "
    return f"{said}benches: {', '.join(sorted(benches))}"


def _file(name: str, path: PurePosixPath, read: Callable[[], bytes]) -> SourceFile:
    def explained() -> bytes:
        try:
            return read()
        except OSError as error:
            raise DatasetError(f"cannot read {name}: {error.strerror or error}") from error

    return SourceFile(name, path.stem, path.suffix.lower(), explained)


def _known(name: str, paths: list[str]) -> list[str]:
    """The data files among `paths` (relative, with slashes), sorted; hidden and unknown ones are passed over."""
    seen = sorted(path for path in paths if not any(part.startswith((".", "~$", "__")) for part in path.split("/")))
    if _BUILD in seen:
        seen = [path for path in seen if path.startswith(f"{_BUILT}/")]
    known = [
        path
        for path in seen
        if PurePosixPath(path).suffix.lower() in SUFFIXES and PurePosixPath(path).name not in _NOT_DATA
    ]
    if not known:
        listed = ", ".join(seen[:8]) + (", …" if len(seen) > 8 else "") if seen else "nothing"
        raise DatasetError(f"{name}: no data file inside, only: {listed}", hint=f"known: {' '.join(SUFFIXES)}")
    return known


def _on_hub(source: HubSource, hub: Hub, private: bool) -> Found:
    commit, paths = hub.files(source.repo, source.revision)
    name = f"hf://{source.repo}"
    inside = [path for path in paths if not source.path or path == source.path or path.startswith(f"{source.path}/")]
    if not inside:
        close = difflib.get_close_matches(source.path, paths, n=3, cutoff=0.4)
        raise DatasetError(
            f"{name} has no {source.path!r} at {commit[:12]}",
            hint=f"near: {', '.join(close)}" if close else "see its file list",
        )

    def reader(path: str) -> Callable[[], bytes]:
        return lambda: hub.read(source.repo, commit, path, private=private)

    # The nearest list above the data, up to the top of the repository.
    above = [str(PurePosixPath(source.path, withdrawals.NAME)), *_above(source.path)]
    listed = next((one for one in above if one in set(paths) and one != source.path), None)
    return Found(
        tuple(_file(f"{name}/{path}", PurePosixPath(path), reader(path)) for path in _known(name, inside)),
        commit,
        _file(f"{name}/{listed}", PurePosixPath(listed), reader(listed)) if listed else None,
    )


def _above(path: str) -> list[str]:
    return [str(parent / withdrawals.NAME) for parent in PurePosixPath(path).parents]
