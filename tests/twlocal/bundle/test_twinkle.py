"""Twinkle Eval 2.10's result files: the rows with what they say, and our readers over the kept responses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from twlocal.bundle import twinkle
from twlocal.bundle.importing import Outcome, Wanted, import_
from twlocal.bundle.known import as_dict, known
from twlocal.bundle.stored import opened
from twlocal.bundle.terminal import render
from twlocal.errors import DatasetError
from twlocal.item import content_hash

AT = "2026-02-03T04:05:06.000000Z"
TIME = "20260203_0405"


def _row(n: int, output: str | None, predicted: str | None, **more: Any) -> dict[str, Any]:
    """As `runners/evaluator.py` writes it."""
    return {
        "question_id": n,
        "sample_id": 0,
        "question": f"第{n}題：\n下列何者正確？\nA: 甲{n}\nB: 乙\n（第二行）\nC: 丙\nD: 丁",
        "correct_answer": "ABCD"[n % 4],
        "llm_output": output,
        "llm_reasoning_output": None,
        "predicted_answer": predicted,
        "is_correct": predicted == "ABCD"[n % 4],
        "usage_completion_tokens": 12,
        "usage_prompt_tokens": 90,
        "usage_total_tokens": 102,
    } | more


ROWS = [
    _row(2, "\\box{C}", "C"),  # Twinkle reads \box, the published reader does not
    _row(0, "因此 \\boxed{A}", "A"),
    _row(1, "\\boxed{b}", None),  # ours reads the small letter, Twinkle does not
    _row(3, None, None, llm_reasoning_output="想"),
]


def _summary(shuffle: bool | None = False, accuracies: tuple[float, ...] = (0.5, 0.5)) -> dict[str, Any]:
    evaluation = {"dataset_paths": ["/data/wu/tmmlu/"], "evaluation_method": "box", "repeat_runs": 2}
    return {
        "timestamp": TIME,
        "config": {
            "llm_api": {"base_url": "http://10.0.0.3:8000/v1", "max_retries": 3},
            "model": {"name": "twinkle-ai/Llama-3.2-3B-F1-Instruct", "temperature": 0.0, "max_tokens": 4096},
            "evaluation": evaluation | ({} if shuffle is None else {"shuffle_options": shuffle}),
            "environment": {"gpu_info": {"model": "N/A"}},
        },
        "dataset_results": {
            "/data/wu/tmmlu/": {
                "results": [
                    {
                        "file": "/data/wu/tmmlu/law.csv",
                        "accuracy_mean": 0.5,
                        "individual_runs": {
                            "accuracies": list(accuracies),
                            "results": [f"results/eval_results_{TIME}_run{n}.jsonl" for n in range(2)],
                        },
                    }
                ],
                "average_accuracy": 0.5,
                "evaluation_method": "box",
            }
        },
        "duration_seconds": 3.2,
    }


def _write(folder: Path, summary: dict[str, Any] | None, *runs: list[dict[str, Any]]) -> Path:
    folder.mkdir(exist_ok=True)
    if summary is not None:
        (folder / f"results_{TIME}.json").write_text(
            json.dumps(summary, ensure_ascii=False, indent=4), encoding="utf-8"
        )
    for n, rows in enumerate(runs):
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"eval_results_{TIME}_run{n}.jsonl").write_text(lines, encoding="utf-8")
    return folder


def _import(path: Path, db: Path, **wanted: Any) -> list[Outcome]:
    with opened(db, create=True) as (runs, stored):
        return import_(path, runs, stored, Wanted(**wanted), at=AT)


def test_each_repeat_is_a_result_with_everything_its_rows_say(tmp_path: Path) -> None:
    folder = _write(tmp_path / "results", _summary(), ROWS, [*ROWS[:3], _row(3, "\\boxed{D}", "D")])
    outcomes = _import(folder, tmp_path / "t.db")
    assert [(one.name, one.rows) for one in outcomes] == [
        ("twinkle-ai_llama-3.2-3b-f1-instruct-tmmlu-twinkle-run0", 4),
        ("twinkle-ai_llama-3.2-3b-f1-instruct-tmmlu-twinkle-run1", 4),
    ]
    assert [one.notes for one in outcomes] == [
        (),
        ("its summary states an accuracy of 0.5000, and its rows give 0.7500",),
    ]
    assert not any(one.new for one in _import(folder, tmp_path / "t.db"))
    with opened(tmp_path / "t.db", create=False) as (runs, stored):
        assert runs.all() == []
        first = stored.results()[0]
        rows = list(stored.rows(first.id))
    assert (first.model, first.bench, first.protocol) == (
        "twinkle-ai/Llama-3.2-3B-F1-Instruct",
        "tmmlu",
        "twinkle-eval box",
    )
    assert "10.0.0.3" not in json.dumps(first.provenance)
    assert "/data/wu" not in json.dumps(first.provenance)
    facts = [(row.ok, row.correct, row.parsed, row.lenient_correct, row.boxp, row.truncated) for row in rows]
    assert facts == [
        (True, False, False, True, False, None),
        (True, True, True, True, True, None),
        (False, True, True, True, True, None),
        (False, None, None, None, None, None),
    ]
    stem, options = "第0題：\n下列何者正確？", ("甲0", "乙\n（第二行）", "丙", "丁")
    assert rows[1].ch == content_hash(stem, options, "A")
    detail = json.loads(rows[1].detail or "")
    assert (detail["stem"], tuple(detail["options"].values())) == (stem, options)
    assert (detail["llm_output"], detail["predicted_answer"], detail["correct_answer"]) == ("因此 \\boxed{A}", "A", "A")
    assert detail["usage_completion_tokens"] == 12


def test_repeats_that_came_out_the_same_are_still_two(tmp_path: Path) -> None:
    outcomes = _import(_write(tmp_path / "results", _summary(), ROWS, ROWS), tmp_path / "t.db")
    assert [one.new for one in outcomes] == [True, True]


@pytest.mark.parametrize(
    ("summary", "claimed"), [(_summary(True), 0), (_summary(None), 4), (_summary(False), 4), (None, 0)]
)
def test_where_options_may_be_shuffled_no_content_hash_is_claimed(
    tmp_path: Path, summary: dict[str, Any] | None, claimed: int
) -> None:
    _import(_write(tmp_path / "results", summary, ROWS), tmp_path / "t.db")
    with opened(tmp_path / "t.db", create=False) as (_, stored):
        rows = list(stored.rows(stored.results()[0].id))
    assert sum(row.ch is not None for row in rows) == claimed
    assert len({row.qh for row in rows}) == 4


def test_the_summary_names_its_rows_and_rows_alone_are_taken_too(tmp_path: Path) -> None:
    folder = _write(tmp_path / "results", _summary(), ROWS, ROWS)
    whole = _import(folder / f"results_{TIME}.json", tmp_path / "a.db")
    assert len(whole) == 2
    (one,) = _import(folder / f"eval_results_{TIME}_run0.jsonl", tmp_path / "b.db")
    assert one.name == whole[0].name
    (folder / f"results_{TIME}.json").unlink()
    (bare,) = _import(folder / f"eval_results_{TIME}_run0.jsonl", tmp_path / "c.db", model="o/m", bench="law")
    assert bare.name == "o_m-law-twinkle-run0"


def test_the_older_form_with_details_in_one_file_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "eval_results_old.json"
    path.write_text(json.dumps({"timestamp": "x", "file": "f.csv", "accuracy": 0.5, "details": ROWS}), encoding="utf-8")
    assert [one.rows for one in _import(path, tmp_path / "t.db")] == [4]


def test_shards_of_one_repeat_are_one_result(tmp_path: Path) -> None:
    folder = _write(tmp_path / "results", None)
    for rank, rows in enumerate((ROWS[:2], ROWS[2:])):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"eval_results_{TIME}_run0_node0_rank{rank}.jsonl").write_text(lines, encoding="utf-8")
    assert [one.rows for one in _import(folder, tmp_path / "t.db")] == [4]


def test_bad_rows_are_named(tmp_path: Path) -> None:
    folder = _write(tmp_path / "results", _summary(), [*ROWS, _row(4, "x", None, is_correct=True)])
    with pytest.raises(DatasetError, match=r"_run0\.jsonl:5: correct, although nothing was predicted"):
        _import(folder, tmp_path / "t.db")
    assert [one.rows for one in _import(folder, tmp_path / "t.db", skip_bad=True)] == [4]


@pytest.mark.parametrize(
    ("question", "stem", "labels"),
    [
        ("問題\nA: 1\nB: 2\nC: 3\nD: 4", "問題", "ABCD"),
        ("A: 老師說\nB: 學生說\n誰對？\nA: 甲\nB: 乙\nC: 丙\nD: 丁", "A: 老師說\nB: 學生說\n誰對？", "ABCD"),
        ("問\nA: 1\nB: 2\nC: 3\nD: 4\nE: 5", "問", "ABCDE"),
        ("問\nB: 1\nC: 2", "問\nB: 1\nC: 2", ""),
        ("沒有選項", "沒有選項", ""),
        ("", "", ""),
    ],
)
def test_stem_and_options_are_told_apart(question: str, stem: str, labels: str) -> None:
    found = twinkle._split(question)
    assert (found[0], "".join(label for label, _ in found[1])) == (stem, labels)


def test_the_report_says_whose_reading_it_is(tmp_path: Path) -> None:
    _import(_write(tmp_path / "results", _summary(), ROWS[:3]), tmp_path / "t.db")
    with opened(tmp_path / "t.db", create=False) as (_, stored):
        result = stored.results()[0]
        found = known(result, stored.rows(result.id))
    data = as_dict(found)
    assert (data["source_reading"]["ok"], data["score"]["correct"], data["score"]["n"]) == (2, 2, 3)
    assert data["unknown"] == ["complete", "precision", "subjects"]
    said = render(found, lang="en")
    assert "Twinkle Eval's reading 66.7%" in said
    assert "strict 66.7%" in said
