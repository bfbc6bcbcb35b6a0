"""A stage asks through the main job's store: nothing twice, stopped anywhere, and apart from scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from twlocal import runner
from twlocal.backend import Completion
from twlocal.errors import ConfigurationError, RunError, UsageError
from twlocal.evaluate import Surroundings, last_unfinished
from twlocal.formosa import asking, prompts
from twlocal.formosa.asking import Asker, Desk
from twlocal.plan import Wish
from twlocal.record import Record
from twlocal.runs import RunRow, Runs
from twlocal.store import open_store

DRAFT = prompts.load("draft")
TEXTS = [DRAFT.text(window=f"第{number}段") for number in range(12)]


@dataclass
class Quiet:
    """Hears of progress, and stops the run after so many answers."""

    stop: runner.Stop = field(default_factory=runner.Stop)
    after: int = 10_000
    answers: int = 0
    failures: int = 0
    notes: list[str] = field(default_factory=list)

    def started(self, run: RunRow, done: int, total: int) -> None:
        return

    def stored(self, records: list[Record], failures: list[Completion]) -> None:
        self.answers += len(records)
        self.failures += len(failures)
        if self.answers >= self.after:
            self.stop.request()

    def note(self, message: str) -> None:
        self.notes.append(message)


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    found = Runs(open_store(tmp_path / "f.db"), tmp_path / "f.db")
    yield found
    found.close()


@pytest.fixture
def sit(runs: Runs, tmp_path: Path) -> Callable[..., Desk]:
    def call(after: int = 10_000) -> Desk:
        watcher = Quiet(after=after)
        return Desk(runs, tmp_path / "f.db", Surroundings(), watcher.stop, watcher)

    return call


@pytest.fixture
def who(runs: Runs, model_file: Path, tmp_path: Path) -> Callable[..., Asker]:
    def call(backend: str = "scripted", schema: bool = True, max_tokens: int | None = None, **settings: Any) -> Asker:
        settings = {"log": str(tmp_path / "asked.log"), **settings}
        wish = Wish(str(model_file), "", "", backend=backend, settings=settings, max_tokens=max_tokens)
        return asking.asker("draft", wish, DRAFT, runs, Surroundings(), schema=schema)

    return call


@pytest.fixture
def asked(tmp_path: Path) -> Callable[[], int]:
    """How often the model was asked."""
    log = tmp_path / "asked.log"
    return lambda: len(log.read_text(encoding="utf-8").splitlines()) if log.exists() else 0


def test_nothing_is_asked_twice_whichever_run_it_was(
    who: Callable[..., Asker], sit: Callable[..., Desk], asked: Callable[[], int], runs: Runs
) -> None:
    first = asking.ask(who(), TEXTS[:5], sit())
    assert (first.state, first.left, asked()) == ("complete", 0, 5)
    more = asking.ask(who(), TEXTS[3:], sit())
    assert (more.state, more.left, asked()) == ("complete", 0, 12)
    assert len(more.records) == 9 and more.of(TEXTS[0]) is None
    assert more.of(TEXTS[3]) == first.of(TEXTS[3]) is not None
    assert len(runs.asked_by(who().key)) == 2
    again = asking.ask(who(), [*TEXTS, TEXTS[0]], sit())
    assert again.left == 0 and asked() == 12 and len(again.records) == 12
    assert asking.answered(who(), [*TEXTS, "別的"], runs).left == 1


def test_stopped_and_gone_on_with_it_is_one_run(
    who: Callable[..., Asker], sit: Callable[..., Desk], asked: Callable[[], int], runs: Runs
) -> None:
    slow = {"delay": 0.05}
    stopped = asking.ask(who(**slow), TEXTS, sit(after=3))
    assert stopped.state == "interrupted" and stopped.left == 12 - len(stopped.records) > 0
    assert asking.ask(who(**slow), TEXTS, sit()).left == 0
    assert len(runs.asked_by(who().key)) == 1 and asked() == 12


def test_what_was_begun_and_is_no_longer_wanted_stays_unasked(
    who: Callable[..., Asker], sit: Callable[..., Desk], asked: Callable[[], int]
) -> None:
    begun = asking.ask(who(delay=0.05), TEXTS, sit(after=3))
    there = asked()
    missing = [text for text in TEXTS if begun.of(text) is None]
    assert asking.ask(who(), missing[:2], sit()).left == 0
    assert asked() == there + 2
    assert asking.ask(who(), TEXTS, sit()).left == 0 and asked() == 12


def test_a_row_that_failed_is_asked_again(
    who: Callable[..., Asker], sit: Callable[..., Desk], asked: Callable[[], int]
) -> None:
    failed = asking.ask(who(fail_on="第7段"), TEXTS, sit())
    assert (failed.state, failed.left) == ("incomplete", 1) and failed.of(TEXTS[7]) is None
    assert asking.ask(who(), TEXTS, sit()).left == 0
    assert asked() == 13


def test_a_refusal_stops_and_keeps_what_came(who: Callable[..., Asker], sit: Callable[..., Desk], runs: Runs) -> None:
    with pytest.raises(ConfigurationError, match="401"):
        asking.ask(who(refuse_after=4), TEXTS, sit())
    assert len(asking.answered(who(), TEXTS, runs).records) == 4
    assert asking.ask(who(), TEXTS, sit()).left == 0


def test_askers_are_told_apart_by_what_could_change_an_answer(who: Callable[..., Asker], runs: Runs) -> None:
    assert who().key == who(delay=1).key, "how slow it is changes nothing"
    others = [who(say="一樣"), who(max_tokens=9), who(backend="scripted_writer"), who("scripted_writer", schema=False)]
    assert len({who().key, *(one.key for one in others)}) == 5
    assert others[2].identity["settings"]["json_schema"] == DRAFT.schema and not others[3].identity["settings"]
    assert who().name == f"scripted@{who().key[:8]}"
    judge = asking.asker("judge", who().wish, prompts.load("judge"), runs, Surroundings())
    assert judge.key != who().key


def test_a_stage_is_no_run_of_a_benchmark(who: Callable[..., Asker], sit: Callable[..., Desk], runs: Runs) -> None:
    asking.ask(who(delay=0.05), TEXTS, sit(after=3))
    (run,) = runs.asked_by(who().key)
    assert runs.all() == [] and runs.unfinished() == []
    for name in (None, run.name, str(run.id), run.name[:6]):
        with pytest.raises(UsageError):
            runs.get(name)
    with pytest.raises(UsageError):
        last_unfinished(runs, None)
    assert "draft" in run.name


def test_a_judge_may_say_the_same_of_everything_but_not_nothing(
    who: Callable[..., Asker], sit: Callable[..., Desk]
) -> None:
    assert asking.ask(who(say='{"supported": true, "single_answer": true}'), TEXTS, sit()).left == 0
    with pytest.raises(RunError, match="all empty"):
        asking.ask(who(say="", delay=0.05), TEXTS, sit())
