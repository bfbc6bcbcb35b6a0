"""llama-cpp-python's low-level bindings: present, new enough, and quiet."""

from __future__ import annotations

import ctypes
import os
from collections import deque
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from twlocal.backend import missing
from twlocal.backends.llama_cpp.settings import EXTRA
from twlocal.errors import EngineMissing

PACKAGE = "llama-cpp-python"
_UPGRADE = f"pip install --upgrade 'twlocal[{EXTRA}]'"
_ERROR = 4  # GGML_LOG_LEVEL_ERROR; the bindings' own comment on the levels is out of date
_FUNCTIONS = (
    "llama_backend_init",
    "llama_batch",
    "llama_context_default_params",
    "llama_decode",
    "llama_free",
    "llama_get_logits_ith",
    "llama_get_memory",
    "llama_init_from_model",
    "llama_log_set",
    "llama_max_parallel_sequences",
    "llama_memory_seq_cp",
    "llama_memory_seq_rm",
    "llama_model_default_params",
    "llama_model_free",
    "llama_model_get_vocab",
    "llama_model_has_decoder",
    "llama_model_has_encoder",
    "llama_model_load_from_file",
    "llama_model_meta_count",
    "llama_model_n_ctx_train",
    "llama_print_system_info",
    "llama_sampler_accept",
    "llama_sampler_apply",
    "llama_sampler_free",
    "llama_sampler_init_grammar",
    "llama_supports_gpu_offload",
    "llama_token_to_piece",
    "llama_tokenize",
    "llama_vocab_get_add_bos",
    "llama_vocab_is_control",
    "llama_vocab_is_eog",
)
_CONTEXT_FIELDS = ("kv_unified", "n_seq_max", "swa_full", "flash_attn_type")
_MODEL_FIELDS = ("n_gpu_layers", "use_extra_bufts")


class Log:
    """llama.cpp's log: nothing is printed, the last errors are kept for our own messages."""

    def __init__(self, lines: int = 6) -> None:
        self._errors: deque[str] = deque(maxlen=lines)

    def write(self, level: int, text: bytes | None) -> None:
        """One message of llama.cpp's; only errors are kept."""
        line = (text or b"").decode("utf-8", errors="replace").strip()
        if level == _ERROR and line:
            self._errors.append(line)

    def clear(self) -> None:
        """Forget the errors of what came before."""
        self._errors.clear()

    def errors(self) -> str:
        """The last errors, on one line; "" when there were none."""
        return "; ".join(self._errors)


# llama.cpp keeps one log callback a process, and ctypes needs somebody to hold it: both live as long as the process.
LOG = Log()
_held: list[Any] = []


def load() -> Any:
    """The module of bindings, checked, its log silenced. Raises EngineMissing, naming the version that is there."""
    # GNU OpenMP's threads spin while they wait for each other. When something else wants the same cores they spin for
    # one that does not run, and a token takes seconds; waiting this short costs nothing measurable on an idle machine.
    # It is read when the library is loaded.
    os.environ.setdefault("GOMP_SPINCOUNT", "2000")
    try:
        # The package's own __init__ would do as well, but takes the whole high-level API with it either way.
        import llama_cpp.llama_cpp as api
    except ModuleNotFoundError as error:
        if error.name in ("llama_cpp", "numpy"):
            raise missing(EXTRA, PACKAGE if error.name == "llama_cpp" else "numpy") from error
        raise EngineMissing(f"{PACKAGE} {installed()} cannot be imported: {error}", hint=_UPGRADE) from error
    except Exception as error:  # its native library: OSError, RuntimeError, AttributeError (a symbol is not there)
        raise EngineMissing(f"{PACKAGE} {installed()} cannot be loaded: {error}", hint=_UPGRADE) from error
    check(api, installed())
    if not _held:
        callback = api.llama_log_callback(lambda level, text, _: LOG.write(level, text))
        _held.append(callback)
        api.llama_log_set(callback, ctypes.c_void_p(0))
        # When llama.cpp gives up it starts a debugger on the process, which takes seconds and prints pages.
        os.environ.setdefault("GGML_NO_BACKTRACE", "1")
        api.llama_backend_init()
    return api


def check(api: Any, installed_version: str) -> None:
    """Raise EngineMissing unless `api` has all that is used here: one clear error before the first item."""
    absent = [name for name in _FUNCTIONS if not hasattr(api, name)]
    for structure, names in (("llama_context_params", _CONTEXT_FIELDS), ("llama_model_params", _MODEL_FIELDS)):
        present = {field[0] for field in getattr(getattr(api, structure, None), "_fields_", ())}
        absent += [f"{structure}.{name}" for name in names if name not in present]
    if absent:
        raise EngineMissing(f"{PACKAGE} {installed_version} has no {absent[0]}, which is needed here", hint=_UPGRADE)


def installed() -> str:
    """The version of llama-cpp-python, "" when it is not installed."""
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        return ""
