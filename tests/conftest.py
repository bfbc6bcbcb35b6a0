"""What all tests share: the scripted backend as an installed plugin, a small set of questions, the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

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


@pytest.fixture
def stored_run(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """A run with the answers given: `stored_run(items, completions)` → (Runs, RunRow).

    Item number n (in the order given, which is not the run's) gets completions[n]; None leaves it unanswered.
    """
    from twlocal import protocol
    from twlocal.backend import EngineInfo
    from twlocal.models import Model
    from twlocal.plan import Plan, Wish, plan_order
    from twlocal.responses import Answered
    from twlocal.runs import Runs
    from twlocal.store import open_store

    at, opened = "2026-01-02T03:04:05.000000Z", []

    def make(items: list[Any], completions: list[Any], *, private: bool = False, name: str = "run") -> Any:
        box = protocol.load("box")
        said = ("name", "title", "title_zh", "system", "body", "reader", "shuffle", "publishable")
        notes = ("why_not", "why_not_zh", "sha256", "system_sha256")
        manifest = {
            "identity": {"model": {"id": "m", "revision": "", "fingerprint": ""}},
            "protocol": {**{field: getattr(box, field) for field in (*said, *notes)}, "examples": []},
            "decoding": {"max_tokens": 4096, "temperature": 0.0, "top_p": 0.9},
            "bench": {"name": "bench", "revision": ""},
            "sample": {"rows": len(items)},
        }
        wish, model = Wish("m.gguf", "bench", "box", private=private), Model("m", "m.gguf", "scripted")
        plan = Plan(name.ljust(64, "k"), name, wish, model, "scripted", box, tuple(plan_order(items)), manifest)
        runs = Runs(open_store(tmp_path / f"{name}.db"), tmp_path / f"{name}.db")
        opened.append(runs)
        run = runs.ensure(plan, at=at)
        info = EngineInfo("scripted", "1", {"context": 8192}, model={"quantisation": "bf16"}, quantised=False)
        sitting = runs.begin_sitting(run.id, info, {}, pid=1, host="here", at=at)
        numbers = {row.item.content_hash: no for no, row in enumerate(plan.rows)}
        batch = [
            Answered(numbers[item.content_hash], 0, box.order(item), done, at)
            for item, done in zip(items, completions, strict=True)
            if done is not None
        ]
        if batch:
            runs.add(run.id, sitting, batch)
        return runs, runs.get(name)

    yield make
    for runs in opened:
        runs.close()


_CLUSTER = """
import sys, ray
info = ray.init(
    address="local", num_cpus=3, object_store_memory=80 << 20, include_dashboard=False, log_to_driver=False,
    logging_level="ERROR", _temp_dir=sys.argv[1],
)

@ray.remote(num_cpus=2)
class Busy:
    def here(self):
        return True

busy = Busy.remote()
ray.get(busy.here.remote())
print(info.address_info["address"], flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[tuple[str, dict[str, str]]]:
    """A Ray cluster of somebody else's on this machine: its address, and the environment that it takes.

    One CPU of its three is free, and it has no GPU.
    """
    pytest.importorskip("ray")
    env = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0123456789abcdef" * 2, "RAY_USAGE_STATS_ENABLED": "0"}
    with (
        tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp", ignore_cleanup_errors=True) as folder,
        subprocess.Popen(
            [sys.executable, "-c", _CLUSTER, folder],
            env=environment(**env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        yield process.stdout.readline().strip(), env
        process.communicate()
