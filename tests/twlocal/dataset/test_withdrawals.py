"""The list of withdrawn rows that ships beside a dataset."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from twlocal.dataset import load, load_splits, withdrawals
from twlocal.errors import DatasetError

ROWS = [
    {"id": f"q{n}", "question": f"第{n}題？", "A": "甲", "B": "乙", "C": "丙", "D": f"丁{n}", "answer": "A"}
    for n in range(6)
]


def lines(rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def withdrawn(data, *numbers):
    return lines(
        {"ch": data.items[n].content_hash, "id": f"q{n}", "subject": "civil", "rule": "decision", "reason": "圖"}
        for n in numbers
    )


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "civil.jsonl").write_text(lines(ROWS), encoding="utf-8")
    return tmp_path / "set"


def test_a_list_beside_the_data_is_read_and_is_no_data(folder):
    data = load(str(folder))
    (folder / "withdrawn.jsonl").write_text(withdrawn(data, 1, 4), encoding="utf-8")
    again = load(str(folder))
    assert again.items == data.items and again.fingerprint == data.fingerprint, "withdrawn rows stay in the data"
    assert again.withdrawn == {data.items[1].content_hash: "decision: 圖", data.items[4].content_hash: "decision: 圖"}
    assert load(str(folder / "civil.jsonl")).withdrawn == again.withdrawn, "beside a single file too"
    assert load_splits(str(folder))[""].withdrawn == again.withdrawn
    assert data.withdrawn == {}


def test_a_build_is_read_once_and_with_its_list(folder, monkeypatch):
    """The folder of `exam build` holds its rows twice, and lists of papers that are no rows."""
    from pyarrow import Table, parquet

    data = load(str(folder))
    for name in ("jsonl", "parquet", "accounting"):
        (folder / name).mkdir()
    (folder / "civil.jsonl").rename(folder / "jsonl" / "civil.jsonl")
    parquet.write_table(Table.from_pylist(ROWS), folder / "parquet" / "civil.parquet")
    (folder / "accounting" / "papers.csv").write_text("paper,state\np1,paired\n", encoding="utf-8")
    (folder / "withdrawn.jsonl").write_text(withdrawn(data, 2), encoding="utf-8")
    (folder / "build_manifest.json").write_text("{}", encoding="utf-8")
    for source in (folder, folder / "parquet", folder / "jsonl", folder / "parquet" / "civil.parquet"):
        found = load(str(source))
        assert (found.fingerprint, list(found.withdrawn)) == (data.fingerprint, [data.items[2].content_hash])
    monkeypatch.chdir(folder / "parquet")
    assert len(load(".").withdrawn) == 1
    (folder / "build_manifest.json").unlink()
    assert load(str(folder / "parquet")).withdrawn == {}, "above a folder only where that is a build"


def test_on_the_hub_the_nearest_list_above_the_data(folder):
    local = load(str(folder))

    class Hub:
        def __init__(self, files):
            self.contents = files

        def files(self, repo, revision):
            return "c" * 40, sorted(self.contents)

        def read(self, repo, commit, path, *, private):
            return self.contents[path].encode()

    hub = Hub({"data/civil.jsonl": lines(ROWS), "withdrawn.jsonl": withdrawn(local, 3)})
    for source in ("hf://a/b", "hf://a/b/data", "hf://a/b/data/civil.jsonl"):
        assert list(load(source, hub=hub).withdrawn) == [local.items[3].content_hash]
    hub.contents["data/withdrawn.jsonl"] = withdrawn(local, 0)
    assert list(load("hf://a/b/data", hub=hub).withdrawn) == [local.items[0].content_hash]
    assert list(load("hf://a/b", hub=hub).withdrawn) == [local.items[3].content_hash]


def test_plain_hashes_and_comments():
    one, other = "a" * 64, "B" * 64
    text = f"\ufeff# withdrawn in May\n{one}  # its figure is missing\n\n{other}\n"
    assert withdrawals.parse(text, "gone.txt") == {one: "", other.lower(): ""}


def test_a_reason_may_hold_what_other_programs_take_for_a_line_end():
    one, other = "a" * 64, "b" * 64
    text = f'{{"ch": "{one}", "reason": "圖\u2028不見"}}\r\n{{"ch": "{other}"}}\r\n'
    assert withdrawals.parse(text, "withdrawn.jsonl") == {one: "圖\u2028不見", other: ""}


@pytest.mark.parametrize(
    "line", ["q17", '{"id": "q17"}', "[]", '{"ch": ', '{"ch": 5}', "{" * 3000, '{"ch": "' + "g" * 64 + '"}']
)
def test_what_is_no_list_stops_the_load_and_says_where(folder, line):
    (folder / "withdrawn.jsonl").write_text("\n" + line + "\n", encoding="utf-8")
    with pytest.raises(DatasetError, match=r"withdrawn\.jsonl:2") as error:
        load(str(folder))
    assert "content hash" in (error.value.hint or "")


def test_a_folder_stands_for_its_list(tmp_path, folder):
    (folder / "withdrawn.jsonl").write_text("c" * 64, encoding="utf-8")
    assert withdrawals.read(folder) == withdrawals.read(Path(folder / "withdrawn.jsonl")) == {"c" * 64: ""}
    with pytest.raises(DatasetError, match="cannot read the list"):
        withdrawals.read(tmp_path)
