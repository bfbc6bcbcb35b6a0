"""Which papers there are: by file names, by a JSON or a CSV manifest, and what is told of a damaged one."""

from __future__ import annotations

import json

import pytest

from twlocal.errors import UsageError
from twlocal.exam.listing import discover


def touch(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"%PDF")


def kinds(papers):
    return {paper.name: "".join(document.kind for document in paper.documents) for paper in papers}


def test_names(tmp_path):
    touch(
        tmp_path,
        "b__Q.pdf",
        "a__q.PDF",
        "a__A.pdf",
        "a__M.pdf",
        "sub/c__Q.pdf",
        "sub/c__S.pdf",
        "notes.pdf",
        "d__X.pdf",
    )
    assert kinds(discover(tmp_path)) == {"a": "QAM", "b": "Q", "sub/c": "QA"}


def test_the_handouts_manifest(tmp_path):
    entry = {"question": {"file": "papers/x.pdf", "sha256": "AB"}, "correction": {"file": "papers/y.pdf"}, "year": 101}
    (tmp_path / "manifest.json").write_text(json.dumps({"papers": [{"id": "x"} | entry]}), encoding="utf-8")
    (paper,) = discover(tmp_path)
    assert paper.year == 101
    assert [(d.kind, d.path, d.sha256) for d in paper.documents] == [
        ("Q", tmp_path / "papers" / "x.pdf", "ab"),
        ("M", tmp_path / "papers" / "y.pdf", None),
    ]


def test_a_csv_manifest_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "list.csv"
    path.write_text("\ufeffid,question,answer,correction,subject\nx,q.pdf,,m.pdf,民法\n", encoding="utf-8")
    (paper,) = discover(path)
    assert (paper.name, paper.subject, kinds([paper])) == ("x", "民法", {"x": "QM"})
    assert discover(tmp_path, path) == [paper]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("m.json", "{", "is not JSON"),
        ("m.json", "3", "lists no papers"),
        ("m.json", "{}", "lists no papers"),
        ("m.json", "[]", "lists no papers"),
        ("m.json", "[3]", "entry 1: no id"),
        ("m.json", '[{"id": "a"}, {"id": ""}]', "entry 2: no id"),
        ("m.json", '[{"id": "a"}, {"id": "a"}]', "the paper a is listed twice"),
        ("m.json", '[{"id": "a", "question": 5}]', "question is not a file name"),
        ("m.json", '[{"id": "a", "year": "民國"}]', "the year is '民國'"),
        ("m.csv", "question\nx.pdf\n", "entry 1: no id"),
    ],
)
def test_a_damaged_manifest_is_told(tmp_path, name, text, message):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        discover(tmp_path, tmp_path / name)


def test_no_paper_and_no_folder(tmp_path):
    with pytest.raises(UsageError, match="no paper in"):
        discover(tmp_path)
    with pytest.raises(UsageError, match="there is no folder"):
        discover(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="cannot read the manifest"):
        discover(tmp_path, tmp_path / "nothing.json")


def test_two_files_for_one_document(tmp_path):
    touch(tmp_path, "a__Q.pdf", "a__A.pdf", "a__S.pdf")
    with pytest.raises(UsageError, match="are the same document"):
        discover(tmp_path)
