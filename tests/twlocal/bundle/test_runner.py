"""The public runners' results directories, as they lie about: repeated stems, cut lines, missing markers."""

from __future__ import annotations

import hashlib
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from twlocal.bundle import loose, runner
from twlocal.bundle.importing import Outcome, Wanted, import_
from twlocal.bundle.known import as_dict, known
from twlocal.bundle.stored import opened
from twlocal.bundle.terminal import render
from twlocal.errors import DatasetError, UsageError
from twlocal.item import Item

AT = "2026-02-03T04:05:06.000000Z"
# Ninety-six stems for a hundred rows: four questions are asked with other options.
STEMS = [f"第{n % 96}題：依民法規定，下列敘述何者正確？" for n in range(100)]


def _row(n: int) -> dict[str, Any]:
    qh = hashlib.sha256(STEMS[n].encode()).hexdigest()[:16]
    return {"qh": qh, "ok": n % 3 == 0, "boxp": n % 4 != 0, "lenp": n % 3 == 0 or n % 5 != 0}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """As a CUDA runner leaves it: two models, one of them stopped in its second bench."""
    root = tmp_path / "results"
    for model, name in (("google_gemma-3-4b-it", "google/gemma-3-4b-it"), ("taide_Llama-8B", "taide/Llama-8B")):
        folder = root / model
        (folder / "_provenance").mkdir(parents=True)
        for bench in ("formosa", "exam"):
            lines = "".join(json.dumps(_row(n)) + "\n" for n in range(100))
            (folder / f"{bench}.jsonl").write_text(lines, encoding="utf-8")
        (folder / "_provenance" / "formosa.json").write_text(
            json.dumps(
                {
                    "model": name,
                    "gpu": "NVIDIA RTX 3090",
                    "driver": "580.65",
                    "vllm": "0.13.0",
                    "quantization": None if model.startswith("google") else "awq",
                    "dataset_sha": "ab" * 32,
                    "serve": {"max_model_len": 8192, "download_dir": "/home/wu/hf"},
                }
            ),
            encoding="utf-8",
        )
    (root / "google_gemma-3-4b-it" / ".done").write_text("formosa\nexam\n", encoding="utf-8")
    (root / "taide_Llama-8B" / ".done").write_text("formosa\n", encoding="utf-8")
    (root / "_summary.json").write_text('{"note": "two models"}', encoding="utf-8")
    return root


def _import(path: Path, db: Path, at: str = AT, **wanted: Any) -> list[Outcome]:
    with opened(db, create=True) as (runs, stored):
        return import_(path, runs, stored, Wanted(**wanted), at=at)


def test_every_row_is_kept_and_repeated_stems_are_counted(results: Path, tmp_path: Path) -> None:
    outcomes = _import(results, tmp_path / "t.db")
    assert [(one.name, one.kind, one.rows, one.new) for one in outcomes] == [
        ("google_gemma-3-4b-it-exam", "runner", 100, True),
        ("google_gemma-3-4b-it-formosa", "runner", 100, True),
        ("taide_llama-8b-exam", "runner", 100, True),
        ("taide_llama-8b-formosa", "runner", 100, True),
    ]
    assert outcomes[0].notes == (
        "4 rows have the stem hash of an earlier row: all kept, but which is which nobody can tell",
    )
    assert "no .done marker: it may be incomplete" in outcomes[2].notes
    with opened(tmp_path / "t.db", create=False) as (runs, stored):
        assert runs.all() == []
        first, _, cut, last = stored.results()
        assert (first.model, first.bench, first.complete) == ("google/gemma-3-4b-it", "exam", True)
        assert (cut.complete, last.complete) == (False, True)
        assert [row.qh for row in stored.rows(first.id)] == [_row(n)["qh"] for n in range(100)]
        assert [row.ok for row in stored.rows(first.id)] == [n % 3 == 0 for n in range(100)]
        assert last.quantised is True
        assert last.marks == ("quantised",)
        told = first.provenance["provenance"]["formosa"]
        assert (told["gpu"], told["serve"]) == ("NVIDIA RTX 3090", {"max_model_len": 8192, "download_dir": "(removed)"})


