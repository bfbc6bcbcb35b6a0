"""Finished runs to bundle: planned and stored by the real runner, answered by an engine that says what a test wants."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from twlocal import dataset, evaluate, runner
from twlocal.backend import Completion, EngineInfo, Request
from twlocal.bundle import write
from twlocal.bundle.eligible import Allowed
from twlocal.bundle.stored import opened
from twlocal.plan import Wish
from twlocal.runs import Runs

HOST = "kitchen-mac.lan"
SAID = (
    "這題選 {x}。\n\\boxed{{{x}}}",
    "想了想，\\boxed{{{x}}}",
    "答案是 {x}",
    "不知道",
    "<think>\\boxed{{{x}}}</think>",
)


class Engine:
    def __init__(self, info: EngineInfo, flags: tuple[str, ...], fail_on: str) -> None:
        self.info, self.flags, self.fail_on = info, flags, fail_on

    def describe(self) -> EngineInfo:
        return self.info

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        for request in requests:
            question = request.messages[-1].content
            if self.fail_on and self.fail_on in question:
                yield Completion(request.key, error_kind="server", error="500")
                continue
            digest = hashlib.sha256(question.encode()).digest()
            text = SAID[digest[1] % len(SAID)].format(x="ABCD"[digest[0] % 4])
            yield Completion(
                request.key,
                # A response that quotes its question, as many do.
                text=re.sub("^這題", question.split("\n")[0] + " 這題", text),
                reasoning="想一想" if digest[2] % 7 == 0 else "",
                finish="length" if digest[3] % 5 == 0 else "stop",
                prompt_tokens=len(question),
                completion_tokens=5,
                latency=0.25,
                prompt_hash=hashlib.sha256(question.encode()).hexdigest(),
                flags=self.flags,
            )

    def close(self) -> None:
        return


class Quiet:
    def started(self, run: object, done: int, total: int) -> None:
        return

    def stored(self, records: object, failures: object) -> None:
        return

    def note(self, message: str) -> None:
        return


INFO = EngineInfo(
    "scripted",
    "1",
    settings={"slots": 1, "base_url": "http://10.0.0.7:8000/v1", "cache": "/home/wang/.cache", "proxy": False},
    sent={"temperature": 0.0, "top_p": 0.9, "max_tokens": 4096},
    model={"architecture": "gemma3", "file": "/models/x.gguf"},
    quantised=False,
)


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """Thirty questions in three subjects; two share a stem, two are the same row, one stands in two subjects."""
    rows = [
        {"id": f"q{n}", "subject": ("民法", "刑法", "會計")[n % 3], "question": f"第{n}題：下列何者正確？"}
        | {letter: f"{letter}說{n}" for letter in "ABCD"}
        | {"answer": "ABCD"[n % 4]}
        for n in range(26)
    ]
    rows += [
        rows[0] | {"id": "q0b"},
        rows[1] | {"id": "q1b", "A": "別的選項"},
        rows[2] | {"id": "q2b", "subject": "民法"},
    ]
    rows.append(rows[3] | {"id": "q3b", "answer": "A"})
    path = tmp_path / "題庫.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def make_run(tmp_path: Path, questions: Path, model_file: Path) -> Callable[..., str]:
    """Answer the questions into a database; returns the run's name."""

    def make(
        db: str = "t.db",
        *,
        info: EngineInfo = INFO,
        flags: tuple[str, ...] = (),
        fail_on: str = "",
        bench: Path | str | None = None,
        **wish: Any,
    ) -> str:
        around = evaluate.Surroundings(environ={}, now=lambda: datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC))
        wanted = {"protocol": "box", "backend": "scripted"} | wish
        with opened(tmp_path / db, create=True) as (runs, _):
            plan = evaluate.prepare(Wish(model=str(model_file), bench=str(bench or questions), **wanted), runs, around)
            done = runner.run(
                runs,
                plan.plan,
                lambda prior, died: Engine(info, flags, fail_on),
                here=runner.Here(pid=4321, host=HOST, machine={"processor": "M3 Ultra", "cores": 8}, now=around.now),
                stop=runner.Stop(),
                watcher=Quiet(),
            )
            return done.run.name

    return make


@pytest.fixture
def pack(tmp_path: Path) -> Callable[..., Path]:
    """Bundle runs of a database; returns where."""

    def make(
        *names: str, to: str = "out", db: str = "t.db", full: bool = True, allow: str = "", load: Any = None
    ) -> Path:
        allowed = Allowed(**dict.fromkeys(allow.split(), True))
        with opened(tmp_path / db, create=False) as (runs, stored):
            chosen = [runs.get(name) for name in names]
            write.bundle(
                runs, stored, chosen, tmp_path / to, full=full, allowed=allowed, load=load or (lambda wish: None)
            )
        return tmp_path / to

    return make


@pytest.fixture
def loaded(questions: Path) -> dataset.Dataset:
    return dataset.load(str(questions))


@pytest.fixture
def report(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """A run's report as its JSON says it."""

    def make(name: str, db: str) -> dict[str, Any]:
        from twlocal.report.build import build
        from twlocal.report.jsonview import as_dict

        with opened(tmp_path / db, create=False) as (runs, _):
            return as_dict(build(runs, runs.get(name)))

    return make


@pytest.fixture
def records(tmp_path: Path) -> Callable[..., list[Any]]:
    def make(name: str, db: str) -> list[Any]:
        with opened(tmp_path / db, create=False) as (runs, _):
            return list(runs.records(Runs.get(runs, name).id))

    return make
