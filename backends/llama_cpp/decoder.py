"""The context: a shared prefix, slots that each write one answer, and one decode step for all of them.

Sequence 0 holds the prefix; a slot is a further sequence that begins as a copy of it (llama.cpp then shares the cells).
A step feeds each writing slot its last token and fills the rest of the batch with prompts still to be read, so new
items are read while others write.

With one slot, what is computed for an item depends on the item and the prefix alone: its own chunks of at most BATCH
tokens, then single tokens, in the same cells each time. So its text is the same wherever in a run it stands.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from twlocal.backend import FINISH_LENGTH, FINISH_STOP
from twlocal.backends.llama_cpp.library import LOG
from twlocal.backends.llama_cpp.model import Model
from twlocal.backends.llama_cpp.sampling import Pick
from twlocal.errors import BackendError, ConfigurationError, EngineDied

BATCH = 512
# llama.cpp rounds a context up to this anyway, and growing in such steps keeps growing rare.
STEP = 256
_PREFIX = 0


@dataclass(slots=True, eq=False)
class Job:
    """One answer in the making. tokens: the prompt's; budget: most tokens to write, the end token counted.

    enough: asked after each piece that closes a brace, whether what is written may end there; None never asks.
    """

    key: str
    tokens: Sequence[int]
    budget: int
    pick: Pick
    prompt_hash: str
    started: float
    enough: Callable[[Sequence[bytes]], bool] | None = None
    written: int = 0
    pieces: list[bytes] = field(default_factory=list)
    finish: str = ""
    error: str = ""
    stopped: bool = False  # because it was enough
    queue: list[int] = field(default_factory=list)  # tokens to feed next
    position: int = 0  # of the queue's first token


class Decoder:
    """Slots over one llama.cpp context of `cells` tokens: what the prompts seen need, and at least `least`."""

    def __init__(
        self, model: Model, *, slots: int, threads: int, flash_attention: int, offload: bool, least: int = 0
    ) -> None:
        self.model, self.slots, self.threads = model, slots, threads
        self.cells = 0
        self.room = 0
        self.prefix: list[int] = []
        self._flash_attention, self._offload, self._least = flash_attention, offload, least
        self._context: Any = None
        self._memory: Any = None
        self._jobs: dict[int, Job] = {}
        self._free = list(range(slots, 0, -1))
        self._batch = _Batch(model.api)
        self._row = ctypes.c_float * model.vocabulary_size

    @property
    def active(self) -> int:
        """Slots that are at work."""
        return len(self._jobs)

    def fits(self, prefix: Sequence[int], room: int) -> bool:
        """Whether a slot can take `room` tokens after `prefix` without a new context."""
        return self._context is not None and self.prefix == prefix and room <= self.room

    def prepare(self, prefix: Sequence[int], room: int) -> None:
        """Make a context with `prefix` computed and `room` tokens a slot beside it; no slot may be at work.

        Room only grows over a run. Raises ConfigurationError when there is no memory for it.
        """
        api = self.model.api
        self._drop_context()
        self.room = max(self.room, _round_up(room))
        self.cells = _round_up(max(len(prefix) + self.slots * self.room, self._least))
        params = api.llama_context_default_params()
        params.n_ctx = self.cells
        params.n_batch = params.n_ubatch = BATCH
        params.n_seq_max = self.slots + 1
        params.kv_unified = True
        params.swa_full = True  # a sliding window's cache would forget the prefix
        params.n_threads = params.n_threads_batch = self.threads
        params.flash_attn_type = self._flash_attention
        params.offload_kqv = self._offload
        params.no_perf = True
        LOG.clear()
        self._context = api.llama_init_from_model(self.model.handle, params)
        if not self._context:
            why = LOG.errors() or "llama.cpp gives no reason"
            raise ConfigurationError(
                f"no context of {self.cells} tokens ({self.slots} slots): {why}",
                hint="fewer slots, fewer new tokens (--max-tokens), or a smaller model",
            )
        self._memory = api.llama_get_memory(self._context)
        try:
            for start in range(0, len(prefix), BATCH):
                self._batch.clear()
                self._batch.add(prefix[start : start + BATCH], start, _PREFIX, wants_logits=False)
                self._decode()
        except BaseException:
            self._drop_context()
            raise
        self.prefix = list(prefix)

    def start(self, job: Job) -> None:
        """Give `job` a free slot. A prompt that begins with the prefix goes on from it, any other is read whole."""
        sequence = self._free.pop()
        shared = len(self.prefix)
        if shared and job.tokens[:shared] == self.prefix and len(job.tokens) > shared:
            self.model.api.llama_memory_seq_cp(self._memory, _PREFIX, sequence, -1, -1)
            job.position = shared
        job.queue = list(job.tokens[job.position :])
        self._jobs[sequence] = job

    def step(self) -> list[Job]:
        """One decode step for all slots at work; the jobs that it finished, their slots free again.

        Raises BackendError when llama.cpp cannot decode.
        """
        waiting: list[tuple[int, Job]] = []
        self._batch.clear()
        # Writers first: they need one token each and all fit, as there are never more slots than places.
        for sequence, job in sorted(self._jobs.items(), key=lambda entry: not entry[1].written):
            part = job.queue[: self._batch.left]
            if not part:
                continue
            whole = len(part) == len(job.queue)
            if whole:
                waiting.append((sequence, job))
            self._batch.add(part, job.position, sequence, wants_logits=whole)
            job.queue = job.queue[len(part) :]
            job.position += len(part)
        self._decode()
        finished = []
        for (sequence, job), place in zip(waiting, self._batch.outputs, strict=True):
            self._take(job, place)
            if job.finish or job.error:
                self._release(sequence)
                finished.append(job)
        return finished

    def stop(self) -> None:
        """Let go of all jobs."""
        for sequence in list(self._jobs):
            self._release(sequence)

    def close(self) -> None:
        """Free the context; safe to call twice."""
        self._jobs.clear()
        self._drop_context()

    def _take(self, job: Job, place: int) -> None:
        logits = self._logits(place)
        token = job.pick(logits)
        if not np.isfinite(logits[token]):
            job.error = f"the model's output is not a number after {job.written} tokens"
            return
        job.written += 1
        if self.model.ends(token):
            job.finish = FINISH_STOP
            return
        job.pieces.append(self.model.piece(token))
        job.queue = [token]
        if job.enough is not None and b"}" in job.pieces[-1] and job.enough(job.pieces):
            job.finish, job.stopped = FINISH_STOP, True
        elif job.written >= job.budget:
            job.finish = FINISH_LENGTH

    def _logits(self, place: int) -> Any:
        pointer = self.model.api.llama_get_logits_ith(self._context, place)
        return np.frombuffer(self._row.from_address(ctypes.addressof(pointer.contents)), dtype=np.float32)

    def _decode(self) -> None:
        status = self.model.api.llama_decode(self._context, self._batch.struct())
        if status != 0:
            why = "no free cell in the context" if status == 1 else LOG.errors() or "no reason given"
            words = f"llama.cpp could not decode (status {status}): {why}"
            if status < 0:  # a device's memory or a kernel: what the context holds is in an unknown state
                raise EngineDied(words, hint="fewer --slots, or fewer layers on the card (--set gpu_layers=20)")
            raise BackendError(words)

    def _release(self, sequence: int) -> None:
        del self._jobs[sequence]
        if self._context is not None:
            self.model.api.llama_memory_seq_rm(self._memory, sequence, -1, -1)
        self._free.append(sequence)

    def _drop_context(self) -> None:
        if self._context is not None:
            self.model.api.llama_free(self._context)
            self._context = self._memory = None


class _Batch:
    """A llama_batch over numpy arrays: filled slice by slice, not token by token."""

    def __init__(self, api: Any) -> None:
        self._tokens: Any = np.zeros(BATCH, dtype=np.int32)
        self._positions: Any = np.zeros(BATCH, dtype=np.int32)
        self._counts: Any = np.ones(BATCH, dtype=np.int32)
        self._sequences: Any = np.zeros(BATCH, dtype=np.int32)
        self._wanted: Any = np.zeros(BATCH, dtype=np.int8)
        # Each token's list of sequences is one number: pointers into the array above, made once.
        first, width = self._sequences.ctypes.data, self._sequences.itemsize
        self._lists: Any = np.arange(first, first + BATCH * width, width, dtype=np.uintp)
        self._struct = api.llama_batch()
        for name, array in (
            ("token", self._tokens),
            ("pos", self._positions),
            ("n_seq_id", self._counts),
            ("seq_id", self._lists),
            ("logits", self._wanted),
        ):
            kind = dict(api.llama_batch._fields_)[name]
            setattr(self._struct, name, ctypes.cast(array.ctypes.data, kind))
        self.outputs: list[int] = []
        self._size = 0

    @property
    def left(self) -> int:
        """Tokens that still fit."""
        return BATCH - self._size

    def clear(self) -> None:
        """Begin a new batch."""
        self._size = 0
        self.outputs = []

    def add(self, tokens: Sequence[int], position: int, sequence: int, *, wants_logits: bool) -> None:
        """Append `tokens` at `position` and after of `sequence`; logits, when wanted, are of the last one."""
        start, end = self._size, self._size + len(tokens)
        self._tokens[start:end] = tokens
        self._positions[start:end] = np.arange(position, position + len(tokens))
        self._sequences[start:end] = sequence
        self._wanted[start:end] = 0
        if wants_logits:
            self._wanted[end - 1] = 1
            self.outputs.append(end - 1)
        self._size = end

    def struct(self) -> Any:
        """The llama_batch to decode; it holds what was added since `clear`."""
        self._struct.n_tokens = self._size
        return self._struct


def _round_up(tokens: int) -> int:
    return -(-tokens // STEP) * STEP
