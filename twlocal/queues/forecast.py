"""What a queue is going to do: where each item runs, what is to be fetched and asked, and how long that takes.

Times come from what earlier runs on this machine took. What was never measured is not known, and said to be so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from twlocal import dataset, evaluate, models, sample
from twlocal.errors import DatasetError, EngineMissing, ModelError, NoEngine, UsageError
from twlocal.queues.reason import Reason, of_error

if TYPE_CHECKING:
    from twlocal.dataset import Dataset
    from twlocal.evaluate import Surroundings
    from twlocal.placing import Placed
    from twlocal.plan import Wish
    from twlocal.queues.file import Entry, QueueFile
    from twlocal.runs import Runs

# Fewer answers than these say little of a speed.
_ENOUGH = 5


@dataclass(frozen=True)
class Forecast:
    """An item before it runs.

    wish: the call as its run will have it. placed: where it runs, None where it cannot: then `skip` says why.
    answers: in all, None where the benchmark could not be read now. answered: those stored already. per_answer:
    seconds, None where it was never measured; measured_on: the benchmark it was measured on.
    """

    entry: Entry
    wish: Wish
    placed: Placed | None
    skip: Reason | None
    answers: int | None
    answered: int
    per_answer: float | None
    measured_on: str

    @property
    def left(self) -> int | None:
        """Answers still to ask for."""
        return None if self.answers is None else max(self.answers - self.answered, 0)

    @property
    def seconds(self) -> float | None:
        """How long asking takes, without fetching and loading; None where it is not known."""
        if self.left == 0:
            return 0.0
        return None if self.left is None or self.per_answer is None else self.left * self.per_answer


def forecast(file: QueueFile, runs: Runs, around: Surroundings, host: str) -> list[Forecast]:
    """Look ahead at every item. Weights are not fetched and no engine is started.

    Raises UsageError with its lines for an item that cannot be right anywhere: an unknown model name, a question file
    that cannot be read.
    """
    seer = _Seer(file, runs, around, list(runs.speeds(host)))
    return [seer.look(entry) for entry in file.entries]


class _Seer:
    def __init__(
        self, file: QueueFile, runs: Runs, around: Surroundings, speeds: list[tuple[str, str, str, str, int, float]]
    ) -> None:
        self._file, self._runs, self._speeds = file, runs, speeds
        self._around = replace(around, look=_once(around))
        self._places: dict[str, Placed | Reason] = {}
        self._questions: dict[str, Dataset | None] = {}

    def look(self, entry: Entry) -> Forecast:
        try:
            return self._look(entry)
        except UsageError as error:
            at = sorted(set(entry.lines))
            where = f"line {at[0]}" if len(at) == 1 else f"lines {at[0]} and {at[1]}"
            model = re.sub(r"//[^/]*@", "//…@", entry.model)  # a password is not repeated
            message = f"{self._file.path.name}, {where}: {model} on {entry.bench}: {error.message}"
            raise UsageError(message, hint=error.hint) from error

    def _look(self, entry: Entry) -> Forecast:
        wish = evaluate.settled(entry.wish)
        rules = evaluate.rules_of(wish)
        begun = self._runs.begun(wish)
        placed = self._place(wish, rules.decoding.max_tokens, begun.backend if begun else "")
        questions = self._load(wish)
        answers = None
        if questions is not None:
            asked, _ = sample.remove(evaluate.draw(questions, wish), frozenset(questions.withdrawn))
            answers = len(asked) * wish.repeats
        skip = placed if isinstance(placed, Reason) else None
        place = None if isinstance(placed, Reason) else placed
        per_answer, on = self._speed(place, questions.name if questions else wish.bench, rules.name)
        if begun is not None:
            answers = begun.planned  # it keeps the rows it began with
        return Forecast(entry, wish, place, skip, answers, begun.answered if begun else 0, per_answer, on)

    def _place(self, wish: Wish, max_tokens: int, earlier: str) -> Placed | Reason:
        """Where it runs, or why it cannot."""
        told = [wish.model, wish.backend, dict(wish.settings), wish.quantised, max_tokens, earlier]
        key = json.dumps(told, ensure_ascii=False, sort_keys=True)
        if key not in self._places:
            try:
                self._places[key], _ = evaluate.place(wish, self._around, max_tokens=max_tokens, earlier=earlier)
            except (EngineMissing, ModelError) as error:
                if not isinstance(error, NoEngine | EngineMissing) and not is_somewhere(wish.model):
                    raise
                self._places[key] = of_error(error)
        return self._places[key]

    def _load(self, wish: Wish) -> Dataset | None:
        """The questions; None where they lie elsewhere and cannot be had now."""
        key = json.dumps([wish.bench, wish.private, dict(wish.data)], ensure_ascii=False, sort_keys=True)
        if key not in self._questions:
            try:
                self._questions[key] = dataset.load(
                    wish.bench, private=wish.private, token=self._around.token, **wish.data
                )
            except DatasetError:
                named = dataset.bench(wish.bench)
                if "://" not in (named.source if named else wish.bench):
                    raise
                self._questions[key] = None
        return self._questions[key]

    def _speed(self, placed: Placed | None, bench: str, protocol: str) -> tuple[float | None, str]:
        """Seconds an answer, measured on the same benchmark and protocol, or else on any other of this model."""
        if placed is None:
            return None, ""
        of_model = [one for one in self._speeds if one[:2] == (placed.model, placed.backend) and one[4] >= _ENOUGH]
        same = [one for one in of_model if one[2:4] == (bench, protocol)]
        found = same or of_model
        answers, seconds = sum(one[4] for one in found), sum(one[5] for one in found)
        return (seconds / answers, found[-1][2]) if answers else (None, "")


def is_somewhere(model: str) -> bool:
    """Whether a model's name can be right on another machine or day: a Hub id, a short name, a server.

    A path that is not there and a name that nobody knows are faults of the file.
    """
    import os

    from twlocal import registry

    name, _, _ = models.name_parts(model)
    return "://" in model or models.is_hub_id(model) or registry.load(os.environ).find(name) is not None


def to_fetch(forecasts: Iterable[Forecast]) -> tuple[int, bool]:
    """Bytes to fetch in all, each file once, and whether some are not known."""
    sizes: dict[tuple[str, tuple[str, ...]], int | None] = {}
    for one in forecasts:
        if one.placed is not None and one.placed.repository is not None and one.left != 0:
            sizes[one.placed.repository.name, one.placed.names] = one.placed.absent
    return sum(size for size in sizes.values() if size is not None), None in sizes.values()


def _once(around: Surroundings) -> Any:
    """The machine, asked only once."""
    found: Mapping[str, Any] = {}

    def look(known: Any) -> Any:
        nonlocal found
        if not found:
            from twlocal import placing

            asked = around.look or (lambda registry: placing.this_machine(registry, around.environ))
            found = {"here": asked(known)}
        return found["here"]

    return look
