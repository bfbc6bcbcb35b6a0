"""The database in Datasette: the canned queries read what the score reads, and nothing can be written."""

from __future__ import annotations

import http.client
import importlib.util
import json
import os
import signal
import sqlite3
from pathlib import Path

import pytest

from twlocal.board import browse
from twlocal.bundle.stored import opened
from twlocal.errors import EngineMissing, StoreError
from twlocal.report.build import build as report

needs = pytest.mark.skipif(importlib.util.find_spec("datasette") is None, reason="needs the extra browse")


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with one run, answered by the scripted backend."""
    import subprocess
    import sys

    root = Path(__file__).parents[3]
    folder = tmp_path_factory.mktemp("browse")
    rows = [
        {
            "subject": ("民法", "刑法")[n % 2],
            "question": f"第{n}題",
            "A": "甲",
            "B": "乙",
            "C": "丙",
            "D": "丁",
            "answer": "ABCD"[n % 4],
        }
        for n in range(12)
    ]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / "q.jsonl").write_text(text, encoding="utf-8")
    (folder / "m.gguf").write_bytes(b"x")
    words = [sys.executable, "-m", "twlocal", "run", "m.gguf", "--bench", "q.jsonl", "--backend", "scripted"]
    env = os.environ | {"PYTHONPATH": str(root / "tests" / "plugins")}
    subprocess.run(words, cwd=folder, env=env, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    return folder / "twlocal.db"


def functions(database: Path) -> sqlite3.Connection:
    """A connection as the plugin prepares it."""
    path = Path(browse.__file__).parent / "datasette" / "twlocal_functions.py"
    spec = importlib.util.spec_from_file_location("plugin", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    connection = sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)
    module.prepare_connection(connection, "twlocal", None)
    connection.row_factory = sqlite3.Row
    return connection


@needs
def test_every_query_runs_and_the_scores_are_those_of_the_report(asked):
    with opened(asked, create=False) as (runs, _):
        run = runs.get()
        score = report(runs, run).score
    connection = functions(asked)
    told = {
        name: [dict(row) for row in connection.execute(one["sql"], {"run": run.name, "hash": ""})]
        for name, one in browse.queries().items()
    }
    connection.close()
    (row,) = told["runs_with_scores"]
    tally = score.overall
    assert (row["responses"], row["planned"]) == (12, 12)
    assert row["strict_percent"] == round(100 * tally.correct / tally.n, 2)
    assert (row["box_rate"], row["parse_rate"]) == (round(100 * tally.boxes / 12, 1), round(100 * tally.parsed / 12, 1))
    assert len(told["unreadable"]) == 12 - tally.parsed
    by_subject = {row["subject"]: row for row in told["by_subject"]}
    for name, one in score.subjects:
        assert by_subject[name]["n"] == one.n and by_subject[name]["strict_percent"] == round(
            100 * one.correct / one.n, 1
        )
        assert by_subject[name]["lenient_percent"] == round(100 * one.lenient_correct / one.n, 1)
    assert sum(row["truncated"] for row in told["truncated"]) == tally.truncated
    assert sum(row["responses"] for row in told["letters"]) == 12
    assert told["failures"] == [] and told["imported"] == [] and len(told["sittings"]) == 1


@needs
def test_the_server_ends_with_the_command_that_began_it(asked, start):
    process = start("browse", "--db", asked)
    port = int(process.stdout.readline().split(":")[-1].strip().rstrip("/"))
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection("127.0.0.1", port, timeout=30).request("GET", "/")


@needs
def test_datasette_shows_it_reads_only_and_ends_on_ctrl_c(asked, start):
    process = start("browse", "--db", asked, env={"PYTHONUNBUFFERED": "1"})
    address = process.stdout.readline()
    assert address.startswith("http://127.0.0.1:"), process.stderr.read()
    port = int(address.split(":")[-1].strip().rstrip("/"))

    def get(path: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("GET", path)
        reply = connection.getresponse()
        found = reply.status, reply.read().decode("utf-8")
        connection.close()
        return found

    assert "Runs with their scores" in get("/twlocal")[1]
    assert json.loads(get("/twlocal/runs_with_scores.json?_shape=array")[1])[0]["responses"] == 12
    assert get("/twlocal.json?sql=delete+from+responses")[0] == 400
    process.send_signal(signal.SIGINT)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert out == "", "no log of the server's"
    assert err.splitlines() == ["open it in your web browser; Ctrl-C ends it"]
    with opened(asked, create=False) as (runs, _):
        assert runs.get().answered == 12


@needs
def test_a_database_that_cannot_be_written_to_is_taken_as_unchanging(asked, monkeypatch):
    words = browse.command(asked, Path("m.json"), Path("plugins"), port=0)
    assert "--immutable" not in words and words[words.index("--host") + 1] == "127.0.0.1"
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "--immutable" in browse.command(asked, Path("m.json"), Path("plugins"), port=0)


def test_without_datasette_the_extra_is_named(asked, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EngineMissing, match="datasette is not installed") as refused:
        browse.browse(asked, port=0)
    assert "twlocal[browse]" in refused.value.hint


@needs
def test_without_a_database_none_is_made(tmp_path):
    with pytest.raises(StoreError, match="no database"):
        browse.browse(tmp_path / "none.db", port=0)
    assert not (tmp_path / "none.db").exists()


def test_the_metadata_is_for_this_database():
    said = browse.metadata(Path("/somewhere/demo.db"))
    assert set(said["databases"]) == {"demo"}
    assert {"runs_with_scores", "unreadable", "truncated", "by_subject"} <= set(said["databases"]["demo"]["queries"])


def test_every_query_has_its_words_in_both_languages():
    english, chinese = (
        browse.metadata(Path("demo.db"), lang)["databases"]["demo"]["queries"] for lang in ("en", "zh-TW")
    )
    assert english["unreadable"]["title"] == "Unreadable answers" and chinese["unreadable"]["title"] == "讀不出的作答"
    for name, one in chinese.items():
        assert one["sql"] == english[name]["sql"]
        assert (":run" in one["description"]) is (":run" in english[name]["description"])
