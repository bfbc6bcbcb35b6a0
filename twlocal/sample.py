"""Which rows of a dataset are asked: drawn by content hash, so that everybody draws the same ones.

Nothing here depends on the order of the file, on its split into files, or on chance. Pure, but for `read_manifest`.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twlocal.errors import DatasetError
from twlocal.item import Item
from twlocal.plural import counted

if TYPE_CHECKING:
    from twlocal.dataset import Dataset

_FORMAT = "twlocal-sample/1"


@dataclass(frozen=True)
class ManifestRow:
    """A drawn row: its content hash is what identifies it; subject and id tell equal rows apart."""

    ch: str
    subject: str
    id: str


@dataclass(frozen=True)
class Manifest:
    """A drawn sample as it was written: the rows, and the dataset (name, revision, fingerprint, items) it is from.

    `withdrawn` were drawn too, and are not asked.
    """

    rows: tuple[ManifestRow, ...]
    dataset: Mapping[str, Any]
    k: int | None
    limit: int | None
    withdrawn: tuple[ManifestRow, ...] = ()


def draw(items: Iterable[Item], k: int | None) -> list[Item]:
    """Within each subject the rows in the order of their content hashes, the first min(k, n) of them (paper: k = 150).

    Subjects come in sorted order. `k` None takes every row. Raises DatasetError on a k below 1.
    """
    _positive(k, "k")
    return [item for rows in _by_subject(items) for item in rows[:k]]


def limit(items: Iterable[Item], n: int | None) -> list[Item]:
    """`n` rows in all, spread over the subjects as equally as they allow: one each in turn, by content hash.

    `n` None takes every row. Raises DatasetError on an n below 1.
    """
    _positive(n, "the limit")
    rounds = zip_longest(*_by_subject(items))
    return [item for turn in rounds for item in turn if item is not None][:n]


def remove(drawn: Iterable[Item], withdrawn: Container[str]) -> tuple[list[Item], list[Item]]:
    """A drawn sample as what is asked and what is withdrawn, given the content hashes of withdrawn rows.

    The last step: removing rows before the draw would draw others in their place (22,200 drawn, 22,021 scored).
    """
    asked: list[Item] = []
    removed: list[Item] = []
    for item in drawn:
        (removed if item.content_hash in withdrawn else asked).append(item)
    return asked, removed


def _by_subject(items: Iterable[Item]) -> list[list[Item]]:
    subjects: defaultdict[str, list[Item]] = defaultdict(list)
    for item in items:
        subjects[item.subject].append(item)
    # The id only orders rows that are equal word for word.
    return [sorted(rows, key=lambda item: (item.content_hash, item.id)) for _, rows in sorted(subjects.items())]


def _positive(number: int | None, name: str) -> None:
    if number is not None and number < 1:
        raise DatasetError(f"{name} must be 1 or more, not {number}")


def manifest(dataset: Dataset, drawn: Sequence[Item], k: int | None, limit: int | None = None) -> dict[str, Any]:
    """The sample `drawn` from `dataset`, as JSON-ready data. It holds no text of any question.

    `n` and `rows` are what is asked; what the dataset has withdrawn is listed apart, so that `drawn` = `n` + those.
    """
    asked, withdrawn = remove(drawn, dataset.withdrawn)
    return {
        "format": _FORMAT,
        "dataset": {
            "name": dataset.name,
            "revision": dataset.revision,
            "fingerprint": dataset.fingerprint,
            "items": len(dataset.items),
        },
        "k": k,
        "limit": limit,
        "drawn": len(drawn),
        "n": len(asked),
        "subjects": dict(sorted(Counter(item.subject for item in asked).items())),
        "withdrawn": _rows(withdrawn),
        "rows": _rows(asked),
    }


def _rows(items: Sequence[Item]) -> list[dict[str, str]]:
    return [{"ch": item.content_hash, "subject": item.subject, "id": item.id} for item in items]


def read_manifest(path: Path) -> Manifest:
    """The manifest in the file `path`. Raises DatasetError."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DatasetError(f"cannot read the manifest {path}: {error.strerror or error}") from error
    except UnicodeError as error:
        raise DatasetError(f"{path} is not a manifest: not UTF-8 text", hint="twlocal sample writes one") from error
    return parse_manifest(text, str(path))


def parse_manifest(text: str, name: str) -> Manifest:
    """A manifest from its JSON text; `name` is for errors. Raises DatasetError."""
    try:
        data = json.loads(text)
        if data["format"] != _FORMAT:
            raise DatasetError(f"{name}: a manifest of the format {data['format']!r}, but this twlocal reads {_FORMAT}")
        rows, withdrawn = (
            tuple(ManifestRow(str(row["ch"]), str(row["subject"]), str(row["id"])) for row in listed)
            for listed in (data["rows"], data.get("withdrawn", ()))  # manifests of old have no list of withdrawn rows
        )
        read = Manifest(rows, dict(data["dataset"]), data["k"], data["limit"], withdrawn)
        stated = data["n"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DatasetError(
            f"{name} is not a manifest of a sample", hint="twlocal sample BENCH -o FILE writes one"
        ) from error
    if stated != len(rows):
        raise DatasetError(f"{name} is damaged: it states {stated} rows and holds {len(rows)}")
    return read


def select(items: Sequence[Item], manifest: Manifest) -> list[Item]:
    """The rows that `manifest` lists, in its order, each row of the dataset used once.

    A row is found by content hash; among equal ones, that of the same subject and id is preferred. Raises DatasetError
    with their number when some are not in the dataset.
    """
    rest: defaultdict[str, list[Item]] = defaultdict(list)
    wanted = {row.ch for row in manifest.rows}
    for item in items:
        if item.content_hash in wanted:
            rest[item.content_hash].append(item)
    chosen: dict[int, Item] = {}
    # From the surest likeness to the least, over all rows each time: no row may take what fits another one better.
    for likeness in (("subject", "id"), ("subject",), ()):
        for place, row in enumerate(manifest.rows):
            if place in chosen:
                continue
            left = rest[row.ch]
            for index, item in enumerate(left):
                if all(getattr(item, name) == getattr(row, name) for name in likeness):
                    chosen[place] = left.pop(index)
                    break
    missing = [row.ch[:12] for place, row in enumerate(manifest.rows) if place not in chosen]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise DatasetError(
            f"{len(missing):,} of the manifest's {counted(len(manifest.rows), 'row')} {verb} not in this dataset "
            f"(content hashes {', '.join(missing[:3])}{', …' if len(missing) > 3 else ''})",
            hint=f"it was drawn from {manifest.dataset.get('name', 'another dataset')}: use the same data",
        )
    return [chosen[place] for place in range(len(manifest.rows))]
