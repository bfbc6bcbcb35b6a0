"""mlx and mlx-lm: present, and with all that is used here."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from twlocal.backend import missing
from twlocal.backends.mlx.settings import EXTRA
from twlocal.errors import EngineMissing

PACKAGE = "mlx-lm"
_UPGRADE = f"pip install --upgrade 'twlocal[{EXTRA}]'"


@dataclass(frozen=True)
class Library:
    """What is used of mlx (`core`) and mlx-lm (the rest)."""

    core: Any
    BatchGenerator: Any
    load_model: Callable[..., Any]
    load_tokenizer: Callable[..., Any]
    make_prompt_cache: Callable[..., Any]
    apply_top_p: Callable[..., Any]


# The parameters that are passed by name. mlx-lm has moved them before: temperature was once an argument, then a
# sampler object; batches came later still.
_PARAMETERS = {
    "BatchGenerator": ("stop_tokens", "sampler", "completion_batch_size", "prefill_batch_size", "prefill_step_size"),
    "BatchGenerator.insert": ("max_tokens", "caches", "samplers"),
    "load_model": ("lazy", "trust_remote_code"),
}
_METHODS = ("insert", "next_generated", "remove", "close")


def load() -> Library:
    """Import and check both packages. Raises EngineMissing, naming the version that is there."""
    try:
        # By their full names: `from mlx_lm import generate` would give the function of that name.
        core = import_module("mlx.core")
        generate = import_module("mlx_lm.generate")
        sample_utils = import_module("mlx_lm.sample_utils")
        utils = import_module("mlx_lm.utils")
        cache = import_module("mlx_lm.models.cache")
    except ModuleNotFoundError as error:
        if error.name in ("mlx", "mlx.core", "mlx_lm"):
            raise missing(EXTRA, PACKAGE if error.name == "mlx_lm" else "mlx") from error
        raise EngineMissing(f"{PACKAGE} {installed()} cannot be imported: {error}", hint=_UPGRADE) from error
    except Exception as error:  # native libraries, transformers, limits of the process: anything may come up
        raise EngineMissing(f"{PACKAGE} {installed()} cannot be loaded: {error}", hint=_UPGRADE) from error
    found: dict[str, Any] = {
        "core": core,
        "BatchGenerator": getattr(generate, "BatchGenerator", None),
        "load_model": getattr(utils, "load_model", None),
        "load_tokenizer": getattr(utils, "load_tokenizer", None),
        "make_prompt_cache": getattr(cache, "make_prompt_cache", None),
        "apply_top_p": getattr(sample_utils, "apply_top_p", None),
    }
    check(found, installed())
    return Library(**found)


def check(found: dict[str, Any], installed_version: str) -> None:
    """Raise EngineMissing unless `found` has all that is used here: one clear error before the first item."""
    absent = [name for name, value in found.items() if value is None]
    batches = found.get("BatchGenerator")
    absent += [f"BatchGenerator.{name}" for name in _METHODS if batches is not None and not hasattr(batches, name)]
    for name, wanted in _PARAMETERS.items():
        if absent:
            break
        first, _, method = name.partition(".")
        function = getattr(found[first], method) if method else found[first]
        known = inspect.signature(function).parameters
        absent += [f"{name}({parameter}=…)" for parameter in wanted if parameter not in known]
    if absent:
        raise EngineMissing(f"{PACKAGE} {installed_version} has no {absent[0]}, which is needed here", hint=_UPGRADE)


def blas(maps: Path = Path("/proc/self/maps")) -> str:
    """Whose matrix product is used on a CPU of Linux: "openblas" when it was preloaded, else "reference"; "" elsewhere.

    It says why a run was slow, and low bits depend on it.
    """
    try:
        return "openblas" if "openblas" in maps.read_text(encoding="utf-8", errors="replace") else "reference"
    except OSError:
        return ""


def installed(package: str = PACKAGE) -> str:
    """The version of an installed package, "" when it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
