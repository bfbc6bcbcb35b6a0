"""The backend itself: requests → prompts → batch → completions."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from twlocal import box_stop, folder
from twlocal.backend import (
    CUT,
    FINISH_LENGTH,
    FINISH_STOP,
    FINISH_UNKNOWN,
    Backend,
    Completion,
    Decoding,
    EngineInfo,
    Request,
)
from twlocal.backends.mlx import library, memory
from twlocal.backends.mlx.model import Model
from twlocal.backends.mlx.prefix import STEP, Prefixes
from twlocal.backends.mlx.sampling import greedy, nucleus
from twlocal.backends.mlx.settings import NATIVE, Settings, parse
from twlocal.chat import ChatTemplate, required_template
from twlocal.errors import BackendError, UsageError
from twlocal.prompting import Intake, Prompt, Prompter

SLOTS = 16
_PREFILL = 8  # prompts read at once, at most
_FINISH = {"stop": FINISH_STOP, "length": FINISH_LENGTH}
_READER = folder.Reader("mlx", library.PACKAGE, "model*.safetensors")


def load(model: str, decoding: Decoding, given: Mapping[str, Any]) -> Backend:
    """See `twlocal.backends.mlx.open`."""
    settings = parse(given)
    found = folder.read(model, _READER, trust_remote_code=settings.trust_remote_code)
    api = library.load()
    limit = memory.working_set(api.core)
    dtype = settings.dtype or (NATIVE if limit is not None or found.quantisation is not None else "float32")
    shown = found.dtype if dtype == NATIVE else dtype
    weights = found.bytes_as(shown)
    machine = api.core.device_info().get("memory_size")
    memory.check(weights, limit, int(machine) if machine else None)
    cache = memory.bound_cache(api.core, limit)
    loaded = Model(api, found, dtype=dtype, trust_remote_code=settings.trust_remote_code)
    facts = {
        "device": str(api.core.default_device()),
        "dtype": shown,
        "blas": library.blas(),
        "trust_remote_code": settings.trust_remote_code,
        "cache_limit": cache,
        "working_set": limit,
        "weight_bytes": weights,
    }
    # Slots that the user has set are taken as they are; the default waits for room.
    room = memory.token_room(weights, limit, found.token_bytes(shown)) if settings.slots is None else None
    return Mlx(loaded, decoding, settings, facts=facts, room=room)


@dataclass(slots=True)
class _Job:
    """One answer in the making: its prompt, when it was begun (seconds), and the ids that it has so far."""

    prompt: Prompt
    started: float
    tokens: list[int] = field(default_factory=list)


class Mlx:
    """A checkpoint loaded into this process (see `twlocal.backend.Backend`).

    room: tokens of context that fit the memory in all, None where that is not known or not bounded.
    """

    def __init__(
        self,
        model: Model,
        decoding: Decoding,
        settings: Settings,
        *,
        facts: Mapping[str, Any],
        room: int | None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._model, self._decoding, self._settings, self._clock = model, decoding, settings, clock
        self._library, self._room = model.library, room
        self._slots = settings.slots if settings.slots is not None else SLOTS
        self._template = _template(model, settings)
        # Asked now, so that a template which cannot be used is refused before the first item.
        self._merges_system = not self._template.takes_system
        self._ends = model.vocabulary.ends(self._template)
        trained = model.folder.context
        if settings.context is not None and trained is not None and settings.context > trained:
            raise UsageError(
                f"the setting context is {settings.context}, but the model was trained for {trained} tokens",
                hint=f"at most {trained}; leave it out and it is as large as the run needs",
            )
        self._limit = trained if settings.context is None else settings.context
        self._prompter = Prompter(
            self._template,
            model.vocabulary.prompt,
            limit=self._limit,
            limited_by="the model has" if settings.context is None else "the setting context allows",
        )
        self._prefixes = Prefixes(self._library, model.network)
        self._greedy = greedy(self._library)
        self._facts = dict(facts)

    def describe(self) -> EngineInfo:
        """What runs; `prefix_tokens` is 0 until the first prompt has been seen."""
        decoding, settings, model = self._decoding, self._settings, self._model
        sampled = {"sampler": "nucleus", "seed": settings.seed} if decoding.temperature > 0 else {"sampler": "greedy"}
        return EngineInfo(
            engine="mlx",
            version=f"{library.PACKAGE} {library.installed()}, mlx {library.installed('mlx')}",
            settings={
                "slots": self._slots,
                "context": self._limit,
                "prefix_tokens": self._prefixes.tokens,
                "prefill_step": STEP,
                "template_variables": dict(settings.template_variables),
                "template_day": settings.template_day.date().isoformat(),
                **self._facts,
            },
            sent={
                "temperature": decoding.temperature,
                "top_p": decoding.top_p,
                "max_tokens": decoding.max_tokens,
                "end_tokens": sorted(self._ends),
                **sampled,
                **({"stop_at_box": True} if settings.stop_at_box else {}),
            },
            model={
                **model.folder.describe(),
                "chat_template_sha256": self._template.sha256,
                "chat_template_from": "setting" if settings.chat_template else "model",
                "merged_system": self._merges_system,
            },
            quantised=model.folder.quantisation is not None,
        )

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        """Answer requests, never holding more of them than there are slots (see `twlocal.backend.Backend`)."""
        intake = Intake(requests, self._prompter, self._slots)
        jobs: dict[int, _Job] = {}
        batch = self._batch()
        try:
            while True:
                yield from intake.pull(len(jobs))
                while intake.waiting and self._fits(intake.waiting[0], jobs):
                    self._start(batch, intake.waiting.popleft(), jobs)
                if not jobs:
                    return
                yield from self._step(batch, jobs)
        finally:
            batch.remove(list(jobs))
            batch.close()
            self._library.core.clear_cache()

    def close(self) -> None:
        """Give the memory back; safe to call twice."""
        self._prefixes.close()
        self._model.network = None
        self._library.core.clear_cache()

    def _batch(self) -> Any:
        return self._library.BatchGenerator(
            self._model.network,
            stop_tokens=[[token] for token in sorted(self._ends)],
            sampler=self._greedy,
            completion_batch_size=self._slots,
            prefill_batch_size=min(self._slots, _PREFILL),
            prefill_step_size=STEP,
        )

    def _fits(self, prompt: Prompt, jobs: Mapping[int, _Job]) -> bool:
        """Whether memory has room for one more: a batch holds as many tokens for each as its longest one needs."""
        if self._room is None or not jobs:
            return True
        longest = max(prompt.need, *(job.prompt.need for job in jobs.values()))
        return longest * (len(jobs) + 1) <= self._room

    def _start(self, batch: Any, prompt: Prompt, jobs: dict[int, _Job]) -> None:
        started = self._clock()
        request, shared = prompt.request, prompt.shared
        sampler = self._greedy
        if self._decoding.temperature > 0:
            sampler = nucleus(self._library, self._decoding, seed=self._settings.seed, key=request.key)
        (number,) = batch.insert(
            [prompt.tokens[shared:]],
            max_tokens=[request.max_tokens],
            caches=[self._prefixes.cache(prompt.tokens[:shared])],
            samplers=[sampler],
        )
        jobs[number] = _Job(prompt, started)

    def _step(self, batch: Any, jobs: dict[int, _Job]) -> Iterator[Completion]:
        """One token for every answer in the making; the completions of those that it finished."""
        responses = batch.next_generated()
        if not responses:
            raise BackendError(f"mlx-lm stopped with {len(jobs)} answers unfinished")
        finished = []
        for response in responses:
            job = jobs[response.uid]
            job.tokens.append(response.token)
            if response.finish_reason is not None:
                del jobs[response.uid]
                finished.append(self._completion(job, response))
            elif self._settings.stop_at_box and self._model.vocabulary.boxed(job.tokens, job.prompt.opened):
                batch.remove([response.uid])
                del jobs[response.uid]
                finished.append(self._completion(job, response, stopped=True))
        if finished:
            # What an item has left behind would otherwise gather over thousands of them.
            del response, responses
            self._library.core.clear_cache()
        yield from finished

    def _completion(self, job: _Job, response: Any, *, stopped: bool = False) -> Completion:
        prompt = job.prompt
        finish = FINISH_STOP if stopped else _FINISH.get(response.finish_reason, FINISH_UNKNOWN)
        # What is not a number stays so to the answer's end: one look at its last token is enough.
        sound = math.isfinite(float(response.logprobs[response.token]))
        return Completion(
            prompt.request.key,
            text=self._model.vocabulary.text(job.tokens[:-1] if finish == FINISH_STOP and not stopped else job.tokens),
            prompt_tokens=len(prompt.tokens),
            completion_tokens=len(job.tokens),
            latency=self._clock() - job.started,
            prompt_hash=prompt.sha256,
            finish=finish if sound else FINISH_UNKNOWN,
            flags=(box_stop.FLAG,) if stopped else (),
            error_kind="" if sound else CUT,
            error="" if sound else f"the model's output is not a number after {len(job.tokens)} tokens",
        )


def _template(model: Model, settings: Settings) -> ChatTemplate:
    return ChatTemplate(
        required_template(settings.chat_template, model.tokenizer.chat_template),
        bos_token=model.vocabulary.bos_token,
        eos_token=model.vocabulary.eos_token,
        variables=settings.template_variables,
        now=settings.template_day,
    )
