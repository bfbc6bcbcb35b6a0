"""The main job, from a wish to stored answers: find the model, load and sample the questions, plan, hold, run."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twlocal import backend as backends
from twlocal import dataset, garbage, machine, models, plan, protocol, runner, sample
from twlocal.backend import Backend
from twlocal.errors import DatasetError, UsageError
from twlocal.isolate import Isolated
from twlocal.lock import held

if TYPE_CHECKING:
    from twlocal.dataset import Dataset
    from twlocal.runs import RunRow, Runs

DEFAULT_MAX_TOKENS = 4096


@dataclass(frozen=True)
class Surroundings:
    """What comes from outside the call: environment, clock, process, and how to tell of slow steps."""

    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    hashing: Callable[[int], None] = lambda read: None  # called with bytes read while weights are hashed

    @property
    def token(self) -> str | None:
        """The Hub token, if there is one. It is never stored."""
        return self.environ.get("HF_TOKEN") or None


@dataclass(frozen=True)
class Prepared:
    """A planned run and the questions it was drawn from."""

    plan: plan.Plan
    questions: Dataset


def prepare(wish: plan.Wish, runs: Runs, around: Surroundings) -> Prepared:
    """Find, load, draw and plan; nothing is asked and nothing but weight hashes is stored.

    Raises UsageError and its children: a wrong call is told before a model is loaded.
    """
    with garbage.paused():
        return _prepare(wish, runs, around)


def _prepare(wish: plan.Wish, runs: Runs, around: Surroundings) -> Prepared:
    if wish.repeats < 1:
        raise UsageError("--repeats must be 1 or more")
    if wish.max_tokens is not None and wish.max_tokens < 1:
        raise UsageError("--max-tokens must be 1 or more")
    known_bench = dataset.bench(wish.bench)
    if known_bench and known_bench.private:
        # Its questions are not public: they are not to be kept in the clear because an option was forgotten.
        wish = replace(wish, private=True)
    rules = protocol.load(wish.protocol)
    model = models.resolve(wish.model, backend=wish.backend, token=around.token)
    backend = wish.backend or model.backend
    module = backends.load(backend)
    unknown = sorted(set(wish.settings) - module.SETTINGS)
    if unknown:
        known = ", ".join(sorted(module.SETTINGS))
        raise UsageError(f"the backend {backend} has no setting {unknown[0]!r}", hint=f"it has: {known}")
    if not module.ISOLATE and (warm := getattr(module, "warm", None)):
        # Half of what an import takes is spent outside Python's lock: it costs nothing beside the reading of questions.
        threading.Thread(target=warm, name="twlocal-warm").start()
    questions = dataset.load(wish.bench, private=wish.private, token=around.token, **wish.data)
    drawn = draw(questions, wish)
    budget = wish.max_tokens or (
        None if rules.own_budget else known_bench.max_tokens if known_bench else DEFAULT_MAX_TOKENS
    )
    rules = rules.with_budget(budget)
    fingerprint = models.fingerprint(
        model.weights, known=runs.known_hash, remember=runs.remember_hash, progress=around.hashing
    )
    planned = plan.make(
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
        drawn=drawn,
        machine=machine.describe(),
    )
    return Prepared(planned, questions)


def draw(questions: Dataset, wish: plan.Wish) -> list[Any]:
    """The rows of a dataset that a wish asks for: those of a manifest, or a stratified sample, then the limit."""
    if wish.ids is not None:
        if wish.sample is not None:
            raise UsageError("--ids and --sample exclude each other: the manifest already is the sample")
        drawn = list(sample.select(questions.items, sample.read_manifest(Path(wish.ids))))
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
    planned = prepared.plan
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
        decoding, settings = planned.protocol.decoding, dict(planned.wish.settings)
        if module.ISOLATE:
            return Isolated(planned.backend, planned.model.source, decoding, settings, prior=prior, on_death=on_death)
        return module.open(planned.model.source, decoding, settings)

    return open_backend


def last_unfinished(runs: Runs, name: str | None) -> RunRow:
    """The run that `resume` goes on with. Raises UsageError where there is none."""
    if name is not None:
        return runs.get(name)
    unfinished = runs.unfinished()
    if not unfinished:
        runs.get()  # says so where there is no run at all
        raise UsageError(
            "every run in the database is complete", hint="twlocal runs lists them; twlocal run starts one"
        )
    return unfinished[0]