def test_importing_twice_is_importing_once_in_any_packing(results: Path, tmp_path: Path) -> None:
    db = tmp_path / "t.db"
    assert all(one.new for one in _import(results, db))
    assert not any(one.new for one in _import(results, db, at="2027-01-01T00:00:00Z"))
    with tarfile.open(tmp_path / "r.tar.gz", "w:gz") as archive:
        archive.add(results, "results")
    assert not any(one.new for one in _import(tmp_path / "r.tar.gz", db))
    # The rows in another order are the same result; one row more is another.
    file = results / "taide_Llama-8B" / "exam.jsonl"
    file.write_text("".join(reversed(file.read_text(encoding="utf-8").splitlines(keepends=True))), encoding="utf-8")
    assert [one.new for one in _import(file, db, model="taide/Llama-8B")] == [False]
    with file.open("a", encoding="utf-8") as more:
        more.write(json.dumps(_row(0)) + "\n")
    assert [(one.name, one.new) for one in _import(file, db, model="taide/Llama-8B")] == [
        ("taide_llama-8b-exam-2", True)
    ]


def test_a_cut_line_is_refused_by_name_unless_told(results: Path, tmp_path: Path) -> None:
    file = results / "taide_Llama-8B" / "exam.jsonl"
    file.write_text(file.read_text(encoding="utf-8")[:-20], encoding="utf-8")
    with pytest.raises(DatasetError, match=r"exam\.jsonl:100: is not valid JSON") as refused:
        _import(results, tmp_path / "t.db")
    assert "--skip-bad" in str(refused.value)
    with opened(tmp_path / "t.db", create=False) as (_, stored):
        assert stored.results() == [], "all or nothing"
    outcomes = _import(results, tmp_path / "t.db", skip_bad=True)
    assert outcomes[2].rows == 99
    assert "1 row left out" in outcomes[2].notes


def test_a_folder_without_results_is_a_wrong_call(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="holds no result"):
        _import(tmp_path / "empty", tmp_path / "t.db")


@pytest.mark.parametrize(
    ("marker", "content", "done"),
    [
        (".done", "", True),
        (".done", "2026-11-30T05:00:00\n", True),
        (".done", "formosa\n", False),
        (".done", "exam\n", True),
        ("exam.done", "", True),
        (".exam.done", "", True),
        ("formosa.done", "", False),
        (None, "", False),
    ],
)
def test_markers_of_several_habits_are_understood(results: Path, marker: str | None, content: str, done: bool) -> None:
    folder = results / "taide_Llama-8B"
    (folder / ".done").unlink()
    if marker:
        (folder / marker).write_text(content, encoding="utf-8")
    assert runner.is_done(folder / "exam.jsonl") is done


def test_the_report_says_what_is_known_and_what_is_not(results: Path, tmp_path: Path) -> None:
    _import(results, tmp_path / "t.db")
    with opened(tmp_path / "t.db", create=False) as (_, stored):
        result = stored.result("taide_llama-8b-f")
        assert result is not None
        found = known(result, stored.rows(result.id))
        with pytest.raises(UsageError, match="may be any of"):
            stored.result("taide")
        assert stored.result("nothing") is None
    data = as_dict(found)
    assert data["score"] is None
    assert data["source_reading"]["ok"] == 34
    assert data["source_reading"]["accuracy"] == 0.34
    assert data["source_reading"]["box_rate"] == 0.75
    assert data["repeated_rows"] == 4
    assert data["unknown"] == ["responses", "strict", "content_hash", "protocol", "subjects"]
    said = render(found, lang="en")
    for words in ("no strict score", "34.0% (95% CI 25.5–43.7, n = 100)", "QUANTISED", "4 of them with the stem hash"):
        assert words in said
    assert all(len(line) <= 80 for line in said.splitlines())
    assert "沒有嚴格分數" in render(found, lang="zh-TW")
    render(found, lang="zh-TW", encoding="ascii").encode("ascii")


def test_what_can_be_checked_of_a_folder_is(results: Path) -> None:
    items = [Item(stem, (f"{n}", "b", "c", "d"), "A", "民法") for n, stem in enumerate(STEMS)]
    findings, found = loose.check(results, items)
    assert [str(one) for one in findings] == ["taide_Llama-8B/exam.jsonl: has no .done marker: it may be incomplete"]
    assert (found[0].name, found[0].n, found[0].ok, found[0].repeated) == (
        "google_gemma-3-4b-it/exam.jsonl",
        100,
        34,
        4,
    )
    findings, _ = loose.check(results / "google_gemma-3-4b-it", [*items[1:], Item("新題", ("1", "2", "3", "4"), "A")])
    assert [str(one) for one in findings][:2] == [
        "exam.jsonl: 1 row is missing, by stem hashes",
        "exam.jsonl: 1 row is not the dataset's, by stem hashes",
    ]
