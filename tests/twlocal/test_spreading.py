"""A backend that holds another: deaths it tells of are stored, it may close by itself, a run is the same without."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from twlocal.backend import ENGINE_DIED, Decoding, Message, Request
from twlocal.cli.spread_options import engine_wish
from twlocal.errors import UsageError
from twlocal.isolate import Isolated

NAME = "scripted_spreader"
Call = Callable[..., subprocess.CompletedProcess[str]]


def requests(count: int) -> list[Request]:
    return [Request(f"{number}.0", (Message("user", f"第{number}題"),), 16) for number in range(count)]


def opened(
    tmp_path: Path, told: list[tuple[str, str]], prior: dict[str, int] | None = None, **settings: Any
) -> Isolated:
    return Isolated(
        NAME,
        str(tmp_path / "m.gguf"),
        Decoding(),
        {"engine": "scripted", **settings},
        prior=prior,
        on_death=lambda key, message: told.append((key, message)),
        close_seconds=20,
    )


def test_deaths_that_it_tells_of_are_counted_with_those_before(tmp_path: Path) -> None:
    told: list[tuple[str, str]] = []
    engine = opened(tmp_path, told, dies="第2題")
    got = {completion.key: completion for completion in engine.generate(requests(4))}
    assert [key for key, _ in told] == ["2.0", "2.0"]
    assert (got["2.0"].error_kind, got["2.0"].attempts) == (ENGINE_DIED, 3)
    assert [key for key, completion in got.items() if not completion.error_kind] == ["0.0", "1.0", "3.0"]
    told.clear()
    list(opened(tmp_path, told, {"2.0": 2}, dies="第2題").generate(requests(4)))
    assert told == [], "the third one is the last, and comes back as its answer"


def test_it_may_close_by_itself_and_no_longer_than_it_may(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    engine = opened(tmp_path, [], closed=str(closed))
    assert len(list(engine.generate(requests(2)))) == 2
    assert closed.exists()
    closed.unlink()
    idle = opened(tmp_path, [], closed=str(closed))
    idle.close()
    assert closed.exists(), "also when nothing was asked"
    closed.unlink()
    slow = Isolated(
        NAME,
        str(tmp_path / "m.gguf"),
        Decoding(),
        {"engine": "scripted", "closed": str(closed), "slow": 60},
        close_seconds=0.2,
    )
    started = time.monotonic()
    list(slow.generate(requests(1)))
    assert time.monotonic() - started < 30 and not closed.exists()


def options(**given: Any) -> dict[str, Any]:
    names = ("concurrency", "timeout", "api_key_env", "slots", "threads", "context", "gpu_layers", "chat_template")
    more = dict.fromkeys((*names, "backend", "ray_address", "actors", "gpus_per_actor", "stop_at_box"))
    return {**more, "trust_remote_code": False, "more": (), "variables": (), **given}


@pytest.mark.parametrize(
    ("given", "backend", "spread"),
    [
        ({}, None, None),
        ({"backend": "mlx"}, "mlx", None),
        ({"backend": NAME}, None, {"backend": NAME}),
        ({"backend": NAME, "more": ("engine=mlx", "dies=x")}, "mlx", {"backend": NAME, "dies": "x"}),
        ({"backend": "mlx", "actors": 2}, "mlx", {"backend": "ray", "actors": 2}),
        ({"ray_address": "auto"}, None, {"backend": "ray", "ray_address": "auto"}),
        ({"gpus_per_actor": 0.5}, None, {"backend": "ray", "gpus_per_actor": 0.5}),
    ],
)
def test_what_the_options_stand_for(given: dict[str, Any], backend: str | None, spread: Any) -> None:
    wish = engine_wish(options(slots=3, **given))
    assert (wish["backend"], wish.get("spread"), wish["settings"]) == (backend, spread, {"slots": 3})


def test_an_engine_that_is_named_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="twice"):
        engine_wish(options(backend="mlx", actors=2, more=("engine=llama_cpp",)))


def test_a_run_goes_on_with_it_and_without_it(twlocal: Call, model_file: Path, questions: Path, tmp_path: Path) -> None:
    call = ("run", model_file, "--bench", questions, "--set", "say=\\boxed{A}")
    first = twlocal(*call, "--backend", NAME, "--set", "engine=scripted", "--actors", "3", "--set", "dies=第7題")
    assert first.returncode == 1, first.stderr
    with sqlite3.connect(tmp_path / "twlocal.db") as db:
        backend, wish = db.execute("SELECT backend, wish FROM runs").fetchone()
        info = db.execute("SELECT engine_info FROM sittings").fetchone()[0]
        deaths = db.execute("SELECT count(*) FROM failures").fetchone()[0]
    assert backend == "scripted", "the run is the engine's"
    assert json.loads(wish)["spread"] == {"backend": NAME, "actors": 3, "dies": "第7題"}
    assert json.loads(info)["settings"]["actors"] == 3
    assert deaths == 3
    last = twlocal(*call, "--backend", "scripted", "--retry-failed")
    assert last.returncode == 0, last.stderr
    assert "39 of 40 answered before" in last.stderr
    with sqlite3.connect(tmp_path / "twlocal.db") as db:
        assert db.execute("SELECT count(*) FROM runs").fetchone() == (1,)


def test_resume_takes_another_number_of_actors(
    twlocal: Call, model_file: Path, questions: Path, tmp_path: Path
) -> None:
    call = ("run", model_file, "--bench", questions, "--backend", NAME, "--set", "engine=scripted")
    assert twlocal(*call, "--set", "dies=第7題", "--actors", "2").returncode == 1
    assert twlocal("resume", "--actors", "5", "--retry-failed").returncode == 1, "it dies as it did"
    with sqlite3.connect(tmp_path / "twlocal.db") as db:
        infos = [json.loads(info)["settings"]["actors"] for (info,) in db.execute("SELECT engine_info FROM sittings")]
    assert infos == [2, 5]


def test_a_command_that_takes_engines_only_says_so(twlocal: Call, model_file: Path, questions: Path) -> None:
    done = twlocal("run", model_file, "--bench", questions, "--backend", NAME, "--set", f"engine={NAME}")
    assert done.returncode == 2
    assert "spreads the work of another engine" in done.stderr


def test_a_setting_that_nobody_knows_is_refused_with_those_of_the_engine(
    twlocal: Call, model_file: Path, questions: Path
) -> None:
    done = twlocal("run", model_file, "--bench", questions, "--backend", "scripted", "--actors", "2", "--set", "so=1")
    assert done.returncode == 2
    assert "the backend scripted has no setting 'so'" in done.stderr
