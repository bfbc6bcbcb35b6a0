"""The main job, from a wish to stored answers: find the model, load and sample the questions, plan, hold, run."""

from __future__ import annotations

import math
import os
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twlocal import backend as backends
from twlocal import dataset, garbage, machine, models, placing, plan, protocol, runner, sample
from twlocal.backend import Backend, BackendModule
from twlocal.errors import DatasetError, UsageError
from twlocal.isolate import Isolated
from twlocal.item import clean
from twlocal.lock import held

if TYPE_CHECKING:
    from twlocal.dataset import Dataset
    from twlocal.placing import Decided, Look
    from twlocal.runs import RunRow, Runs

DEFAULT_MAX_TOKENS = 4096


@dataclass(frozen=True)
class Surroundings:
    """What comes from outside the call: environment, clock, process, machine, and how to tell of slow steps.

    look: how the machine and its engines are known, where an engine must be chosen; None asks this machine. decided:
    hears of the choice, before anything is fetched. note: hears of what takes long.
    """

    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    hashing: Callable[[int], None] = lambda read: None  # called with bytes read while weights are hashed
    look: Look | None = None
    decided: Decided = lambda route, machine: None
    note: Callable[[str], None] = lambda line: None

    @property
    def token(self) -> str | None:
        """The Hub token, if there is one. It is never stored."""
        return self.environ.get("HF_TOKEN") or None


@dataclass(frozen=True)
class Prepared:
    """A planned run and the questions it was drawn from.

    `withdrawn` were drawn and are not asked; `since` are asked, and were withdrawn after the run began.
    """

    plan: plan.Plan
    questions: Dataset
    withdrawn: int = 0
    since: int = 0

    def told(self) -> list[str]:
        """What a person should hear about rows that are drawn and not scored, a line each."""
        lines = []
        if self.withdrawn:
            asked = len(self.plan.rows)
            lines.append(f"{asked + self.withdrawn:,} drawn, {self.withdrawn:,} withdrawn, {asked:,} asked")
        if self.since:
            lines.append(
                f"{self.since:,} of them were withdrawn after this run began: it keeps the list it began with, "
                "and its report leaves them out"
            )
        return lines


def prepare(wish: plan.Wish, runs: Runs, around: Surroundings, *, withdrawn: frozenset[str] | None = None) -> Prepared:
    """Find, load, draw and plan; nothing is asked and nothing but weight hashes is stored.

    `withdrawn` are the content hashes of the drawn rows that are not asked. None takes the dataset's list, or the
    earlier list of a run that is there already: a run that was begun goes on, whatever is withdrawn meanwhile.

    Raises UsageError and its children: a wrong call is told before a model is loaded.
    """
    with garbage.paused():
        return _prepare(wish, runs, around, withdrawn)


def _prepare(wish: plan.Wish, runs: Runs, around: Surroundings, pinned: frozenset[str] | None) -> Prepared:
    if wish.repeats < 1:
        raise UsageError("--repeats must be 1 or more")
    if wish.max_tokens is not None and wish.max_tokens < 1:
        raise UsageError("--max-tokens must be 1 or more")
    wish = settled(wish)
    rules = rules_of(wish)
    before = runs.begun(wish)
    began_on = before.backend if before else ""
    placed, module = place(wish, around, max_tokens=rules.decoding.max_tokens, earlier=began_on, gpus=_gpus(wish))
    backend = placed.backend
    if not module.ISOLATE and (warm := getattr(module, "warm", None)):
        # Half of what an import takes is spent outside Python's lock: it costs nothing beside the reading of questions.
        threading.Thread(target=warm, name="twlocal-warm").start()
    questions = dataset.load(wish.bench, private=wish.private, token=around.token, **wish.data)
    drawn = draw(questions, wish)
    _not_shown(drawn, rules)
    # What is wrong with the questions is told before the weights are fetched.
    model = placed.fetch()
    fingerprint = models.fingerprint(
        model.weights, known=runs.known_hash, remember=runs.remember_hash, progress=around.hashing
    )

    def planned(left_out: frozenset[str]) -> tuple[plan.Plan, int]:
        asked, removed = sample.remove(drawn, left_out)
        if not asked:
            raise DatasetError(f"every row drawn from {questions.name} is withdrawn", hint="see its withdrawn.jsonl")
        made = plan.make(
            wish,
            model=model,
            backend=backend,
            answering=module.ANSWERING,
            model_fingerprint=fingerprint,
            protocol=rules,
            bench={
                "name": questions.name,
                "revision": questions.revision,
                "fingerprint": questions.fingerprint,
                "rows": len(questions.items),
                "rejected": len(questions.rejected),
            },
            drawn=asked,
            withdrawn=removed,
            machine=machine.describe() | ({"route": placed.as_json()} if placed.route is not None else {}),
        )
        return made, len(removed)

    now = frozenset(questions.withdrawn)
    made, removed = planned(now if pinned is None else pinned)
    if pinned is None and now and runs.find(made.key) is None:
        earlier = _begun(runs, made, drawn, now)
        if earlier is not None:
            made, removed = planned(earlier)
    return Prepared(made, questions, removed, sum(row.item.content_hash in now for row in made.rows))


