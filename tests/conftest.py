"""What all tests share: the scripted backend as an installed plugin, a small set of questions, the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PLUGINS = ROOT / "tests" / "plugins"
SHARED = ROOT.parent / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data that stands beside a developer's checkout; tests over it skip where it is missing."""
    if not SHARED.is_dir():
        pytest.skip("needs ../shared, which is not there")
    return SHARED


@pytest.fixture(scope="session", autouse=True)
def _plugins() -> Iterator[None]:
    """Make the scripted backends discoverable, as an installed package's are."""
    sys.path.insert(0, str(PLUGINS))
    yield
    sys.path.remove(str(PLUGINS))


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    """A file that stands for a model; the scripted backend does not read it."""
    path = tmp_path / "scripted.gguf"
    path.write_bytes(b"GGUF, or so it says")
    return path


def write_questions(path: Path, count: int, *, subjects: tuple[str, ...] = ("民法", "刑法", "會計")) -> Path:
    rows = [
        {
            "id": f"q{number}",
            "subject": subjects[number % len(subjects)],
            "question": f"第{number}題：下列何者正確？",
            "A": f"甲{number}",
            "B": f"乙{number}",
            "C": f"丙{number}",
            "D": f"丁{number}",
            "answer": "ABCD"[number % 4],
        }
        for number in range(count)
    ]
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """Forty questions in three subjects."""
    return write_questions(tmp_path / "題庫.jsonl", 40)


@pytest.fixture
def make_questions(tmp_path: Path) -> Callable[[int], Path]:
    return lambda count: write_questions(tmp_path / f"questions-{count}.jsonl", count)


def environment(**changes: str) -> dict[str, str]:
    """This process's environment for a child: with the plugins, without what would change its speech."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("TWLOCAL", "LC_", "LANG", "NO_COLOR"))
    }
    return kept | {"PYTHONPATH": str(PLUGINS), "LC_ALL": "C.UTF-8"} | changes


@pytest.fixture
def twlocal(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Call the real command line in a process of its own, in a folder of its own."""

    def call(
        *words: str | Path, env: dict[str, str] | None = None, timeout: float = 60
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "twlocal", *map(str, words)],
            cwd=tmp_path,
            env=environment(**(env or {})),
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=timeout,
            stdin=subprocess.DEVNULL,
            check=False,
        )

    return call


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start the real command line and leave it running, for tests that interrupt it."""
    begun: list[subprocess.Popen[str]] = []

    def call(*words: str | Path, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "twlocal", *map(str, words)],
            cwd=tmp_path,
            env=environment(**(env or {})),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
        begun.append(process)
        return process

    yield call
    for process in begun:
        if process.poll() is None:
            process.kill()
        process.communicate()
