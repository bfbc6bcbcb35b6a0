"""What commands share: the command that a person is told to type must be one that their shell finds."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from twlocal.cli.common import program


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A `twlocal` as pip installs it, in the bin of a virtual environment."""
    path = tmp_path / "my env" / "bin" / "twlocal"
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_our_name_where_the_shell_finds_it(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(script.parent))
    monkeypatch.setattr(sys, "argv", [str(script)])
    assert program() == "twlocal"


def test_else_the_path_that_was_typed(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "argv", [".venv/bin/twlocal"])
    assert program() == ".venv/bin/twlocal"
    monkeypatch.setattr(sys, "argv", [str(script)])
    assert program() == f"'{script}'", "a blank in the path would end the word"


def test_another_twlocal_on_the_path_is_not_ours(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(script.parent))
    monkeypatch.setattr(sys, "argv", [".venv/bin/twlocal"])
    monkeypatch.chdir(tmp_path)
    assert program() == ".venv/bin/twlocal"


def test_a_module_is_called_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/twlocal/__main__.py"])
    assert program().endswith(" -m twlocal")
