"""The writer's side of a run: how answers gather into commits, without a command line around it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from twlocal import evaluate, runner
from twlocal.backend import Completion, EngineInfo, Request
from twlocal.errors import EngineDied, RunError
from twlocal.plan import Wish
from twlocal.responses import Answered
from twlocal.runs import Runs
from twlocal.store import open_store


class Counting(Runs):
    """Runs that remember what was committed together."""

    def __init__(self, path: Path) -> None:
        super().__init__(open_store(path), path)
        self.batches: list[list[str]] = []
        self.committed = threading.Event()

    def add(self, run_id: int, sitting_id: int, batch: Sequence[Answered]) -> None:
        super().add(run_id, sitting_id, batch)
        self.batches.append([row.completion.key for row in batch])
        self.committed.set()


class Engine:
    """Pulls `ahead` requests, answers them, and waits before each further round until what it answered is committed."""

    def __init__(self, runs: Counting, ahead: int, *, patient: bool) -> None:
        self._runs, self._ahead, self._patient = runs, ahead, patient
        self.waited: list[bool] = []

    def describe(self) -> EngineInfo:
        return EngineInfo("counting", "1")

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        waiting: list[Request] = []
        for request in requests:
            waiting.append(request)
            if len(waiting) >= self._ahead:
                self._runs.committed.clear()
                yield from (Completion(one.key, text=f"\\boxed{{A}} {one.key}", finish="stop") for one in waiting)
                waiting = []
                if self._patient:
                    self.waited.append(self._runs.committed.wait(5))
        yield from (Completion(one.key, text=f"\\boxed{{B}} {one.key}", finish="stop") for one in waiting)

    def close(self) -> None:
        return


class Silence:
    def started(self, *_: Any) -> None: ...
    def stored(self, *_: Any) -> None: ...
    def note(self, message: str) -> None: ...


def test_writing_the_plan_leaves_no_second_copy_of_the_texts(tmp_path, model_file, make_questions):
    # sqlite3 makes Python keep the UTF-8 of every text that it is given as it is, for as long as the text lives.
    runs = Runs(open_store(tmp_path / "plan.db"), tmp_path / "plan.db")
    wish = Wish(model=str(model_file), bench=str(make_questions(5)), protocol="box", backend="scripted")
    planned = evaluate.prepare(wish, runs, evaluate.Surroundings(environ={})).plan
    texts = [row.item._texts for row in planned.rows]
    before = [sys.getsizeof(text) for text in texts]
    runs.ensure(planned, at="2026-01-01T00:00:00Z")
    assert [sys.getsizeof(text) for text in texts] == before
    first = planned.rows[0].item
    assert runs.words(first.content_hash) == (first.question, first.options)
    runs.close()


@pytest.fixture
def work(tmp_path, model_file, make_questions):
    """Run `count` questions with an engine that pulls `ahead`; gives the runs (with their commits) and the engine."""
    opened: list[Counting] = []

    def run(count: int, ahead: int, *, patient: bool = False) -> tuple[Counting, Engine]:
        runs = Counting(tmp_path / f"{count}-{ahead}.db")
        opened.append(runs)
        wish = Wish(model=str(model_file), bench=str(make_questions(count)), protocol="box", backend="scripted")
        planned = evaluate.prepare(wish, runs, evaluate.Surroundings(environ={})).plan
        engine = Engine(runs, ahead, patient=patient)
        here = runner.Here(pid=1, host="here", machine={})
        outcome = runner.run(
            runs, planned, lambda prior, died: engine, here=here, stop=runner.Stop(), watcher=Silence()
        )
        assert outcome.state == "complete" and outcome.run.answered == count
        return runs, engine

    yield run
    for runs in opened:
        runs.close()


def test_a_fast_engines_answers_gather_into_few_commits(work):
    runs, _ = work(300, 100)
    sizes = [len(batch) for batch in runs.batches]
    assert sum(sizes) == 300 and max(sizes) <= runner.BATCH
    assert len(sizes) <= 20, "an answer a commit is what gathering is there to avoid"


def test_nothing_waits_for_a_full_batch(work):
    # Ten are asked and come; no more come until those are committed: a batch of 64 would never fill.
    runs, engine = work(30, 10, patient=True)
    assert engine.waited == [True, True, True]
    assert sorted(key for batch in runs.batches for key in batch) == sorted(f"{no}.0" for no in range(30))


def test_answers_one_by_one_are_committed_one_by_one(work):
    runs, engine = work(5, 1, patient=True)
    assert [len(batch) for batch in runs.batches] == [1] * 5 and all(engine.waited)


class Eager(Engine):
    """Answers at once, and remembers how many answers were not stored yet when it got the next question."""

    most = 0

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        for number, request in enumerate(requests):
            self.most = max(self.most, number - sum(map(len, self._runs.batches)))
            yield Completion(request.key, text=f"\\boxed{{A}} {request.key}", finish="stop")


class Slow(Silence):
    def stored(self, *_: Any) -> None:
        time.sleep(0.01)


def test_an_engine_that_is_faster_than_the_disk_is_not_asked_for_more_than_can_be_stored(begin, monkeypatch):
    monkeypatch.setattr(runner, "AHEAD", 16)
    runs, engine = begin(Eager, Slow(), questions=400)
    assert runs.get().complete and 0 < engine.most <= 16 + runner.BATCH + 1


class Mixed(Engine):
    """Answers the first request twice, and one that nobody asked."""

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        first = next(iter(requests))
        for key in (first.key, first.key, "elsewhere"):
            yield Completion(key, text="\\boxed{A}", finish="stop")


class Closing(Engine):
    """Remembers that it was closed."""

    closed = False

    def close(self) -> None:
        self.closed = True


class Hoarse(Silence):
    """Cannot tell of anything: its terminal has gone."""

    def started(self, *_: Any) -> None:
        raise OSError("no terminal")


@pytest.fixture
def begin(tmp_path, model_file, make_questions):
    """Run five questions with a given engine; gives the runs."""
    runs = Counting(tmp_path / "t.db")

    def run(
        engine: type[Engine], watcher: Silence | None = None, *, questions: int = 5, **here: Any
    ) -> tuple[Counting, Engine]:
        wish = Wish(model=str(model_file), bench=str(make_questions(questions)), protocol="box", backend="scripted")
        planned = evaluate.prepare(wish, runs, evaluate.Surroundings(environ={})).plan
        opened = engine(runs, 1, patient=False)
        try:
            runner.run(
                runs,
                planned,
                lambda prior, died: opened,
                here=runner.Here(pid=1, host="here", machine={}, **here),
                stop=runner.Stop(),
                watcher=watcher or Silence(),
            )
        finally:
            run.engine = opened
        return runs, opened

    yield run
    runs.close()


def test_an_engine_that_mixes_its_answers_up_is_told_of_and_loses_none(begin, tmp_path):
    with pytest.raises(EngineDied, match="not asked or was answered before"):
        begin(Mixed)
    runs = Runs(open_store(tmp_path / "t.db"), tmp_path / "t.db")
    assert runs.get().answered == 1
    runs.close()


def test_whatever_goes_wrong_the_engine_is_closed_and_the_sitting_ended(begin, tmp_path):
    with pytest.raises(OSError, match="no terminal"):
        begin(Closing, Hoarse())
    assert begin.engine.closed
    runs = Runs(open_store(tmp_path / "t.db"), tmp_path / "t.db")
    assert [sitting.outcome for sitting in runs.sittings(1)] == ["failed"]
    runs.close()


class Textless(Engine):
    """Gives no text for the second request, and answers the others."""

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        for number, request in enumerate(list(requests)):
            yield Completion(request.key, text=None if number == 1 else "\\boxed{A}", finish="stop")


def test_an_answer_without_a_text_is_a_failure_and_costs_no_other_one(begin):
    runs, _ = begin(Textless)
    row = runs.get()
    assert (row.answered, row.failed, row.complete) == (4, 1, False)


class Empty(Engine):
    """Answers nothing to everything, all at once."""

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        yield from [Completion(request.key, text="", finish="stop") for request in requests]


def test_a_model_that_says_nothing_is_noticed_however_fast_it_says_it(begin):
    with pytest.raises(RunError, match="all empty"):
        begin(Empty, questions=30)


class Served(Engine):
    """A server's model, of a size that it tells, whose answers come under a name; it breaks off after two."""

    size, name = 1, "m-05"
    answered = 0

    def describe(self) -> EngineInfo:
        names = {"served_as": [self.name]} if self.answered else {}
        return EngineInfo("served", "1", model={"meta": {"size": self.size}, **names})

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        for request in requests:
            if self.answered == 2:
                return
            self.answered += 1
            yield Completion(request.key, text="\\boxed{A}", finish="stop")


