"""An engine in a process of its own: its death is an error, and a poisoned request is passed over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from twlocal.backend import ENGINE_DIED, Completion, Decoding, Message, Request
from twlocal.errors import BackendError, ConfigurationError, EngineDied
from twlocal.isolate import Isolated

NAME = "scripted_isolated"


def _requests(count: int) -> list[Request]:
    return [Request(f"{number}.0", (Message("user", f"第{number}題"),), 16) for number in range(count)]


def _open(tmp_path: Path, **settings: object) -> Isolated:
    return Isolated(NAME, str(tmp_path / "m.gguf"), Decoding(), settings)


def _logged(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split()


def test_answers_come_back_under_their_keys(tmp_path: Path) -> None:
    engine = _open(tmp_path, ahead=3)
    got = {completion.key: completion for completion in engine.generate(_requests(8))}
    assert set(got) == {f"{number}.0" for number in range(8)}
    assert all(completion.prompt_tokens == 3 for completion in got.values())
    assert engine.describe().engine == "scripted"
    engine.close()


def test_requests_are_pulled_lazily(tmp_path: Path) -> None:
    pulled: list[str] = []

    def source() -> object:
        for request in _requests(10):
            pulled.append(request.key)
            yield request

    engine = _open(tmp_path)
    answers = engine.generate(source())  # type: ignore[arg-type]
    next(answers)
    assert pulled == ["0.0"]
    answers.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("ahead", [1, 4])
def test_a_poisoned_request_is_passed_over_and_the_rest_is_answered(tmp_path: Path, ahead: int) -> None:
    blamed: list[str] = []
    log = tmp_path / "log"
    engine = Isolated(
        NAME,
        "m.gguf",
        Decoding(),
        {"die_on": "第5題", "ahead": ahead, "log": str(log)},
        on_death=lambda key, error: blamed.append(key),
    )
    got = {completion.key: completion for completion in engine.generate(_requests(8))}
    assert len(got) == 8
    poisoned = got.pop("5.0")
    assert poisoned.error_kind == ENGINE_DIED
    assert "SIGABRT" in poisoned.error
    assert "terminate called" in poisoned.error
    assert all(not completion.error_kind for completion in got.values())
    assert blamed == ["5.0", "5.0"], "only the culprit is blamed; its last death comes as its completion"


@pytest.mark.parametrize(("error", "ahead"), [("RuntimeError", 1), ("MemoryError", 4)])
def test_a_request_that_makes_its_engine_fail_is_passed_over_too(tmp_path: Path, error: str, ahead: int) -> None:
    """Memory that does not suffice for one prompt is an exception in some engines, and a death in others."""
    blamed: list[str] = []
    settings = {"raise_on": {"第5題": error}, "ahead": ahead, "log": str(tmp_path / "log")}
    engine = Isolated(NAME, "m.gguf", Decoding(), settings, on_death=lambda key, error: blamed.append(key))
    got = {completion.key: completion for completion in engine.generate(_requests(8))}
    assert len(got) == 8
    poisoned = got.pop("5.0")
    assert (poisoned.error_kind, poisoned.attempts) == (ENGINE_DIED, 3)
    assert f"{error}: [metal::malloc]" in poisoned.error
    assert not any(completion.error_kind for completion in got.values())
    assert blamed == ["5.0", "5.0"]


@pytest.mark.parametrize("ahead", [1, 4])
def test_an_engine_that_fails_at_everything_is_given_up_soon(tmp_path: Path, ahead: int) -> None:
    """Each restart loads the model again: twenty of them are an hour."""
    engine = _open(tmp_path, raise_on={"題": "RuntimeError"}, ahead=ahead, log=str(tmp_path / "log"))
    with pytest.raises(EngineDied, match="the engine failed: RuntimeError"):
        list(engine.generate(_requests(30)))
    assert len(_logged(tmp_path / "log")) == 4


def test_a_fault_in_a_program_is_no_requests_doing(tmp_path: Path) -> None:
    engine = _open(tmp_path, raise_on={"第2題": "TypeError"}, log=str(tmp_path / "log"))
    answers = engine.generate(_requests(8))
    assert [next(answers).key for _ in range(2)] == ["0.0", "1.0"]
    with pytest.raises(BackendError, match="the engine failed: TypeError") as caught:
        next(answers)
    assert not isinstance(caught.value, EngineDied)
    assert _logged(tmp_path / "log") == ["0.0", "1.0", "2.0"]


def test_deaths_of_earlier_sittings_count(tmp_path: Path) -> None:
    engine = Isolated(NAME, "m.gguf", Decoding(), {"die_on": "第0題", "log": str(tmp_path / "log")}, prior={"0.0": 2})
    (only,) = engine.generate(_requests(1))
    assert only.error_kind == ENGINE_DIED
    assert _logged(tmp_path / "log") == ["0.0"]


def test_an_engine_that_recovers_loses_nothing(tmp_path: Path) -> None:
    (tmp_path / "deaths").write_text("2", encoding="utf-8")
    engine = _open(tmp_path, die_on="題", deaths=str(tmp_path / "deaths"), ahead=3)
    got = list(engine.generate(_requests(7)))
    assert sorted(completion.key for completion in got) == [f"{number}.0" for number in range(7)]
    assert not any(completion.error_kind for completion in got)


def test_an_engine_that_always_dies_is_given_up() -> None:
    engine = Isolated(NAME, "m.gguf", Decoding(), {"die_on": "題"}, max_restarts=4)
    with pytest.raises(EngineDied, match="died 5 times"):
        list(engine.generate(_requests(30)))


def test_errors_of_the_engine_arrive_whole(tmp_path: Path) -> None:
    engine = _open(tmp_path, refuse_after=1)
    answers = engine.generate(_requests(3))
    assert isinstance(next(answers), Completion)
    with pytest.raises(ConfigurationError, match="401") as caught:
        next(answers)
    assert caught.value.hint == "set the key"


def test_a_backend_that_cannot_open_says_so_before_the_first_request() -> None:
    with pytest.raises(EngineDied, match="ended by itself") as caught:
        Isolated("scripted_stillborn", "m.gguf", Decoding(), {})
    assert "no libfoo here" in caught.value.message
    assert "less memory" in caught.value.hint


@pytest.mark.parametrize(
    ("by", "way"),
    [
        (signal.SIGILL, "built for a newer processor"),
        (signal.SIGBUS, "shared memory is full"),
        (signal.SIGKILL, "less memory"),
    ],
)
def test_what_may_help_depends_on_how_it_died(by: signal.Signals, way: str) -> None:
    with pytest.raises(EngineDied, match=by.name) as caught:
        Isolated("scripted_stillborn", "m.gguf", Decoding(), {"by": by})
    assert way in caught.value.hint


def test_close_from_another_thread_ends_a_pending_answer(tmp_path: Path) -> None:
    engine = _open(tmp_path, delay=60)
    threading.Timer(0.3, engine.close).start()
    begun = time.monotonic()
    assert list(engine.generate(_requests(2))) == []
    assert time.monotonic() - begun < 20


def test_a_request_whose_engine_dies_before_it_is_asked_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deaths").write_text("1", encoding="utf-8")
    engine = _open(tmp_path, die_on="第1題", deaths=str(tmp_path / "deaths"))
    fresh, troubles = Isolated._fresh, [EngineDied("no memory for it right now")]

    def stumbling(self: Isolated) -> object:
        if troubles:
            raise troubles.pop()
        return fresh(self)

    monkeypatch.setattr(Isolated, "_fresh", stumbling)
    got = list(engine.generate(_requests(3)))
    assert sorted(completion.key for completion in got) == ["0.0", "1.0", "2.0"]
    assert not any(completion.error_kind for completion in got)
    assert not troubles


def test_deaths_with_answers_between_them_are_no_reason_to_give_up() -> None:
    prior = {f"{number}.0": 2 for number in (5, 15, 25)}
    engine = Isolated(NAME, "m.gguf", Decoding(), {"die_on": "5題"}, prior=prior, max_restarts=1)
    got = list(engine.generate(_requests(27)))
    assert [completion.key for completion in got if completion.error_kind] == ["5.0", "15.0", "25.0"]
    assert len(got) == 27


def test_nothing_that_a_kill_would_leave_behind_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    engine = _open(tmp_path)
    assert list(tmp_path.iterdir()) == []
    engine.close()


def test_an_engine_runs_where_no_file_can_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise FileNotFoundError("no usable temporary directory")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    engine = _open(tmp_path, die_on="第0題")
    (only,) = engine.generate(_requests(1))
    assert "SIGABRT" in only.error


def test_an_engine_that_nobody_closed_does_not_hold_its_parent_back() -> None:
    # multiprocessing asks its children to end, and waits for ever for one that is deaf to it.
    program = (
        "from twlocal.isolate import Isolated; from twlocal.backend import Decoding; "
        f"kept = Isolated({NAME!r}, 'm.gguf', Decoding(), {{}})"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, timeout=20, check=False)
    assert done.returncode == 0
