"""Names → files."""

from __future__ import annotations

import os

import pytest

from twlocal.dataset import Bench, bench, benches, load
from twlocal.dataset.sources import readable
from twlocal.errors import DatasetError


def fails(source: object, **options: object) -> str:
    with pytest.raises(DatasetError) as caught:
        load(str(source), **options)  # type: ignore[arg-type]
    return str(caught.value)


def test_the_bundled_demo_loads_without_a_complaint():
    demo = load("demo")
    assert demo.name == "demo" and len(demo.items) >= 100 and not demo.rejected and not demo.notes
    assert len({item.subject for item in demo.items}) >= 5


def test_the_benches():
    assert set(benches()) == {"demo", "formosa", "exam"}
    formosa, exam = bench("formosa"), bench("exam")
    assert formosa == Bench(
        "formosa", "hf://OpenTWBench/otb-mac-data/formosa.parquet", 4096, "tw-formosa-bench", private=True
    )
    assert exam is not None and exam.max_tokens == 16384 and exam.private
    assert bench("nothing") is None


def test_a_folder_is_read_in_the_order_of_its_names(data):
    for number, name in enumerate(["b/z.jsonl", "a.csv", "b/a.tsv", "乙.json", "甲.parquet"]):
        data.put(f"f/{name}", [data.row(number)])
    for name in (
        ".hidden.csv",
        ".git/x.csv",
        "~$a.csv",
        "__MACOSX/a.csv",
        "README.md",
        "b/dataset_info.json",
        "state.json",
    ):
        data.put(f"f/{name}", b"not data")
    loaded = load(f"{data.folder}/f/")
    assert [item.subject for item in loaded.items] == ["a", "a", "z", "乙", "甲"]
    assert [item.question for item in loaded.items] == [f"第{n}題？" for n in (1, 2, 0, 3, 4)]


def test_a_bad_row_in_a_folder_is_named_with_its_file(data):
    data.put("f/a.csv", [data.row(0)])
    data.put("f/b.csv", [data.row(1), data.row(2, answer="J")])
    assert f"{data.folder}/f/b.csv:3: " in fails(data.folder / "f")


def test_a_folder_without_data(data):
    data.put("f/notes.txt", b"x")
    data.put("f/.x.csv", b"x")
    assert "no data file inside, only: notes.txt" in fails(data.folder / "f")
    (data.folder / "empty").mkdir()
    assert "only: nothing" in fails(data.folder / "empty")
    for number in range(12):
        data.put(f"many/{number:02}.txt", b"x")
    assert "07.txt, …" in fails(data.folder / "many")


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf", b"question,A,B,C,D,answer\n"])
def test_files_without_rows_are_reported_unless_all_are(data, content):
    data.put("f/empty.csv", content)
    assert "no rows" in fails(data.folder / "f")
    data.put("f/full.csv", [data.row()])
    loaded = load(str(data.folder / "f"))
    assert len(loaded.items) == 1 and loaded.notes["empty_files"] == 1


def test_several_splits_of_a_subject_are_reported(data):
    data.put("f/刑法_test.csv", [data.row(0)])
    data.put("f/刑法_dev.csv", [data.row(1)])
    data.put("f/民法_test.csv", [data.row(2)])
    loaded = load(str(data.folder / "f"))
    assert loaded.notes["mixed_splits"] == 1 and loaded.notes.examples["mixed_splits"] == ("刑法: dev, test",)


def test_names_that_are_not_there(data):
    data.put("題庫.csv", [data.row()])
    message = fails(data.folder / "題庫.cvs")
    assert "no such file" in message and "near: 題庫.csv" in message
    assert "near:" not in fails(data.folder / "沒有.csv"), "alike in nothing but the suffix"
    assert "near: formosa" in fails("formsa")
    assert "on the Hub: hf://owner/name" in fails("owner/name")
    assert "benches: demo, exam, formosa" in fails("x/y/z.csv")
    assert "no dataset is named" in fails(""), "an empty name is not the current folder"


