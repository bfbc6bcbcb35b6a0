"""Rows that are published and not scored: drawn, removed, counted; and those withdrawn while a run is under way."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from twlocal.dataset import load

Call = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def folder(questions: Path, tmp_path: Path) -> Path:
    """The forty questions in a folder, where a list can stand beside them."""
    (tmp_path / "bench").mkdir()
    questions.rename(tmp_path / "bench" / "all.jsonl")
    return tmp_path / "bench"


def withdraw(folder: Path, *ids: str) -> list[str]:
    items = {item.id: item for item in load(str(folder)).items}
    rows = [{"ch": items[one].content_hash, "id": one, "rule": "decision", "reason": "缺圖"} for one in ids]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / "withdrawn.jsonl").write_text(text, encoding="utf-8")
    return [row["ch"] for row in rows]


@pytest.fixture
def words(model_file: Path, folder: Path, tmp_path: Path) -> list[str]:
    log = f"log={tmp_path / 'log'}"
    return ["run", str(model_file), "--bench", str(folder), "--backend", "scripted", "--lang", "en", "--set", log]


def asked(tmp_path: Path) -> Counter[str]:
    return Counter((tmp_path / "log").read_text(encoding="utf-8").split())


def test_withdrawn_rows_are_drawn_then_removed_and_counted(twlocal: Call, words: list[str], folder, tmp_path) -> None:
    whole = json.loads(twlocal("sample", folder, "--k", "5", "-o", "-").stdout)
    gone = [row["id"] for row in whole["rows"][2:4]]
    hashes = withdraw(folder, *gone)
    drawn = twlocal("sample", folder, "--k", "5", "-o", "sample.json")
    assert "15 drawn, 2 withdrawn, 13 asked" in drawn.stdout
    written = json.loads((tmp_path / "sample.json").read_text(encoding="utf-8"))
    assert (written["drawn"], written["n"], [row["id"] for row in written["withdrawn"]]) == (15, 13, gone)
    assert written["rows"] == whole["rows"][:2] + whole["rows"][4:], "no other row is drawn in their place"
    done = twlocal(*words, "--sample", "5")
    assert done.returncode == 0, done.stderr
    assert "15 drawn, 2 withdrawn, 13 asked" in done.stderr
    assert "13 questions (15 drawn, 2 withdrawn)" in " ".join(done.stdout.split())
    told = json.loads(twlocal("report", "--json").stdout)
    assert (told["withdrawn"], told["withdrawn_since"], told["score"]["planned"], told["complete"]) == (2, 0, 13, True)
    exported = twlocal("export", "1", "--format", "jsonl").stdout.splitlines()
    assert len(exported) == 13 and not any(ch in line for ch in hashes for line in exported)
    # A manifest names what was withdrawn, so that the run of it counts the same, and is the same.
    again = twlocal(*words, "--ids", "sample.json")
    assert "15 drawn, 2 withdrawn, 13 asked" in again.stderr and "all 13 answered before" in again.stderr


def test_a_list_of_other_data_removes_nothing_and_an_empty_one_changes_no_run(twlocal: Call, words, folder) -> None:
    assert twlocal(*words).returncode == 0
    for text in ("", "c" * 64 + "\n"):
        (folder / "withdrawn.jsonl").write_text(text, encoding="utf-8")
        done = twlocal(*words)
        assert "all 40 answered before" in done.stderr and "withdrawn" not in done.stderr + done.stdout


def test_everything_withdrawn_is_said(twlocal: Call, words, folder) -> None:
    withdraw(folder, *(f"q{n}" for n in range(40)))
    done = twlocal(*words)
    assert (done.returncode, "every row drawn" in done.stderr) == (2, True)


@pytest.mark.parametrize("way", ["run", "resume"])
def test_a_half_done_run_goes_on_when_rows_are_withdrawn(twlocal: Call, words, folder, tmp_path, way: str) -> None:
    """Nothing is asked again and nothing is lost: the run keeps the list it began with; only its report changes."""
    withdraw(folder, "q3")
    stopped = twlocal(*words, "--set", "refuse_after=20")
    assert stopped.returncode == 1 and 0 < len(asked(tmp_path)) < 39
    withdraw(folder, "q3", "q5", "q8")
    done = twlocal(*(words if way == "run" else ["resume", "--lang", "en"]))
    assert done.returncode == 0, done.stderr
    assert "2 of them were withdrawn after this run began" in done.stderr
    assert set(asked(tmp_path).values()) == {1} and len(asked(tmp_path)) == 39
    assert "37 questions (40 drawn, 3 withdrawn, 2 of them since it was asked)" in " ".join(done.stdout.split())
    assert len(json.loads(twlocal("runs", "--json").stdout)) == 1
    # Another look at it without the list shows all that was asked; with the list, what is left.
    assert json.loads(twlocal("report", "--json").stdout)["score"]["n"] == 39
    told = json.loads(twlocal("report", "--json", "--withdrawn", folder).stdout)
    assert (told["score"]["n"], told["withdrawn"], told["withdrawn_since"], told["complete"]) == (37, 3, 2, True)
    assert sum(one["n"] for one in told["subjects"]) == 37


def test_a_row_that_comes_back_is_another_sample(twlocal: Call, words, folder, tmp_path) -> None:
    """What a run has not asked it cannot answer for: the key covers what is asked."""
    withdraw(folder, "q3")
    assert twlocal(*words).returncode == 0
    (folder / "withdrawn.jsonl").unlink()
    done = twlocal(*words)
    assert done.returncode == 0 and "answered before" not in done.stderr
    assert sorted(Counter(asked(tmp_path).values())) == [1, 2], "q3 once, the others twice"


def test_report_takes_hashes_and_refuses_what_is_no_list(twlocal: Call, words, folder, tmp_path) -> None:
    (one,) = withdraw(folder, "q7")
    (folder / "withdrawn.jsonl").unlink()
    assert twlocal(*words).returncode == 0
    (tmp_path / "gone.txt").write_text(one + " # a figure\n", encoding="utf-8")
    done = twlocal("report", "--withdrawn", "gone.txt", "--lang", "zh-TW")
    assert "（抽樣 40 題，撤題 1 題，其中 1 題於作答後撤題）" in "".join(done.stdout.split("\n")), done.stdout
    (tmp_path / "gone.txt").write_text("q7\n", encoding="utf-8")
    done = twlocal("report", "--withdrawn", "gone.txt")
    assert done.returncode == 2 and "is not a content hash" in done.stderr


def test_a_bundle_of_a_reduced_sample_is_sound(twlocal: Call, words, folder) -> None:
    withdraw(folder, "q3", "q11")
    assert twlocal(*words, "--sample", "9").returncode == 0
    done = twlocal("bundle", "1", "-o", "out", "--allow-unpublishable", "--full")
    assert done.returncode == 0, done.stderr
    done = twlocal("verify", "out", "--bench", folder)
    assert done.returncode == 0, done.stdout
    assert "item set: the same rows" in done.stdout


def test_a_report_over_a_list_of_everything_and_of_other_data(twlocal: Call, words, folder, tmp_path) -> None:
    assert twlocal(*words).returncode == 0
    everything = [item.content_hash for item in load(str(folder)).items]
    (tmp_path / "all.txt").write_text("\ufeff" + "\r\n".join(everything), encoding="utf-8")
    for more in ((), ("--json",), ("--html", "x.html")):
        done = twlocal("report", "--withdrawn", "all.txt", *more)
        assert done.returncode == 2 and "every row" in done.stderr and not (tmp_path / "x.html").exists()
    (tmp_path / "other.txt").write_text("a" * 64 + "\n", encoding="utf-8")
    done = twlocal("report", "--withdrawn", "other.txt")
    assert done.returncode == 0 and "none of them in" in done.stderr
