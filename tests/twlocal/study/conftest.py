"""A command line in this process, questions with keys, and runs of scripted models that show one effect each."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

SUBJECTS = ("民法", "刑法", "會計")


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    error: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def _write(path: Path, rows: list[dict[str, str]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def write_bench(tmp_path: Path) -> Callable[..., Path]:
    """Writes a JSONL of so many questions a subject."""

    def write(name: str = "bench", sizes: dict[str, int] | None = None) -> Path:
        sizes = sizes or dict.fromkeys(SUBJECTS, 40)
        rows = [
            {
                "id": f"{at}",
                "subject": subject,
                "question": f"{subject}第{at}題：下列何者正確？",
                **{letter: f"{subject}{at}之{letter}說" for letter in "ABCD"},
                "answer": "ABCD"[at % 4],
            }
            for subject, size in sizes.items()
            for at in range(size)
        ]
        return _write(tmp_path / f"{name}.jsonl", rows)

    return write


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """Call the command line in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def invoke(*words: str | Path) -> Done:
        from twlocal.cli import main
        from twlocal.errors import TwlocalError

        result = CliRunner().invoke(main, [str(word) for word in words], standalone_mode=False)
        if isinstance(result.exception, TwlocalError):
            return Done(result.exception.exit_code, result.stdout, str(result.exception))
        if result.exception is not None:
            raise result.exception
        code = result.return_value if isinstance(result.return_value, int) else 0
        return Done(code, result.stdout, result.stderr)

    return invoke


@pytest.fixture
def ask(call: Callable[..., Done], tmp_path: Path) -> Callable[..., str]:
    """Run a scripted model with an effect over a bench; the run's name."""

    def run(bench: Path, effect: str, *words: str, model: str = "scripted", **settings: object) -> str:
        file = tmp_path / f"{model}.gguf"
        file.write_bytes(f"GGUF {model}".encode())
        given = {"effect": effect, "answers": str(bench)} | settings
        sets = [word for name, value in given.items() for word in ("--set", f"{name}={value}")]
        done = call(
            *("run", file, "--bench", bench, "--backend", "scripted_effects", "-q", "--json", "--lang", "en"),
            *words,
            *sets,
        )
        assert done.code == 0, done.error
        return str(done.json["run"])

    return run