def settled(wish: plan.Wish) -> plan.Wish:
    """The wish as its run will have it."""
    bench = dataset.bench(wish.bench)
    # Questions that are not public are not to be kept in the clear because an option was forgotten.
    return replace(wish, private=True) if bench and bench.private else wish


def rules_of(wish: plan.Wish) -> protocol.Protocol:
    """The protocol of a wish with the budget of new tokens that it gives, or its benchmark's. Raises ProtocolError."""
    rules, bench = protocol.load(wish.protocol), dataset.bench(wish.bench)
    own = bench.max_tokens if bench else DEFAULT_MAX_TOKENS
    return rules.with_budget(wish.max_tokens or (None if rules.own_budget else own))


def engine(wish: plan.Wish, around: Surroundings) -> tuple[models.Model, str, BackendModule]:
    """The model a wish names, the backend that takes it, and that backend's module. Raises UsageError."""
    placed, module = place(wish, around, max_tokens=wish.max_tokens)
    return placed.fetch(), placed.backend, module


def place(
    wish: plan.Wish, around: Surroundings, *, max_tokens: int | None, earlier: str = "", gpus: int | None = None
) -> tuple[placing.Placed, BackendModule]:
    """Where the model of a wish runs, and that backend's module; no weights are fetched. Raises UsageError.

    max_tokens: new tokens an answer may have. earlier: the engine on which the same wish began. gpus: at most so many.
    """
    asked = placing.Asked(
        wish.model, wish.backend, wish.settings, max_tokens, quantised=wish.quantised, earlier=earlier, gpus=gpus
    )
    look = around.look or (lambda registry: placing.this_machine(registry, around.environ))
    placed = placing.place(asked, placing.Outside(around.environ, around.token, look, around.decided, around.note))
    module = backends.load(placed.backend)
    if backends.spreader(module) is not None:
        raise UsageError(
            f"{placed.backend} spreads the work of another engine, and is not one",
            hint=f"twlocal run MODEL --backend {placed.backend}; other commands take the engine itself",
        )
    # Allowed for a model that goes to an engine which runs no code of a model's: then there is nothing to allow.
    idle = {placing.TRUST} if placed.route is not None and wish.backend is None else set()
    if unknown := sorted(set(wish.settings) - module.SETTINGS - idle):
        known = ", ".join(sorted(module.SETTINGS))
        raise UsageError(f"the backend {placed.backend} has no setting {unknown[0]!r}", hint=f"it has: {known}")
    if check := getattr(module, "check", None):
        check(wish.model, wish.settings)
    return placed, module


def _gpus(wish: plan.Wish) -> int | None:
    """Most cards that one engine has, where the wish says so."""
    share = wish.spread.get("gpus_per_actor")
    return math.ceil(share) if isinstance(share, int | float) and share > 0 else None


