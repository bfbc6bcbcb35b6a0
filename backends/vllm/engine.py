"""The backend itself: requests → prompts → engine → completions."""

from __future__ import annotations

import hashlib
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from twlocal import box_stop, checkpoint, fit, folder, hardware, registry
from twlocal.backend import (
    CUT,
    FINISH_LENGTH,
    FINISH_STOP,
    FINISH_UNKNOWN,
    SERVER,
    TOO_LONG,
    Backend,
    Completion,
    Decoding,
    EngineInfo,
    Request,
)
from twlocal.backends.vllm import context, layout, library
from twlocal.backends.vllm.core import Core, Output
from twlocal.backends.vllm.settings import Settings, parse
from twlocal.chat import ChatTemplate, required_template
from twlocal.errors import EngineDied, ModelError, UsageError
from twlocal.folder import Folder
from twlocal.hardware import Hardware
from twlocal.prompting import Intake, Prompt, Prompter
from twlocal.vocabulary import Vocabulary

_FINISH = {"stop": FINISH_STOP, "length": FINISH_LENGTH}
_READER = folder.Reader("vllm", "vLLM", "*.safetensors")
_SETTLING_SECONDS, _SETTLED = 2.0, 256 << 20


def load(model: str, decoding: Decoding, given: Mapping[str, Any]) -> Backend:
    """See `twlocal.backends.vllm.open`."""
    settings = parse(given)
    found = folder.read(model, _READER, trust_remote_code=settings.trust_remote_code)
    here = library.installed()
    limit = found.context if settings.context is None else settings.context
    if settings.context is not None and found.context is not None and settings.context > found.context:
        raise UsageError(
            f"the setting context is {settings.context}, but the model was trained for {found.context} tokens",
            hint=f"at most {found.context}; leave it out and it is as large as the run needs",
        )
    # A context that the user has set is made at once, as large as it may get.
    told = settings.max_model_len if settings.context is None else settings.context
    length = context.first(decoding.max_tokens, told=told, limit=limit, switch=context.switch(found.text))
    known = checkpoint.read(Path(model), registry.load(os.environ))
    machine = _settled(lambda: hardware.from_recording(hardware.probe(Path(model), os.environ)))
    laid = layout.decide(known, machine, here, settings, budget=decoding.max_tokens, context=length)
    library.prepare(os.environ, threads=settings.threads, cards=laid.cards)
    library.keep_locks_unnamed()
    api = library.load()
    try:
        tokenizer = api.load_tokenizer(model, trust_remote_code=settings.trust_remote_code)
    except Exception as error:  # its files decide what comes up
        raise ModelError(
            f"the tokenizer of {found.path.name} cannot be loaded: {type(error).__name__}: {error}",
            hint="fetch the whole checkpoint; tokenizer.json and tokenizer_config.json belong to it",
        ) from error
    ends = {*found.ends, *([tokenizer.eos_token_id] if tokenizer.eos_token_id is not None else [])}
    vocabulary = Vocabulary(tokenizer, ends)
    template = ChatTemplate(
        required_template(settings.chat_template, tokenizer.chat_template),
        bos_token=vocabulary.bos_token,
        eos_token=vocabulary.eos_token,
        variables=settings.template_variables,
        now=settings.template_day,
    )
    start = partial(
        Core,
        api,
        found.path,
        laid,
        seed=settings.seed,
        multimodal=any(name in found.config for name in ("vision_config", "audio_config")),
        trust_remote_code=settings.trust_remote_code,
        watched=settings.stop_at_box,
        form=library.held_to(api, settings.json_schema) if settings.json_schema is not None else None,
    )
    facts = {**layout.facts(laid), "dtype": laid.dtype or found.dtype, "trust_remote_code": settings.trust_remote_code}
    return Vllm(start, found, vocabulary, template, decoding, settings, release=api.version, slots=laid.slots,
                limit=limit, length=length, facts=facts)  # fmt: skip


