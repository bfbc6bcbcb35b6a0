"""Asking a model, for a stage: the same backends, store, resume and sittings as the main job.

What a stage asks is a run (`runs.stage` says which stage), its prompts are the run's items. Every response is stored
whole, under the prompt's hash; what a stage reads out of it is a view that can be made again.

An asker is a model with everything that could change its answer, but for what it is asked: so a prompt that it has
answered once is never asked again, whichever run that was.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from twlocal import evaluate, machine, models, plan, runner
from twlocal.evaluate import Surroundings
from twlocal.formosa.prompts import Prompt
from twlocal.item import Item, content_hash
from twlocal.record import Record
from twlocal.runs import Runs

# The setting with which a backend takes a JSON schema, where it can hold its model to one.
SCHEMA = "json_schema"
COMPLETE, INCOMPLETE, INTERRUPTED = "complete", "incomplete", "interrupted"
_NO_OPTIONS = ("", "", "", "")


@dataclass(frozen=True)
class Desk:
    """Where a stage asks: the store, the surroundings, who may stop it and who hears of progress."""

    runs: Runs
    database: Path
    around: Surroundings
    stop: runner.Stop
    watcher: runner.Watcher
    retry_failed: bool = False


@dataclass(frozen=True)
class Asker:
    """A model under a prompt. `name` is for people: the model's, and the beginning of the key."""

    stage: str
    key: str
    name: str
    identity: Mapping[str, Any]
    wish: plan.Wish
    prompt: Prompt
    engine: tuple[models.Model, str, frozenset[str], str]  # model, backend, its answering settings, fingerprint


@dataclass(frozen=True)
class Answers:
    """What an asker has answered of what was wanted, by the prompt's hash. `left` prompts have no answer."""

    asker: Asker
    state: str
    records: Mapping[str, Record]
    left: int

    def of(self, text: str) -> Record | None:
        """The response to this user message."""
        return self.records.get(prompt_hash(text))


def prompt_hash(text: str) -> str:
    """Under which a user message and its response are found: the content hash of an item without options."""
    return content_hash(text, _NO_OPTIONS, "")


def asker(
    stage: str, wish: plan.Wish, prompt: Prompt, runs: Runs, around: Surroundings, *, schema: bool = True
) -> Asker:
    """Who is going to be asked. Of the wish count model, backend, settings and max_tokens.

    schema: hold the model to the prompt's JSON schema, where the backend can. Raises UsageError and its children.
    """
    model, backend, module = evaluate.engine(wish, around)
    if schema and SCHEMA in module.SETTINGS and SCHEMA not in wish.settings:
        wish = replace(wish, settings={**wish.settings, SCHEMA: dict(prompt.schema)})
    wish = replace(wish, bench=prompt.protocol.name, protocol=prompt.protocol.name)
    prompt = replace(prompt, protocol=prompt.protocol.with_budget(wish.max_tokens))
    fingerprint = models.fingerprint(
        model.weights, known=runs.known_hash, remember=runs.remember_hash, progress=around.hashing
    )
    engine = (model, backend, frozenset(module.ANSWERING), fingerprint)
    identity = dict(_plan(wish, prompt, engine, ()).manifest["identity"])
    for what in ("dataset", "sample"):
        del identity[what]
    identity["body"] = hashlib.sha256(prompt.body.encode("utf-8")).hexdigest()
    key = hashlib.sha256(json.dumps([stage, identity], ensure_ascii=False, sort_keys=True).encode("utf-8")).hexdigest()
    return Asker(stage, key, f"{model.id}@{key[:8]}", identity, wish, prompt, engine)


def ask(who: Asker, texts: Iterable[str], desk: Desk) -> Answers:
    """Ask what of these user messages has no answer from this asker yet. Stopped anywhere, the same call goes on.

    Raises TwlocalError where asking had to stop; what was stored stays.
    """
    wanted = {prompt_hash(text): text for text in texts}
    missing = wanted.keys() - _records(who, desk.runs).keys()
    state = COMPLETE
    # What was begun goes on as the run that it is, if all that is left of it is wanted and was not answered elsewhere.
    for run in desk.runs.asked_by(who.key):
        if run.complete or state == INTERRUPTED:
            continue
        begun = desk.runs.planned_texts(run.id)
        left = begun.keys() - {record.content_hash for record in desk.runs.records(run.id)}
        if left and left <= missing:
            state = _answer(who, begun.values(), desk)
            missing -= left
    if missing and state != INTERRUPTED:
        state = _answer(who, [wanted[digest] for digest in missing], desk)
    found = answered(who, wanted.values(), desk.runs)
    return replace(found, state=INTERRUPTED) if found.left and state == INTERRUPTED else found


def answered(who: Asker, texts: Iterable[str], runs: Runs) -> Answers:
    """What this asker has answered of these user messages; nothing is asked."""
    wanted = {prompt_hash(text) for text in texts}
    found = {digest: record for digest, record in _records(who, runs).items() if digest in wanted}
    return Answers(who, COMPLETE if len(found) == len(wanted) else INCOMPLETE, found, len(wanted) - len(found))


def _records(who: Asker, runs: Runs) -> dict[str, Record]:
    found: dict[str, Record] = {}
    for run in runs.asked_by(who.key):
        for record in runs.records(run.id):
            found.setdefault(record.content_hash, record)
    return found


def _answer(who: Asker, texts: Iterable[str], desk: Desk) -> str:
    items = [Item(text, _NO_OPTIONS, "") for text in texts]
    planned = replace(_plan(who.wish, who.prompt, who.engine, items), stage=who.stage, asker=who.key)
    outcome = evaluate.answer(
        planned,
        desk.runs,
        desk.database,
        desk.around,
        stop=desk.stop,
        watcher=desk.watcher,
        retry_failed=desk.retry_failed,
    )
    return outcome.state


def _plan(
    wish: plan.Wish,
    prompt: Prompt,
    engine: tuple[models.Model, str, frozenset[str], str],
    items: Iterable[Item],
) -> plan.Plan:
    model, backend, answering, fingerprint = engine
    drawn = list(items)
    asked = hashlib.sha256("\n".join(sorted(item.content_hash for item in drawn)).encode("ascii")).hexdigest()
    bench = {"name": prompt.protocol.name, "revision": "", "fingerprint": asked, "rows": len(drawn), "rejected": 0}
    return plan.make(
        wish,
        model=model,
        backend=backend,
        answering=answering,
        model_fingerprint=fingerprint,
        protocol=prompt.protocol,
        bench=bench,
        drawn=drawn,
        machine=machine.describe(),
    )
