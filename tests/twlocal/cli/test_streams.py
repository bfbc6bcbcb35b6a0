"""Streams that are closed, full or watched by a terminal that obeys what it is shown."""

from __future__ import annotations

import json
import os
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Call = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def base(model_file: Path, questions: Path, tmp_path: Path) -> list[str]:
    """The words of a run of forty questions on the isolated scripted backend, in t.db."""
    words = ["run", model_file, "--bench", questions, "--backend", "scripted_isolated"]
    return [*map(str, words), "--db", str(tmp_path / "t.db"), "--lang", "en"]


@pytest.fixture
def shell(twlocal: Call, tmp_path: Path, _plugins: None) -> Callable[[list[str], str], int]:
    """Call the command line from a shell, with a redirection; gives the exit code."""
    plugins = str(Path(__file__).parents[2] / "plugins")

    def call(words: list[str], redirection: str) -> int:
        line = shlex.join([sys.executable, "-m", "twlocal", *words])
        environment = {**os.environ, "PYTHONPATH": plugins, "LC_ALL": "C.UTF-8"}
        done = subprocess.run(
            ["sh", "-c", f"{line} {redirection}"], cwd=tmp_path, env=environment, timeout=60, check=False
        )
        return done.returncode

    return call


def _count(db: Path) -> int:
    connection = sqlite3.connect(db)
    try:
        return int(connection.execute("SELECT count(*) FROM responses").fetchone()[0])
    finally:
        connection.close()


@pytest.mark.skipif(os.name != "posix", reason="POSIX shells")
@pytest.mark.parametrize("redirection", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_an_engine_writes_over_nothing_that_got_the_number_of_a_closed_stream(
    shell: Callable[..., int], base: list[str], tmp_path: Path, redirection: str
) -> None:
    assert shell(base, redirection) == 0
    assert _count(tmp_path / "t.db") == 40


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a system without /dev/full")
def test_progress_that_nobody_can_read_stops_no_run(shell: Callable[..., int], base: list[str], tmp_path: Path) -> None:
    assert shell([*base, "--set", "fail_on=第7題"], "2>/dev/full") == 1
    assert _count(tmp_path / "t.db") == 39
    assert shell(base, "2>/dev/full") == 0
    assert _count(tmp_path / "t.db") == 40


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a system without /dev/full")
@pytest.mark.parametrize("words", [["report", "--nosuch"], ["report", "--db", "absent.db"]])
def test_an_error_that_nobody_can_read_keeps_its_exit_code(
    shell: Callable[..., int], words: list[str], twlocal: Call
) -> None:
    assert shell(words, "2>/dev/full") == twlocal(*words).returncode != 0


def test_a_terminal_is_shown_what_it_would_obey(twlocal: Call, base: list[str], tmp_path: Path) -> None:
    said = "\x1b]0;x\x07\x1b[2J\x9b31m\u202e倒\x00 台灣 \\boxed{A}"
    twlocal(*base, "--set", f"say={json.dumps(said)}", "--limit", "1")
    name = json.loads(twlocal("runs", "--db", tmp_path / "t.db", "--json").stdout)[0]["name"]
    shown = twlocal("show", name, "0", "--db", tmp_path / "t.db").stdout
    assert r"\x1b]0;x\x07\x1b[2J\x9b31m\u202e倒\x00 台灣 \boxed{A}" in shown
    as_json = json.loads(twlocal("show", name, "0", "--db", tmp_path / "t.db", "--json").stdout)
    assert as_json["answers"][0]["text"] == said, "machines get it as it was"


def test_an_error_shows_what_a_terminal_would_obey(twlocal: Call) -> None:
    told = twlocal("run", "no\x1b[31msuch\u202e").stderr
    assert r"\x1b[31msuch\u202e" in told
    assert "\x1b" not in told
