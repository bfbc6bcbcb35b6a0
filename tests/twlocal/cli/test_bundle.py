"""`bundle`, `verify` and `import` through the real command line."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Call = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def name(twlocal: Call, model_file: Path, questions: Path) -> str:
    """A finished run of forty questions, in twlocal.db."""
    done = twlocal("run", model_file, "--bench", questions, "--backend", "scripted", "--quiet")
    assert done.returncode == 0, done.stderr
    return str(json.loads(twlocal("runs", "--json").stdout)[0]["name"])


def test_from_one_machine_to_another(twlocal: Call, name: str, questions: Path) -> None:
    made = twlocal("bundle", name)
    assert made.returncode == 0, made.stderr
    assert made.stdout == f"{name}.tar.gz\n"
    assert "no mark" in made.stderr
    checked = twlocal("verify", f"{name}.tar.gz", "--bench", questions)
    assert checked.returncode == 0, checked.stdout
    assert "item set: the same rows" in checked.stdout
    assert re.search(r"  box strict \d+\.\d% \(95% CI [\d.]+–[\d.]+, n = 40\), box rate [\d.]+%\n", checked.stdout)
    (checksum,) = [line.split()[-1] for line in checked.stdout.splitlines() if line.startswith("clean")]
    assert checksum in made.stderr
    taken = twlocal("import", f"{name}.tar.gz", "--db", "new.db")
    assert taken.returncode == 0, taken.stderr
    assert taken.stdout == f"{name}: a run with its responses, 40 rows, imported\n"
    ours = json.loads(twlocal("report", name, "--json").stdout)
    theirs = json.loads(twlocal("report", name, "--json", "--db", "new.db").stdout)
    assert theirs == ours | {"bench": questions.name}
    (listed,) = json.loads(twlocal("runs", "--json", "--db", "new.db").stdout)
    assert (listed["state"], listed["imported"]) == ("complete, imported", True)
    assert twlocal("runs", "--db", "new.db", "--lang", "en").stdout.splitlines()[-1] == "   imported"
    shown = twlocal("show", name, "0", "--db", "new.db")
    assert shown.returncode == 0, shown.stderr


def test_without_responses(twlocal: Call, name: str) -> None:
    assert twlocal("bundle", name, "--private", "-o", "out").returncode == 0
    assert twlocal("import", "out", "--db", "new.db").returncode == 0
    (listed,) = json.loads(twlocal("runs", "--json", "--db", "new.db").stdout)
    assert (listed["state"], listed["kind"], listed["answered"]) == ("imported", "bundle", 40)
    assert "imported" in twlocal("runs", "--db", "new.db").stdout
    said = twlocal("report", name, "--db", "new.db", "--lang", "en", "--by", "subject")
    assert "IMPORTED" in said.stdout
    assert "民法" in said.stdout
    again = twlocal("report", name, "--db", "new.db", "--reader", "lenient")
    assert again.returncode == 2
    assert "imported without responses" in again.stderr
    data = json.loads(twlocal("report", name, "--db", "new.db", "--json").stdout)
    ours = json.loads(twlocal("report", name, "--json").stdout)["score"]
    assert {field: ours[field] for field in data["score"]} == data["score"]


def test_a_private_run_is_bundled_without_responses_by_itself(
    twlocal: Call, model_file: Path, questions: Path, tmp_path: Path
) -> None:
    run = ["run", model_file, "--bench", questions, "--backend", "scripted", "--quiet", "--private"]
    assert twlocal(*run).returncode == 0
    (listed,) = json.loads(twlocal("runs", "--json").stdout)
    assert twlocal("bundle", listed["name"], "-o", "out").returncode == 0
    assert not (tmp_path / "out" / "responses").exists()
    refused = twlocal("bundle", listed["name"], "-o", "more", "--full")
    assert refused.returncode == 2
    assert "--allow-private-text" in refused.stderr


def test_a_changed_dataset_is_refused_and_the_old_one_named_is_not(
    twlocal: Call, name: str, questions: Path, tmp_path: Path
) -> None:
    old = tmp_path / "old.jsonl"
    old.write_bytes(questions.read_bytes())
    questions.write_text(questions.read_text(encoding="utf-8").replace("第7題", "第七題"), encoding="utf-8")
    refused = twlocal("bundle", name)
    assert refused.returncode == 2
    assert "1 missing" in refused.stderr
    assert not (tmp_path / f"{name}.tar.gz").exists()
    assert twlocal("bundle", name, "--bench", old).returncode == 0


def test_an_incomplete_run_is_refused(twlocal: Call, model_file: Path, questions: Path) -> None:
    run = ["run", model_file, "--bench", questions, "--backend", "scripted", "--quiet", "--set", "fail_on=第7題"]
    assert twlocal(*run).returncode == 1
    (listed,) = json.loads(twlocal("runs", "--json").stdout)
    refused = twlocal("bundle", listed["name"])
    assert refused.returncode == 2
    assert f"twlocal resume {listed['name']}" in refused.stderr


def test_what_does_not_hold_is_told_and_ends_with_one(twlocal: Call, name: str, tmp_path: Path) -> None:
    assert twlocal("bundle", name, "-o", "out").returncode == 0
    (tmp_path / "out" / "bundle.json").write_text("{}", encoding="utf-8")
    done = twlocal("verify", "out")
    assert done.returncode == 1
    assert "finding: bundle.json: was changed" in done.stdout
    assert json.loads(twlocal("verify", "out", "--json").stdout)["clean"] is False
    refused = twlocal("import", "out", "--db", "new.db")
    assert refused.returncode == 1
    assert "does not hold together" in refused.stderr
    assert json.loads(twlocal("runs", "--db", "new.db", "--json").stdout) == []


def test_an_archive_that_is_none_is_a_finding(twlocal: Call, tmp_path: Path) -> None:
    (tmp_path / "x.tar.gz").write_bytes(b"\x1f\x8b nothing")
    done = twlocal("verify", "x.tar.gz")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "NOT CLEAN")
    assert twlocal("verify", "missing.tar.gz").returncode == 2
    assert twlocal("import", "missing.tar.gz").returncode == 2


def test_a_withdrawn_list_must_hold_content_hashes(twlocal: Call, name: str, tmp_path: Path) -> None:
    assert twlocal("bundle", name, "-o", "out").returncode == 0
    (tmp_path / "gone.txt").write_text("第7題\n", encoding="utf-8")
    done = twlocal("verify", "out", "--withdrawn", "gone.txt")
    assert done.returncode == 2
    assert "is not a content hash" in done.stderr


def test_one_row_is_not_called_rows(twlocal: Call, questions: Path, model_file: Path) -> None:
    run = twlocal("run", model_file, "--bench", questions, "--backend", "scripted", "--limit", "1")
    assert run.returncode == 0, run.stderr
    name = json.loads(twlocal("runs", "--json").stdout)[0]["name"]
    allowed = ("--allow-deviations", "--allow-unpublishable", "--allow-quantised")
    assert twlocal("bundle", name, "--private", "-o", "one.tar.gz", *allowed).returncode == 0
    taken = twlocal("import", "one.tar.gz", "--db", "new.db")
    assert ", 1 row, imported" in taken.stdout, taken.stderr