def _settled(look: Callable[[], Hardware], *, sleep: Callable[[float], None] = time.sleep) -> Hardware:
    """This machine, once its cards give no more memory back: what an engine that died held takes a moment."""
    machine = look()
    while not all(fit.is_idle(gpu) for gpu in machine.gpus):
        before = sum(gpu.free or 0 for gpu in machine.gpus)
        sleep(_SETTLING_SECONDS)
        machine = look()
        if sum(gpu.free or 0 for gpu in machine.gpus) <= before + _SETTLED:
            break
    return machine


@dataclass(slots=True)
class _Job:
    """One answer in the making: its prompt, and when it was begun (seconds)."""

    prompt: Prompt
    started: float


class Vllm:
    """A checkpoint in vLLM (see `twlocal.backend.Backend`).

    start: makes a Core for so many tokens. limit: most tokens of a prompt and its answer, None where nothing says it.
    length: tokens that it is started for at first.
    """

    def __init__(
        self,
        start: Callable[..., Core],
        found: Folder,
        vocabulary: Vocabulary,
        template: ChatTemplate,
        decoding: Decoding,
        settings: Settings,
        *,
        release: str,
        slots: int,
        limit: int | None,
        length: int,
        facts: Mapping[str, Any],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._start, self._folder, self._vocabulary, self._template = start, found, vocabulary, template
        self._decoding, self._settings, self._clock = decoding, settings, clock
        self._release, self._slots, self._limit, self._facts = release, slots, limit, dict(facts)
        # Asked now, so that a template which cannot be used is refused before the weights are loaded.
        self._merges_system = not template.takes_system
        self._ends = vocabulary.ends(template)
        self._prompter = Prompter(
            template,
            vocabulary.prompt,
            limit=limit,
            limited_by="the model has" if settings.context is None else "the setting context allows",
        )
        self._asked = 0
        self._wanted = length
        self._core: Core | None = start(context=length, exact=settings.context is not None)

    def describe(self) -> EngineInfo:
        """What runs; `context` is what the engine is started for, and grows where a prompt needs more."""
        decoding, settings, core = self._decoding, self._settings, self._core
        length = core.context if core is not None else self._wanted
        sampled = {"sampler": "nucleus", "seed": settings.seed} if decoding.temperature > 0 else {"sampler": "greedy"}
        return EngineInfo(
            engine="vllm",
            version=self._release,
            settings={
                **self._facts,
                "context": length,
                "cache_tokens": core.cache_tokens if core is not None else None,
                "prefix_caching": True,
                "threads": settings.threads,
                "template_variables": dict(settings.template_variables),
                "template_day": settings.template_day.date().isoformat(),
            },
            sent={
                "temperature": decoding.temperature,
                "top_p": decoding.top_p,
                "max_tokens": decoding.max_tokens,
                "top_k": 0,
                "min_p": 0.0,
                "repetition_penalty": 1.0,
                "presence_penalty": 0.0,
                "frequency_penalty": 0.0,
                "end_tokens": sorted(self._ends),
                **sampled,
                **({"stop_at_box": True} if settings.stop_at_box else {}),
            },
            model={
                **self._folder.describe(),
                "chat_template_sha256": self._template.sha256,
                "chat_template_from": "setting" if settings.chat_template else "model",
                "merged_system": self._merges_system,
                # Which of its two rotations a LongRoPE model has, by the context: no run may have both.
                **({"long_rope": length > switch} if (switch := context.switch(self._folder.text)) else {}),
            },
            quantised=self._folder.quantisation is not None,
        )

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        """Answer requests, never holding more of them than there are slots (see `twlocal.backend.Backend`).

        Raises EngineDied where vLLM fails; the next call starts it again.
        """
        intake = Intake(requests, self._prompter, self._slots)
        jobs: dict[str, _Job] = {}
        try:
            while True:
                yield from intake.pull(len(jobs))
                yield from self._admit(intake.waiting, jobs)
                if not jobs:
                    if intake.waiting or not intake.ended:
                        continue
                    return
                yield from self._step(jobs)
        except EngineDied:
            self._drop()
            jobs.clear()
            raise
        finally:
            if self._core is not None:
                self._core.abort(list(jobs))

    def close(self) -> None:
        """Give the memory back; safe to call twice."""
        self._drop()

    def _drop(self) -> None:
        core, self._core = self._core, None
        if core is not None:
            core.close()

    def _started(self) -> Core:
        if self._core is None:
            self._core = self._start(context=self._wanted, exact=self._settings.context is not None)
        return self._core

    def _admit(self, waiting: deque[Prompt], jobs: dict[str, _Job]) -> Iterator[Completion]:
        """Start what waits, in order. What needs a larger context waits until nothing is being answered."""
        while waiting:
            core, prompt = self._started(), waiting[0]
            if prompt.need > core.context:
                if core.context < self._wanted:  # it was shrunk to what there is room for
                    yield _too_long(waiting.popleft(), core.context)
                    continue
                if jobs:
                    return
                longest = max(waiting, key=lambda one: one.need)
                self._wanted = context.grown(longest.need, longest.request.max_tokens, limit=self._limit)
                self._drop()
                continue
            waiting.popleft()
            number, started = str(self._asked), self._clock()
            self._asked += 1
            try:
                core.add(number, prompt.tokens, self._sampling(prompt.request))
            except ValueError as error:
                yield _failed(prompt, SERVER, f"vLLM does not take this request: {error}")
                continue
            jobs[number] = _Job(prompt, started)

    def _sampling(self, request: Request) -> dict[str, Any]:
        """All that decides how a token is drawn: nothing is left to a default of vLLM's or the model's."""
        decoding = self._decoding
        digest = hashlib.sha256(f"{self._settings.seed}\x1f{request.key}".encode()).digest()
        return {
            "temperature": decoding.temperature,
            "top_p": decoding.top_p,
            "top_k": 0,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
            # Of the request alone, so that a text does not depend on its neighbours; 63 bits are what torch takes.
            "seed": int.from_bytes(digest[:8], "big") >> 1 if decoding.temperature > 0 else None,
            "max_tokens": request.max_tokens,
            "stop_token_ids": sorted(self._ends),
        }

    def _step(self, jobs: dict[str, _Job]) -> Iterator[Completion]:
        """One step for every answer in the making; the completions of those that it finished."""
        core = self._started()
        for output in core.step():
            job = jobs[output.number]
            if output.finish:
                del jobs[output.number]
                yield self._completion(job, output)
            elif self._settings.stop_at_box and self._vocabulary.boxed(output.tokens, job.prompt.opened):
                core.abort([output.number])
                del jobs[output.number]
                yield self._completion(job, output, stopped=True)

    def _completion(self, job: _Job, output: Output, *, stopped: bool = False) -> Completion:
        prompt, tokens = job.prompt, output.tokens
        finish = FINISH_STOP if stopped else _FINISH.get(output.finish, FINISH_UNKNOWN)
        ended = finish == FINISH_STOP and bool(tokens) and tokens[-1] in self._ends
        return Completion(
            prompt.request.key,
            text=self._vocabulary.text(tokens[:-1] if ended else tokens),
            prompt_tokens=len(prompt.tokens),
            completion_tokens=len(tokens),
            latency=self._clock() - job.started,
            prompt_hash=prompt.sha256,
            finish=finish,
            flags=(box_stop.FLAG,) if stopped else (),
            error_kind=CUT if finish == FINISH_UNKNOWN else "",
            error=f"vLLM ended the answer for a reason of its own: {output.finish}" if finish == FINISH_UNKNOWN else "",
        )


def _too_long(prompt: Prompt, room: int) -> Completion:
    need, budget = prompt.need, prompt.request.max_tokens
    return _failed(
        prompt,
        TOO_LONG,
        f"needs {need} tokens ({need - budget} of prompt, {budget} of answer); memory has room for {room} here",
    )


def _failed(prompt: Prompt, kind: str, error: str) -> Completion:
    return Completion(
        prompt.request.key,
        prompt_tokens=len(prompt.tokens),
        prompt_hash=prompt.sha256,
        error_kind=kind,
        error=error,
    )
