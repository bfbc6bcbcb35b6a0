"""One started vLLM engine: token ids in, finished answers out."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twlocal.backends.vllm.layout import Layout
from twlocal.backends.vllm.library import Form, Library
from twlocal.errors import ConfigurationError, EngineDied, ModelError, TwlocalError

# Everything that a request may bring along besides its text, which is all that is asked here: no memory is kept for it.
_NO_MEDIA = {"image": 0, "video": 0, "audio": 0}
_NO_ROOM = re.compile(
    r"max seq len|KV cache|cache blocks|out of memory|OutOfMemory|Free memory|Available memory", re.IGNORECASE
)
_BUSY = re.compile(r"Free memory on device[^(]*\(([\d.]+)/([\d.]+) GiB\) on startup is less")
# What the machine is to blame for, and the way out.
_CARDS = {
    r"no kernel image is available|not compatible with the current PyTorch|unsupported PTX": "this vLLM was built "
    "without this card: pip install --upgrade vllm; `twlocal route` says which one the driver starts",
    r"[Bb]float16 is only supported|bfloat16 is not supported": "--set dtype=float16, or float32 where the model "
    "overflows in it",
    r"driver on your system is too old|driver version is insufficient": "update the NVIDIA driver; `twlocal doctor` "
    "says what it can start",
    r"No CUDA GPUs are available|CUDA driver initialization failed|[Ff]ailed to initialize NVML": "`nvidia-smi` must "
    "show the card first; look at CUDA_VISIBLE_DEVICES, in a container at --gpus all",
    r"No space left on device: '?/dev/shm|shared memory|Bus error": "the cards talk through shared memory: in a "
    "container --shm-size=16g or --ipc=host",
    r"NCCL error": "NCCL_DEBUG=INFO in the environment shows more; --set tensor_parallel_size=1 needs no NCCL",
}
_FAULT = re.compile(r"\b((?:\w+\.)*\w*(?:Error|Exception)): (.+)")


@dataclass(frozen=True, slots=True)
class Output:
    """What a step brought for one request: its tokens so far, and how it ended ("" while it goes on)."""

    number: str
    tokens: Sequence[int]
    finish: str


class Core:
    """vLLM with a model, started for `context` tokens; fewer where memory has no room for more (see `context`).

    exact: start for just so many, or not at all. watched: tell of every token, not of whole answers only. Raises
    ModelError where vLLM cannot load the model, ConfigurationError where it has no room.
    """

    def __init__(
        self,
        library: Library,
        folder: Path,
        layout: Layout,
        *,
        context: int,
        exact: bool,
        seed: int,
        multimodal: bool,
        trust_remote_code: bool,
        watched: bool,
        form: Form | None = None,
    ) -> None:
        self._library, self._form = library, form
        self._written: dict[str, list[int]] = {}
        kinds = library.RequestOutputKind
        self._kind = kinds.DELTA if watched else kinds.FINAL_ONLY
        try:
            config = library.EngineArgs(
                model=str(folder),
                tokenizer_mode="auto",
                # A checkpoint of Mistral's may bring two formats; this is the one whose chat template is rendered.
                config_format="hf",
                load_format="safetensors",
                trust_remote_code=trust_remote_code,
                dtype=layout.dtype if layout.dtype in ("float32", "bfloat16", "float16") else "auto",
                seed=seed,
                max_model_len=context,
                max_num_seqs=layout.slots,
                max_num_batched_tokens=layout.batched_tokens,
                tensor_parallel_size=layout.tensor_parallel_size,
                gpu_memory_utilization=layout.gpu_memory,
                kv_cache_memory_bytes=layout.cache_bytes,
                enable_prefix_caching=True,
                enforce_eager=layout.eager,
                # The model's own generation_config.json would bring sampling of its own.
                generation_config="vllm",
                limit_mm_per_prompt=_NO_MEDIA if multimodal else {},
                disable_log_stats=True,
                use_tqdm_on_load=False,
                **({"structured_outputs_config": form.config} if form else {}),
            ).create_engine_config()
            if not exact and hasattr(config.model_config, "original_max_model_len"):
                # As when vLLM chooses the length itself: it is shrunk to what fits, where it otherwise does not start.
                config.model_config.original_max_model_len = -1
            self._engine = library.LLMEngine.from_vllm_config(config, disable_log_stats=True)
        except Exception as error:  # the model's files and the cards decide what comes up
            raise refusal(folder.name, error, library.version, context, printed()) from error

    @property
    def context(self) -> int:
        """Most tokens of a prompt and its answer, as it was started."""
        return int(self._engine.model_config.max_model_len)

    @property
    def cache_tokens(self) -> int | None:
        """Tokens whose keys and values fit, where vLLM says it."""
        config = getattr(getattr(self._engine, "vllm_config", None), "cache_config", None)
        blocks, size = getattr(config, "num_gpu_blocks", None), getattr(config, "block_size", None)
        return blocks * size if isinstance(blocks, int) and isinstance(size, int) else None

    def add(self, number: str, tokens: Sequence[int], sampling: Mapping[str, Any]) -> None:
        """Give it a prompt. Raises ValueError where vLLM does not take it."""
        held = {"structured_outputs": self._form.one()} if self._form else {}
        params = self._library.SamplingParams(**sampling, **held, detokenize=False, output_kind=self._kind)
        # Both spellings of a prompt of ids that vLLM has had: the newer one spares it the way through its renderer.
        self._engine.add_request(number, {"type": "token", "prompt_token_ids": list(tokens)}, params)
        self._written[number] = []

    def step(self) -> list[Output]:
        """Compute one step for all requests; what it brought. Raises EngineDied where vLLM fails."""
        try:
            if self._written and not self._engine.has_unfinished_requests():
                raise RuntimeError(f"{len(self._written)} requests were lost")
            outputs = self._engine.step()
        except TwlocalError:
            raise
        except Exception as error:
            # Cards and their memory are in an unknown state now: only a new process begins anew.
            raise EngineDied(
                f"vLLM failed: {type(error).__name__}: {error}",
                hint="less at once may help: fewer --slots, --set batched_tokens=2048, --set gpu_memory=0.85",
            ) from error
        return [found for output in outputs if (found := self._output(output)) is not None]

    def _output(self, output: Any) -> Output | None:
        number = str(output.request_id)
        written = self._written.get(number)
        if written is None:  # aborted since
            return None
        (answer,) = output.outputs
        written += answer.token_ids
        finish = str(answer.finish_reason or "unknown") if output.finished else ""
        if finish:
            del self._written[number]
        return Output(number, written, finish)

    def abort(self, numbers: Iterable[str]) -> None:
        """Stop answering these requests; nothing more is heard of them."""
        given = [number for number in numbers if self._written.pop(number, None) is not None]
        if given:
            self._engine.abort_request(given)

    def close(self) -> None:
        """Give cards and memory back; safe to call twice."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.engine_core.shutdown()


