"""Writing small datasets in every format."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from twlocal.dataset import Dataset, load
from twlocal.errors import DatasetError

Rows = Sequence[Mapping[str, object]]


def row(number: int = 0, **changes: object) -> dict[str, object]:
    """A good row, with some cells changed."""
    return {
        "question": f"第{number}題？",
        "A": f"甲{number}",
        "B": f"乙{number}",
        "C": f"丙{number}",
        "D": f"丁{number}",
        "answer": "ABCD"[number % 4],
    } | changes


def to_csv(rows: Rows, delimiter: str = ",", end: str = "\r\n") -> bytes:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(rows[0]), delimiter=delimiter, lineterminator=end)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def to_jsonl(rows: Rows) -> bytes:
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in rows).encode()


def to_parquet(rows: Rows) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    out = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist([dict(one) for one in rows]), out)
    return out.getvalue()


def to_arrow(rows: Rows) -> bytes:
    import pyarrow as pa

    table = pa.Table.from_pylist([dict(one) for one in rows])
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


FORMATS: dict[str, Callable[[Rows], bytes]] = {
    ".csv": to_csv,
    ".tsv": lambda rows: to_csv(rows, "\t"),
    ".json": lambda rows: json.dumps(list(rows), ensure_ascii=False).encode(),
    ".jsonl": to_jsonl,
    ".parquet": to_parquet,
    ".arrow": to_arrow,
}


class Writer:
    """Writes rows or raw bytes into a folder, and loads them."""

    row = staticmethod(row)
    formats = FORMATS

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, name: str, content: Rows | bytes | str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            content = content.encode()
        path.write_bytes(content if isinstance(content, bytes) else FORMATS[path.suffix](content))
        return path

    def load(self, name: str, content: Rows | bytes | str, **options: object) -> Dataset:
        return load(str(self.put(name, content)), **options)  # type: ignore[arg-type]

    def error(self, name: str, content: Rows | bytes | str, **options: object) -> str:
        with pytest.raises(DatasetError) as caught:
            self.load(name, content, **options)
        return str(caught.value)


@pytest.fixture
def data(tmp_path: Path) -> Writer:
    return Writer(tmp_path)
