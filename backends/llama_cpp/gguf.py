"""A GGUF file before it is loaded: is it one, is it whole, and how are its numbers stored."""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from pathlib import Path
from typing import Any

from twlocal.errors import ModelError

_SPLIT = re.compile(r"(?P<stem>.*)-(?P<part>\d{5})-of-(?P<parts>\d{5})\.gguf", re.DOTALL)
# What a checkpoint is released in; everything else is somebody's later quantisation.
NATIVE_TENSORS = frozenset({"f32", "f16", "bf16"})
_NATIVE_FILES = frozenset({0, 1, 32})  # llama_ftype: all F32, mostly F16, mostly BF16
_GUESSED = 1024  # flag: the file did not say


def parts(model: str) -> list[Path]:
    """The files of the model at the path `model`, all there and all GGUF. Raises ModelError."""
    path = Path(model)
    if path.is_dir():
        raise ModelError(f"{model} is a folder", hint="name the .gguf file in it")
    found = [path]
    if split := _SPLIT.fullmatch(path.name):
        count = int(split["parts"])
        found = [path.with_name(f"{split['stem']}-{part:05d}-of-{count:05d}.gguf") for part in range(1, count + 1)]
        if int(split["part"]) != 1:
            raise ModelError(f"{path.name} is one part of a split model", hint=f"name the first one: {found[0].name}")
    for file in found:
        _look(file)
    return found


def _look(file: Path) -> None:
    try:
        with file.open("rb") as stream:
            magic = stream.read(4)
    except FileNotFoundError:
        raise ModelError(
            f"there is no file {file}", hint="a .gguf file; of a split model all parts in one folder"
        ) from None
    except OSError as error:
        raise ModelError(f"{file} cannot be read: {error.strerror}") from error
    if magic != b"GGUF":
        raise ModelError(
            f"{file} is not a GGUF file", hint="llama.cpp reads GGUF only; a half-finished download looks like this too"
        )


def refusal(path: Path, errors: str, installed: str) -> ModelError:
    """Why llama.cpp would not load `path`, from the last lines of its log."""
    if unknown := re.search(r"unknown model architecture: '([^']*)'", errors):
        return ModelError(
            f"llama-cpp-python {installed} does not know the architecture {unknown[1]!r} of {path.name}",
            hint="pip install --upgrade llama-cpp-python",
        )
    if "not within the file bounds" in errors or "failed to read" in errors or "corrupted" in errors:
        return ModelError(f"{path.name} is damaged or incomplete: {errors}", hint="fetch the file again")
    if re.search(r"out of memory|unable to allocate|[Cc]annot allocate|failed to allocate", errors):
        return ModelError(
            f"there is no memory for {path.name}: {errors}",
            hint="on a card fewer layers there (--set gpu_layers=20, or 0 for none); end what else holds the memory; "
            "a smaller model",
        )
    return ModelError(
        f"llama.cpp cannot load {path.name}: {errors or 'it gives no reason'}",
        hint="if the file is newer than llama-cpp-python: pip install --upgrade llama-cpp-python",
    )


class _InitParams(ctypes.Structure):
    _fields_ = (("no_alloc", ctypes.c_bool), ("ctx", ctypes.c_void_p))


def tensor_types(library: Any, files: list[Path]) -> dict[str, int]:
    """How many tensors of each type `files` hold ({"q4_1": 210, "f32": 61}), by ggml's own reader of the format.

    `library` is the loaded libllama; empty where it does not give access to that reader.
    """
    try:
        init, free = library.gguf_init_from_file, library.gguf_free
        count, kind, name = library.gguf_get_n_tensors, library.gguf_get_tensor_type, library.ggml_type_name
    except AttributeError:
        return {}
    init.argtypes, init.restype = [ctypes.c_char_p, _InitParams], ctypes.c_void_p
    free.argtypes, free.restype = [ctypes.c_void_p], None
    count.argtypes, count.restype = [ctypes.c_void_p], ctypes.c_int64
    kind.argtypes, kind.restype = [ctypes.c_void_p, ctypes.c_int64], ctypes.c_int
    name.argtypes, name.restype = [ctypes.c_int], ctypes.c_char_p
    types: Counter[str] = Counter()
    for file in files:
        header = init(str(file).encode("utf-8"), _InitParams(True, None))
        if not header:
            return {}
        types.update(name(kind(header, tensor)).decode("ascii") for tensor in range(count(header)))
        free(header)
    return dict(types.most_common())


def is_quantised(file_type: int | None, types: dict[str, int]) -> bool | None:
    """Whether weights are stored otherwise than as floats of 16 bits or more; None when nothing tells."""
    if types:
        return any(kind not in NATIVE_TENSORS for kind in types)
    if file_type is None or file_type & _GUESSED:
        return None
    return file_type not in _NATIVE_FILES