def refusal(name: str, error: Exception, release: str, context: int, log: str = "") -> TwlocalError:
    """What a failed start means. vLLM raises the same few types for everything: its words tell more.

    log: what its processes have printed; where cards share a model, only that names the fault of one of them.
    """
    said = " ".join(str(error).split())
    if "root cause" in said and (cause := _cause(log)):
        said = cause
    if busy := _BUSY.search(said):
        free, memory = float(busy[1]), float(busy[2])
        share = int(100 * free / memory - 2) / 100
        return ConfigurationError(
            f"{release} has no room for {name}: other processes hold {memory - free:.1f} of the card's {memory} GiB",
            hint="nvidia-smi shows which; end them, or name another card with CUDA_VISIBLE_DEVICES"
            + (f", or --set gpu_memory={share}" if share >= 0.1 else ""),
        )
    if hint := next((way for words, way in _CARDS.items() if re.search(words, said)), None):
        return ConfigurationError(f"{release} cannot start {name} on this machine: {said}", hint=hint)
    if _NO_ROOM.search(said):
        return ConfigurationError(
            f"{release} has no room for {name} with {context} tokens of context: {said}",
            hint="end what else holds the memory; fewer --slots, a smaller --max-tokens or --context; more cards; "
            "on cards --set gpu_memory=0.95, on a CPU --set cache_gib=N",
        )
    if "trust_remote_code" in said or "trust-remote-code" in said:
        return ModelError(
            f"{name} wants to run code that comes with it: {said}",
            hint="read it; if you trust it: --trust-remote-code",
        )
    if "rchitecture" in said:
        return ModelError(
            f"{release} does not know the architecture of {name}: {said}", hint="pip install --upgrade vllm"
        )
    return ModelError(
        f"{release} cannot load {name}: {type(error).__name__}: {said}",
        hint="fetch the checkpoint again; if it is newer than this vLLM: pip install --upgrade vllm",
    )


def printed(descriptor: int = 2, most: int = 1 << 17) -> str:
    """The end of what this process and its own have printed, where that goes to a file (see `twlocal.isolate`)."""
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return ""
        return os.pread(descriptor, most, max(0, found.st_size - most)).decode("utf-8", "replace")
    except OSError:
        return ""


def _cause(log: str) -> str:
    """The last fault in a log that is not vLLM's word for any fault of a worker."""
    faults = [f"{name}: {text}" for name, text in _FAULT.findall(log) if "root cause" not in text]
    return faults[-1].strip() if faults else ""