class Larger(Served):
    size = 2


class Later(Served):
    name = "m-11"


@pytest.mark.parametrize(("engine", "says"), [(Larger, "size was 1 and is 2"), (Later, "from m-05 and come from m-11")])
def test_another_model_under_the_same_name_adds_nothing_to_a_run(begin, tmp_path, engine, says):
    begin(Served)
    for _ in range(2):  # what was refused once must not vouch for itself
        with pytest.raises(RunError, match=says):
            begin(engine)
    runs = Runs(open_store(tmp_path / "t.db"), tmp_path / "t.db")
    assert runs.get().answered == 2
    runs.close()


def test_the_same_model_goes_on(begin):
    begin(Served)
    runs, _ = begin(Served)
    assert runs.get().answered == 4


def test_a_clock_that_is_set_back_gives_no_sitting_of_negative_length(begin):
    clock = iter(datetime(2026, 1, 2, 12 - min(hour, 9), tzinfo=UTC) for hour in count())
    runs, _ = begin(Engine, now=lambda: next(clock))
    (sitting,) = runs.sittings(1)
    assert sitting.seconds >= 0


class Hanging(Engine):
    """Says nothing for a while, then answers."""

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        for request in requests:
            yield Completion(request.key, text="\\boxed{A} " + request.key, finish="stop")
            self.asked = request.key
            assert self.told.wait(10)


def test_an_engine_that_says_nothing_is_told_of(tmp_path, model_file, make_questions, monkeypatch):
    """A worker that hangs dies of nothing and answers nothing: a log that stands still says neither."""
    monkeypatch.setattr(runner, "SILENCE_SECONDS", 0.2)
    notes: list[str] = []

    class Listening(Silence):
        def note(self, message: str) -> None:
            notes.append(message)
            if len(notes) == 2:
                engine.told.set()

    runs = Counting(tmp_path / "t.db")
    wish = Wish(model=str(model_file), bench=str(make_questions(3)), protocol="box", backend="scripted")
    planned = evaluate.prepare(wish, runs, evaluate.Surroundings(environ={})).plan
    engine = Hanging(runs, 1, patient=False)
    engine.told = threading.Event()
    here = runner.Here(pid=1, host="here", machine={})
    outcome = runner.run(runs, planned, lambda prior, died: engine, here=here, stop=runner.Stop(), watcher=Listening())
    runs.close()
    assert outcome.state == "complete"
    assert len(notes) == 2, "ever more rarely"
    assert all("no answer for 0 minutes" in note and "same command goes on" in note for note in notes)