def _begun(runs: Runs, wanted: plan.Plan, drawn: list[Any], now: frozenset[str]) -> frozenset[str] | None:
    """The list of withdrawn rows that the newest run of this wish was begun with, if it has only grown since."""
    for row in reversed(runs.all()):
        if (row.model, row.backend) == (wanted.model.id, wanted.backend):
            manifest = runs.get(key=row.key).manifest
            earlier = plan.withdrawn_by(manifest)
            if earlier <= now and plan.same_but_sample(wanted.manifest, manifest):
                asked, _ = sample.remove(drawn, earlier)
                if plan.sample_hash(asked) == manifest["identity"]["sample"]:
                    return earlier
    return None


def _not_shown(drawn: list[Any], rules: protocol.Protocol) -> None:
    """Raise UsageError where a question that is asked is one of the protocol's worked examples, reply and all."""
    shown = {(clean(example.question), *sorted(map(clean, example.options))) for example in rules.examples}
    both = [item for item in drawn if shown and (item.question, *sorted(item.options)) in shown]
    if both:
        raise UsageError(
            f"{len(both)} of the questions stand among the worked examples of the protocol {rules.name}, with their "
            f"reply: {' '.join(both[0].question.split())[:40]}",
            hint="take them out of the protocol's examples, or out of the questions",
        )


def draw(questions: Dataset, wish: plan.Wish) -> list[Any]:
    """The rows that a wish draws, withdrawn ones among them: a manifest's, or a stratified sample, then the limit."""
    if wish.ids is not None:
        if wish.sample is not None:
            raise UsageError("--ids and --sample exclude each other: the manifest already is the sample")
        listed = sample.read_manifest(Path(wish.ids))
        drawn = sample.select(questions.items, replace(listed, rows=listed.rows + listed.withdrawn))
    else:
        drawn = list(sample.draw(questions.items, wish.sample))
    if wish.limit is not None:
        drawn = list(sample.limit(drawn, wish.limit))
    if not drawn:
        raise DatasetError(f"{questions.name} gives no question to ask", hint="look at the file, --limit and --ids")
    return drawn


def run(
    prepared: Prepared,
    runs: Runs,
    database: Path,
    around: Surroundings,
    *,
    stop: runner.Stop,
    watcher: runner.Watcher,
    retry_failed: bool = False,
) -> runner.Outcome:
    """Answer what is left of a prepared run, holding it against other processes."""
    return answer(prepared.plan, runs, database, around, stop=stop, watcher=watcher, retry_failed=retry_failed)


def answer(
    planned: plan.Plan,
    runs: Runs,
    database: Path,
    around: Surroundings,
    *,
    stop: runner.Stop,
    watcher: runner.Watcher,
    retry_failed: bool = False,
) -> runner.Outcome:
    """Answer what is left of a plan, holding it against other processes."""
    with held(database, runs, planned.key):
        if retry_failed:
            runs.forget_failures(planned.key)
        here = runner.Here(
            pid=os.getpid(), host=socket.gethostname(), machine=planned.manifest["machine"], now=around.now
        )
        return runner.run(runs, planned, _opener(planned), here=here, stop=stop, watcher=watcher)


def _opener(planned: plan.Plan) -> runner.OpenBackend:
    def open_backend(prior: Mapping[str, int], on_death: Callable[[str, str], None]) -> Backend:
        module = backends.load(planned.backend)
        decoding = planned.protocol.decoding
        settings = {name: value for name, value in planned.settings.items() if name in module.SETTINGS}
        name = planned.backend
        if planned.wish.spread:
            settings = {**settings, **planned.wish.spread, "engine": name}
            module = backends.load(name := settings.pop("backend"))
        if module.ISOLATE:
            return Isolated(
                name,
                planned.model.source,
                decoding,
                settings,
                prior=prior,
                on_death=on_death,
                close_seconds=getattr(module, "CLOSE_SECONDS", 0.0),
            )
        return module.open(planned.model.source, decoding, settings)

    return open_backend


def last_unfinished(runs: Runs, name: str | None) -> RunRow | None:
    """The run that `resume` goes on with; None where every run is complete. Raises UsageError where there is no run."""
    if name is not None:
        return runs.get(name)
    unfinished = runs.unfinished()
    if not unfinished:
        runs.get()  # says so where there is no run at all
        return None
    return unfinished[0]
