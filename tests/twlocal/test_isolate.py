"""An engine in a process of its own: its death is an error, and a poisoned request is passed over."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from twlocal.backend import ENGINE_DIED, Completion, Decoding, Message, Request
from twlocal.errors import ConfigurationError, EngineDied
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


def test_close_from_another_thread_ends_a_pending_answer(tmp_path: Path) -> None:
    engine = _open(tmp_path, delay=60)
    threading.Timer(0.3, engine.close).start()
    begun = time.monotonic()
    assert list(engine.generate(_requests(2))) == []
    assert time.monotonic() - begun < 20