def test_files_of_an_unknown_kind(data):
    data.put("x.xlsx", b"PK\x03\x04")
    data.put("noname", b"x")
    assert ".xlsx files are not read" in fails(data.folder / "x.xlsx") and ".parquet" in fails(data.folder / "x.xlsx")
    assert "no suffix" in fails(data.folder / "noname")
    assert "hf://owner/name" in fails("https://example.org/x.csv")


def test_a_suffix_in_capitals(data):
    data.put("x.csv", [data.row()]).rename(data.folder / "X.CSV")
    assert len(load(str(data.folder / "X.CSV")).items) == 1


def test_what_cannot_be_opened(data, monkeypatch):
    path = data.put("x.csv", [data.row()])

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(path), "read_bytes", refuse)
    assert f"cannot read {path}: Permission denied" in fails(path)
    monkeypatch.undo()
    (data.folder / "f").mkdir()
    monkeypatch.setattr(os, "scandir", refuse)
    assert "Permission denied" in fails(data.folder / "f")


def test_a_nul_in_the_name():
    assert "a\0b" in fails("a\0b.csv")


def test_a_base_that_is_none():
    assert "--answer-base 0 or" in fails("demo", answer_base=2)


def test_benches_can_be_given(data):
    path = data.put("x.csv", [data.row()])
    assert "no such" in fails("demo", benches={})
    assert load(str(path), benches={}).items


def test_names_on_disk_are_taken_for_utf8():
    assert readable(os.fsdecode("題庫".encode())) == "題庫"
    assert readable(os.fsdecode(b"\xff.csv")) == "\ufffd.csv"


def test_the_collector_is_given_back_as_it_was():
    import gc

    load("demo")
    assert gc.isenabled()
    gc.disable()
    try:
        load("demo")
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_told(data):
    rows = [data.row(0), data.row(0), *(data.row(n, answer="J") for n in range(11)), data.row(99, question="尾 ")]
    told = data.load("x.csv", rows, skip_bad=True).told()
    assert told[0].startswith("rows left out: 11 of 14 (") and told[0].endswith("; …)")
    assert told[0].count("x.csv:") == 10
    assert told[1].startswith("rows that repeat an earlier row of their subject word for word, all kept: 1 (")
    assert len(told) == 3 and "normalised: 1" in told[2]
    assert data.load("x.csv", [data.row()]).told() == []


def test_reordered_options_with_another_keyed_text_conflict(data):
    same = data.row(0, A="1", B="2", C="3", D="4", answer="A")
    agree = same | {"A": "2", "B": "1", "answer": "B"}
    against = same | {"A": "2", "B": "1", "answer": "A"}
    assert dict(data.load("x.csv", [same, agree]).notes) == {"same_stem_other_options": 1}
    assert dict(data.load("x.csv", [same, against]).notes) == {"key_conflicts": 1, "same_stem_other_options": 1}


def test_control_tokens_of_models_are_told(data):
    rows = [
        data.row(0, question="ChatML 以 <|im_end|> 作為什麼？"),
        data.row(1, C="</s>"),
        data.row(2, D="<｜end▁of▁sentence｜>"),
        data.row(3, question="Llama 2 的 [INST] 表示什麼？"),
        data.row(4, question="若 a<s 且 s>b，<b>何者</b>[1]正確？", A="<script>", B="[UNK]", C="x|y", D="<p>"),
    ]
    loaded = data.load("x.jsonl", rows)
    assert len(loaded.items) == 5 and dict(loaded.notes) == {"control_tokens": 4}


def test_options_that_carry_labels_and_entities_are_told(data):
    labelled = {label: f"{form}{label}{end}文" for label, form, end in zip("ABCD", "（(  ", "）). ", strict=True)}
    labelled |= {"C": "C. 丙", "D": "D、丁"}
    rows = [
        data.row(0, **labelled),
        data.row(1, A="A. Smith", B="B. Jones"),
        data.row(2, question="若 a &lt; b？"),
        data.row(3, A="AT&T", B="R&D;", C="&", D="a & b; c"),
        data.row(4, D="&#30002;"),
    ]
    loaded = data.load("x.jsonl", rows)
    assert len(loaded.items) == 5, "told of, and taken as they are"
    assert dict(loaded.notes) == {"labelled_options": 1, "html_entities": 2}
    assert loaded.notes.examples["labelled_options"][0].endswith("x.jsonl:1")
