"""The Tab key: commands and options of commands not yet imported, names from the database, and a real bash."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import ShellComplete

from twlocal.cli import main


def offered(*words: str, incomplete: str = "") -> list[str]:
    """What is offered after `twlocal words…` for a word begun so, without the mark that lets the shell offer files."""
    found = ShellComplete(main, {}, "twlocal", "_TWLOCAL_COMPLETE").get_completions(list(words), incomplete)
    return [item.value for item in found if item.type == "plain"]


def offers_files(*words: str) -> bool:
    found = ShellComplete(main, {}, "twlocal", "_TWLOCAL_COMPLETE").get_completions(list(words), "")
    return any(item.type == "file" for item in found)


@pytest.mark.parametrize(
    ("words", "incomplete", "expected"),
    [
        ((), "rep", ["report"]),
        ((), "res", ["resume"]),
        (("formosa",), "cal", ["calibrate"]),
        (("board",), "", ["build", "check", "serve"]),
        (("run",), "--gpu", ["--gpu-layers", "--gpus-per-actor"]),
        (("exam", "build"), "--dis", ["--disjoint-from"]),
        (("report", "--lang"), "z", ["zh-TW"]),
        (("run", "m.gguf", "--bench"), "", ["demo", "formosa", "exam"]),
        (("run", "m.gguf", "--protocol"), "box-", ["box-2shot", "box-defective"]),
        (("run", "m.gguf", "--backend"), "v", ["vllm"]),
        (("report", "--reader"), "len", ["lenient"]),
        (("protocols",), "twi", ["twinkle", "twinkle-pattern"]),
        (("completion",), "", ["bash", "zsh", "fish"]),
    ],
)
def test_what_is_offered(words: tuple[str, ...], incomplete: str, expected: list[str]) -> None:
    assert sorted(offered(*words, incomplete=incomplete)) == sorted(expected)


def test_models_whatever_their_case(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TWLOCAL_MODELS", str(tmp_path / "none.toml"))
    assert offered("route", incomplete="llama-3-taiwan-7") == []
    monkeypatch.delenv("TWLOCAL_MODELS")
    assert "Llama-3-Taiwan-70B" in offered("route", incomplete="llama-3-taiwan-7")
    assert "T1" in offered("run", incomplete="T1") and offers_files("run")


@pytest.fixture
def database(stored_run: Callable[..., Any], tmp_path: Path) -> Path:
    """A database with one run, named `run`."""
    from twlocal.item import Item

    item = Item("問題？", ("甲", "乙", "丙", "丁"), "A", "民法", "q1")
    stored_run([item], [None], name="run")
    return tmp_path / "run.db"


def test_runs_of_the_database_that_was_named(database: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TWLOCAL_DB", raising=False)
    monkeypatch.chdir(tmp_path)
    assert offered("report") == [] and not (tmp_path / "twlocal.db").exists()
    assert offered("report", "--db", str(database)) == ["run"]
    monkeypatch.setenv("TWLOCAL_DB", str(database))
    for command in (("resume",), ("show",), ("export",), ("watch",), ("bundle",), ("study", "stop-at-box")):
        assert offered(*command) == ["run"], command
    assert offered("bundle", "run") == []
    assert offered("report", incomplete="x") == []


def test_what_is_no_database_offers_nothing(tmp_path: Path) -> None:
    path = tmp_path / "no.db"
    path.write_text("not a database", encoding="utf-8")
    assert offered("report", "--db", str(path)) == []
    assert path.read_text(encoding="utf-8") == "not a database"


def test_the_first_word_imports_no_command(twlocal: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    program = (
        "import sys; from click.shell_completion import ShellComplete; from twlocal.cli import main; "
        "ShellComplete(main, {}, 'twlocal', 'X').get_completions([], 're'); "
        "print(sorted(name for name in sys.modules if name.startswith('twlocal.cli.')))"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


@pytest.mark.parametrize(("shell", "mark"), [("bash", "complete -o"), ("zsh", "#compdef"), ("fish", "complete --no-f")])
def test_the_scripts(shell: str, mark: str, twlocal: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    said = twlocal("completion", shell)
    assert said.returncode == 0 and mark in said.stdout and "_TWLOCAL_COMPLETE" in said.stdout


def test_a_real_bash(tmp_path: Path, twlocal: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("needs bash")
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "twlocal"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m twlocal "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    script = tmp_path / "completion.sh"
    script.write_text(twlocal("completion", "bash").stdout, encoding="utf-8")
    asked = (
        f"PATH={folder}:$PATH; . {script}; COMP_WORDS=(twlocal formosa cal); COMP_CWORD=2; "
        'COMPREPLY=(); _twlocal_completion twlocal; echo "${COMPREPLY[@]}"'
    )
    said = subprocess.run([bash, "-c", asked], capture_output=True, text=True, timeout=60, check=True)
    assert said.stdout.strip() == "calibrate", said.stderr
