"""The backend itself: requests → prompts → slots → completions."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from twlocal import box_stop
from twlocal.backend import CUT, FINISH_UNKNOWN, Backend, Completion, Decoding, EngineInfo, Request
from twlocal.backends.llama_cpp import cores, library
from twlocal.backends.llama_cpp.decoder import BATCH, Decoder, Job
from twlocal.backends.llama_cpp.grammar import of_schema
from twlocal.backends.llama_cpp.model import Model
from twlocal.backends.llama_cpp.sampling import greedy, sampler
from twlocal.backends.llama_cpp.settings import Settings, parse
from twlocal.chat import ChatTemplate, bos_ids, required_template
from twlocal.decode import text_of
from twlocal.errors import UsageError
from twlocal.prompting import Intake, Prompt, Prompter

_GPU_SLOTS = 8


def load(model: str, decoding: Decoding, given: Mapping[str, Any]) -> Backend:
    """See `twlocal.backends.llama_cpp.open`."""
    settings = parse(given)
    api = library.load()
    most_slots = min(int(api.llama_max_parallel_sequences()) - 1, BATCH)
    if settings.slots is not None and settings.slots > most_slots:
        raise UsageError(f"the setting slots is at most {most_slots} here, not {settings.slots}")
    offload, layers = _layers(settings.gpu_layers, able=bool(api.llama_supports_gpu_offload()))
    build = api.llama_print_system_info().decode("utf-8", errors="replace").strip(" |")
    # GCC drops the tile configuration from llama.cpp's AMX code, whose first matrix product then dies of an illegal
    # instruction (ggml-org/llama.cpp#26954): such a build is used without it unless told otherwise.
    repack = settings.repack if settings.repack is not None else "AMX_INT8 = 1" not in build
    loaded = Model(api, model, gpu_layers=layers, repack=repack)
    try:
        return LlamaCpp(loaded, decoding, settings, offload=offload, layers=layers, repack=repack, build=build)
    except BaseException:
        loaded.close()
        raise


def _layers(wanted: int | None, *, able: bool) -> tuple[bool, int]:
    """Whether to compute on a card, and with how many layers there (-1 for all). `able`: whether this build can.

    llama.cpp takes a number of layers that it cannot place for none, and the run would be slow without a word.
    """
    if not able and wanted is not None and wanted > 0:
        raise UsageError(
            f"the setting gpu_layers is {wanted}, and this llama-cpp-python computes on the CPU alone",
            hint="install a build with CUDA or Metal (CMAKE_ARGS=-DGGML_CUDA=on pip install --force-reinstall "
            "--no-binary llama-cpp-python llama-cpp-python), or leave it out",
        )
    offload = able and wanted != 0
    return offload, (-1 if wanted is None else wanted) if offload else 0


class LlamaCpp:
    """A GGUF model loaded into this process (see `twlocal.backend.Backend`)."""

    def __init__(
        self,
        model: Model,
        decoding: Decoding,
        settings: Settings,
        *,
        offload: bool,
        layers: int,
        repack: bool,
        build: str,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._model, self._decoding, self._settings, self._clock = model, decoding, settings, clock
        self._template = _template(model, settings)
        # Asked now, so that a template which cannot be used is refused before the first item.
        self._merges_system = not self._template.takes_system
        self._limit = model.context_trained if settings.context is None else settings.context
        if self._limit > model.context_trained:
            raise UsageError(
                f"the setting context is {self._limit}, but the model was trained for {model.context_trained} tokens",
                hint=f"at most {model.context_trained}; leave it out and it is as large as the run needs",
            )
        flash = settings.flash_attention
        kinds = {None: -1 if offload else 0, True: 1, False: 0}  # llama_flash_attn_type: -1 auto, 0 off, 1 on
        self._decoder = Decoder(
            model,
            slots=settings.slots if settings.slots is not None else (_GPU_SLOTS if offload else 1),
            threads=settings.threads if settings.threads is not None else cores.available(),
            flash_attention=kinds[flash],
            offload=offload,
            # A LongRoPE model computes otherwise above a certain context: above it from the start, so that no text
            # depends on what the first prompts needed.
            least=model.context_switch + 1 if 0 < model.context_switch < self._limit else 0,
        )
        self._facts = {
            "gpu_layers": layers,
            "flash_attention": {-1: "auto", 0: "off", 1: "on"}[kinds[flash]],
            "repack": repack,
            "build": build,
        }
        self._grammar = of_schema(settings.json_schema) if settings.json_schema is not None else None
        if self._grammar is not None:
            model.held(self._grammar, greedy)  # so that a grammar which cannot be used is refused before the first item
        self._prompter = Prompter(
            self._template,
            self._tokens,
            limit=self._limit,
            limited_by="the model has" if settings.context is None else "the setting context allows",
        )

    def describe(self) -> EngineInfo:
        """What runs; `n_ctx` and `prefix_tokens` are 0 until the first prompt has been seen."""
        decoder, decoding, template = self._decoder, self._decoding, self._template
        sampled = (
            {"sampler": "nucleus", "seed": self._settings.seed} if decoding.temperature > 0 else {"sampler": "greedy"}
        )
        return EngineInfo(
            engine="llama_cpp",
            version=f"{library.PACKAGE} {library.installed()}",
            settings={
                "slots": decoder.slots,
                "threads": decoder.threads,
                # Several slots share a step, and its width changes low bits; of a GPU nobody has proved it yet.
                "deterministic": decoder.slots == 1 and not self._facts["gpu_layers"],
                "context": self._limit,
                "n_ctx": decoder.cells,
                "n_batch": BATCH,
                "prefix_tokens": len(decoder.prefix),
                "template_variables": dict(self._settings.template_variables),
                "template_day": self._settings.template_day.date().isoformat(),
                **self._facts,
            },
            sent={
                "temperature": decoding.temperature,
                "top_p": decoding.top_p,
                "max_tokens": decoding.max_tokens,
                **sampled,
                **({"stop_at_box": True} if self._settings.stop_at_box else {}),
            },
            model={
                **self._model.describe(),
                "chat_template_sha256": template.sha256,
                "chat_template_from": "setting" if self._settings.chat_template else "model",
                "merged_system": self._merges_system,
                # Which of its two rotations a LongRoPE model has, by the context: no run may have both.
                **({"long_rope": self._limit > switch} if (switch := self._model.context_switch) else {}),
            },
            quantised=self._model.quantised,
        )

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        """Answer requests, never holding more of them than there are slots (see `twlocal.backend.Backend`)."""
        decoder = self._decoder
        intake = Intake(requests, self._prompter, decoder.slots)
        try:
            while True:
                yield from intake.pull(decoder.active)
                if not intake.waiting and not decoder.active:
                    return
                self._admit(intake.waiting)
                for job in decoder.step():
                    yield self._completion(job)
        finally:
            decoder.stop()

    def close(self) -> None:
        """Free the context and the weights; safe to call twice."""
        self._decoder.close()
        self._model.close()

    def _admit(self, waiting: deque[Prompt]) -> None:
        """Start what waits, in order. What needs another prefix or a larger context waits until all slots are free."""
        decoder = self._decoder
        while waiting:
            prompt = waiting[0]
            prefix = prompt.prefix
            if not decoder.fits(prefix, prompt.need - prompt.shared):
                if decoder.active:
                    return
                same = [other.need - other.shared for other in waiting if other.prefix == prefix]
                # A context that the user has set is made at once, as large as it may get.
                fixed = self._settings.context - len(prefix) if self._settings.context is not None else 0
                decoder.prepare(prefix, max(*same, fixed))
            waiting.popleft()
            request = prompt.request
            pick = sampler(self._decoding.temperature, self._decoding.top_p, seed=self._settings.seed, key=request.key)
            if self._grammar is not None:
                pick = self._model.held(self._grammar, pick)
            decoder.start(
                Job(
                    request.key,
                    prompt.tokens,
                    request.max_tokens,
                    pick,
                    prompt_hash=prompt.sha256,
                    started=self._clock(),
                    enough=_boxed(prompt.opened) if self._settings.stop_at_box else None,
                )
            )

    def _tokens(self, text: str) -> list[int]:
        model = self._model
        return bos_ids(text, model.encode, bos_token=model.bos_token, bos_id=model.bos_id, add_bos=model.adds_bos)

    def _completion(self, job: Job) -> Completion:
        return Completion(
            job.key,
            text=text_of(job.pieces),
            prompt_tokens=len(job.tokens),
            completion_tokens=job.written,
            latency=self._clock() - job.started,
            prompt_hash=job.prompt_hash,
            finish=job.finish or FINISH_UNKNOWN,
            flags=(box_stop.FLAG,) if job.stopped else (),
            error_kind=CUT if job.error else "",
            error=job.error,
            token_sizes=tuple(map(len, job.pieces)),
        )


def _boxed(opened: str) -> Callable[[Sequence[bytes]], bool]:
    return lambda pieces: box_stop.enough(text_of(pieces), opened)


def _template(model: Model, settings: Settings) -> ChatTemplate:
    return ChatTemplate(
        required_template(settings.chat_template, model.chat_templates()),
        bos_token=model.bos_token,
        eos_token=model.eos_token,
        variables=settings.template_variables,
        now=settings.template_day,
    )
