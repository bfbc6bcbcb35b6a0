"""Model repositories of the Hugging Face Hub: what is in one before its weights are fetched, and fetching with resume.

`look` costs two small requests (the list of files with their sizes, and config.json) and is where a gate is met.
Weights are safetensors or GGUF; nothing else is ever fetched as weights.
"""

from __future__ import annotations

import errno
import hashlib
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from twlocal.errors import EngineMissing, ModelError

# What of a checkpoint's folder may change an answer: weights, configuration, tokenizer, chat template, its own code.
CHECKPOINT = ("*.safetensors", "*.json", "*.jinja", "*.model", "*.tiktoken", "*.txt", "*.py")
_UNSAFE = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
_SPLIT = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")
# huggingface_hub keeps whole files of an interrupted download and no half ones. From this size on half ones are kept.
_LARGE = 32 << 20
# Above it the Hub serves a file in chunks only, which its own library asks for.
_LARGEST = 50_000_000_000
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Repository:
    """A model repository at one commit. files: sizes in bytes by path, None where the Hub does not tell.

    gated: whether its terms must be accepted; None where it is not known. config: its config.json, None without one.
    revision: the branch or tag under which it was looked up. offline: the Hub could not be reached, and this is what an
    earlier fetch left in the cache.
    """

    name: str
    commit: str
    files: Mapping[str, int | None]
    gated: bool | None = None
    config: Mapping[str, Any] | None = None
    revision: str = "main"
    offline: bool = False

    def bytes_of(self, names: Sequence[str]) -> int | None:
        """Bytes of these files in all; None where one of them is not known."""
        sizes = [self.files.get(name) for name in names]
        return sum(size for size in sizes if size is not None) if all(size is not None for size in sizes) else None

    @property
    def ggufs(self) -> list[str]:
        """Its GGUF files, parts and all."""
        return sorted(name for name in self.files if name.endswith(".gguf"))

    @property
    def checkpoint(self) -> list[str]:
        """The files of its checkpoint; empty where it holds none. Raises ModelError for weights that may run code."""
        if "config.json" not in self.files:
            return []
        found = sorted(name for name in self.files if "/" not in name and any(fnmatch(name, one) for one in CHECKPOINT))
        if not self.weights and any(name.endswith(_UNSAFE) for name in self.files):
            raise ModelError(
                f"{self.name} holds its weights only as .bin or pickled files, which can run code when they are loaded",
                hint="look for a safetensors or GGUF version of the model on the Hub",
            )
        return found if self.weights else []

    @property
    def weights(self) -> list[str]:
        """The safetensors files of its checkpoint."""
        return sorted(name for name in self.files if "/" not in name and name.endswith(".safetensors"))


def look(name: str, revision: str | None, token: str | None) -> Repository:
    """What the repository `name` holds at `revision` (None: its main branch). Nothing large is fetched.

    Where the Hub cannot be reached, what an earlier fetch left in the cache is taken.
    Raises EngineMissing without the extra, ModelError for what is not there, gated, or neither reachable nor cached.
    """
    _needed(name)
    from huggingface_hub import HfApi, hf_hub_download

    try:
        with _explained(name, revision):
            api = HfApi(token=token)
            with _listing():
                info = api.model_info(name, revision=revision, files_metadata=True)
                commit, siblings = str(info.sha or ""), list(info.siblings or ())
            gated = getattr(info, "gated", None)
            files = {one.rfilename: _number(getattr(one, "size", None)) for one in siblings if is_inside(one.rfilename)}
            config = None
            if "config.json" in files:
                with quiet():
                    config = _json(Path(hf_hub_download(name, "config.json", revision=commit, token=token)))
            elif gated:
                api.auth_check(name)
    except _Unreachable as error:
        found = _cached(name, revision)
        if found is None:
            raise ModelError(
                f"{name} is neither a local path nor reachable on the Hub: {error.why}",
                hint=error.hint or "check the name and the network",
            ) from error
        return found
    return Repository(name, commit, files, None if gated is None else bool(gated), config, revision or "main")


def is_inside(name: str) -> bool:
    """Whether a file's name in a repository leads to a place in its folder."""
    return name.isprintable() and "\\" not in name and all(part not in ("", ".", "..") for part in name.split("/"))


def absent(repository: Repository, names: Sequence[str]) -> list[str]:
    """Those of the files that are not in the cache yet."""
    if repository.offline:
        return []
    from huggingface_hub import try_to_load_from_cache

    return [
        name
        for name in names
        if not isinstance(try_to_load_from_cache(repository.name, name, revision=repository.commit), str)
    ]


def here_bytes(repository: Repository, names: Sequence[str]) -> int:
    """Bytes of these files that are in the cache by now, those of half-fetched ones among them."""
    missing = absent(repository, names)
    whole = repository.bytes_of([name for name in names if name not in missing]) or 0
    halves = cache_folder().glob(f"models--{repository.name.replace('/', '--')}/blobs/*.incomplete")
    return whole + sum(_size(half) for half in halves)


def _number(size: Any) -> int | None:
    return size if isinstance(size, int) and size >= 0 else None


def _size(path: Path) -> int:
    with suppress(OSError):  # it may be moved to its place at any moment
        return path.stat().st_size
    return 0


def is_cached(name: str) -> bool:
    """Whether something of the repository was fetched before."""
    if "/" not in name or find_spec("huggingface_hub") is None:
        return False
    return (cache_folder() / f"models--{name.replace('/', '--')}" / "snapshots").is_dir()


def cache_folder() -> Path:
    """Where the Hub's library keeps what it fetched."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE)


def free_bytes() -> int | None:
    """Room on the disk of the cache; None where it cannot be read."""
    folder = cache_folder()
    place = next((one for one in (folder, *folder.parents) if one.is_dir()), None)
    try:
        return shutil.disk_usage(place).free if place is not None else None
    except OSError:
        return None


def fetch(
    repository: Repository, names: Sequence[str], token: str | None, note: Callable[[str], None] = lambda line: None
) -> Path:
    """Fetch these files as far as they are not there; returns the folder in which they lie.

    An interrupted fetch goes on where it stopped. Raises ModelError.
    """
    from huggingface_hub import hf_hub_download

    missing = absent(repository, names)
    size = repository.bytes_of(missing)
    if missing and (size is None or size >= _LARGE):
        amount = f"{size / (1 << 30):,.1f} GiB in " if size is not None else ""
        note(f"fetching {repository.name}: {amount}{len(missing)} file{'s' if len(missing) > 1 else ''}")
    place = None
    try:
        with _explained(repository.name, repository.commit), quiet(unless_terminal=True):
            # Small ones first: what is wrong with the repository is told before hours of weights.
            for name in sorted(names, key=lambda name: (repository.files.get(name) or 0, name)):
                if name in missing and _LARGE <= (repository.files.get(name) or 0) <= _LARGEST:
                    _resumed(repository, name, token)
                path = hf_hub_download(
                    repository.name,
                    name,
                    revision=repository.commit,
                    token=token,
                    local_files_only=repository.offline,
                )
                place = Path(path).parents[name.count("/")]
    except _Unreachable as error:
        raise ModelError(
            f"{repository.name} could not be fetched: {error.why}",
            hint=error.hint or "the same command goes on where the fetch stopped",
        ) from error
    assert place is not None, "a model has files"
    _remember(repository, place)
    return place


def choose_gguf(repository: str, names: Sequence[str], file: str | None) -> list[str]:
    """The GGUF file to take, with its parts: the one that `file` names, or the only one. Raises ModelError."""
    firsts = [name for name in names if not _SPLIT.search(name) or "-00001-of-" in name]
    if file is not None:
        firsts = [name for name in firsts if name == file]
    if not firsts:
        what = f"no file {file}" if file else "no GGUF file"
        raise ModelError(
            f"{repository} holds {what}",
            hint="name a GGUF repository, or serve the model and pass http://host:port/v1#name",
        )
    if len(firsts) > 1:
        shown = ", ".join(firsts[:8])
        raise ModelError(
            f"{repository} holds {len(firsts)} GGUF files",
            hint=f"choose one as {repository}:FILE, unquantised for a published score: {shown}",
        )
    match = _SPLIT.search(firsts[0])
    if not match:
        return firsts
    return [name for name in names if name.startswith(firsts[0][: match.start()])]


# ── fetching ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _resumed(repository: Repository, name: str, token: str | None) -> None:
    """Fetch a large file into the cache's place for its content, going on with what an earlier process left of it.

    huggingface_hub gives up a half-fetched file with its process. What is written here is what its own download would
    have written; making it known under its name is left to it.
    """
    from filelock import FileLock
    from huggingface_hub import constants, get_hf_file_metadata, hf_hub_url
    from huggingface_hub.file_download import http_get, repo_folder_name
    from huggingface_hub.utils import build_hf_headers

    url = hf_hub_url(repository.name, name, revision=repository.commit)
    told = get_hf_file_metadata(url, token=token)
    # A range of a compressed reply could not be appended.
    headers = build_hf_headers(token=token) | {"Accept-Encoding": "identity"}
    if not told.etag or told.size is None:
        return
    if "/" in told.etag or not is_inside(told.etag):
        raise ModelError(f"the Hub gives {name} a name that leads out of the cache", hint="look at HF_ENDPOINT")
    folder = repo_folder_name(repo_id=repository.name, repo_type="model")
    blob = Path(constants.HF_HUB_CACHE) / folder / "blobs" / told.etag
    lock = Path(constants.HF_HUB_CACHE) / ".locks" / folder / f"{told.etag}.lock"
    blob.parent.mkdir(parents=True, exist_ok=True)
    lock.parent.mkdir(parents=True, exist_ok=True)
    part = blob.with_name(f"{told.etag}.twlocal.incomplete")
    with FileLock(lock):
        if blob.exists():
            return
        if part.is_symlink():  # what it leads to is not ours to write to
            part.unlink()
        begun = part.stat().st_size if part.exists() else 0
        if begun > told.size:
            part.unlink()
            begun = 0
        with part.open("ab") as file:
            http_get(
                url, file, resume_size=begun, headers=headers, expected_size=told.size, displayed_filename=name[-40:]
            )
        if _SHA256.fullmatch(told.etag) and _hash(part) != told.etag:
            part.unlink()
            what = "in two parts does not fit together" if begun else "is not what the Hub has"
            raise ModelError(f"what was fetched of {name} {what}", hint="the same command fetches it again")
        part.replace(blob)


def _remember(repository: Repository, place: Path) -> None:
    """Note which commit a branch stood for, as the Hub's library does, so that it is found again without a network."""
    if repository.offline or repository.revision == repository.commit:
        return
    refs = place.parents[1] / "refs" / repository.revision
    with suppress(OSError):
        refs.parent.mkdir(parents=True, exist_ok=True)
        refs.write_text(repository.commit, encoding="utf-8")


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def quiet(*, unless_terminal: bool = False) -> Iterator[None]:
    """No progress bars of the Hub's library within the block, or none where nobody looks at a terminal."""
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    if are_progress_bars_disabled() or (unless_terminal and sys.stderr.isatty()):
        yield
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()


# ── what goes wrong ───────────────────────────────────────────────────────────────────────────────────────────────


class _Unreachable(Exception):
    def __init__(self, why: str, hint: str = "") -> None:
        super().__init__(why)
        self.why, self.hint = why, hint


@contextmanager
def _listing() -> Iterator[None]:
    """What answers in the Hub's place, such as a network's page to log in, gives no list of files."""
    try:
        yield
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _Unreachable("what answers is not the Hub", "check the network, a proxy, HF_ENDPOINT") from error


def _needed(name: str) -> None:
    if find_spec("huggingface_hub") is None:
        raise EngineMissing(
            f"{name} is not a local path, and fetching from the Hub needs an extra", hint="pip install 'twlocal[hub]'"
        )


@contextmanager
def _explained(name: str, revision: str | None) -> Iterator[None]:
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError

    try:
        yield
    except GatedRepoError as error:
        raise ModelError(
            f"{name} is gated", hint=f"accept its terms at https://huggingface.co/{name} and set HF_TOKEN"
        ) from error
    except (RepositoryNotFoundError, RevisionNotFoundError) as error:
        raise ModelError(
            f"the Hub has no {name}@{revision or 'main'} that this token may see", hint="check the name; set HF_TOKEN"
        ) from error
    except (HfHubHTTPError, *_transport_errors()) as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise ModelError(
                f"no room left for {name} under {cache_folder()}",
                hint="free some space, or set HF_HOME to a larger disk; the same command goes on",
            ) from error
        if isinstance(error, OSError) and error.filename is not None:
            raise  # a file of this machine, not the network
        status = getattr(getattr(error, "response", None), "status_code", None)
        if status is not None:
            raise _Unreachable(f"HTTP status {status}", _REFUSED.get(status, "")) from error
        if "Consistency check failed" in str(error):
            raise _Unreachable("a file came in another length than announced") from error
        raise _Unreachable(type(error).__name__) from error


_REFUSED = {
    401: "the token may be wrong or expired: set HF_TOKEN, or `hf auth login`",
    403: "the token may lack the right to read it: set HF_TOKEN",
    429: "too many requests came from here: wait some minutes, or set HF_TOKEN",
}


def _transport_errors() -> tuple[type[Exception], ...]:
    # huggingface_hub speaks through httpx since 1.0, whose errors are no OSErrors, and through requests before it.
    try:
        import httpx
    except ImportError:
        return (OSError,)
    return (OSError, httpx.HTTPError)


def _cached(name: str, revision: str | None) -> Repository | None:
    """The repository as an earlier fetch left it: only where its weights are whole."""
    from huggingface_hub.file_download import repo_folder_name

    folder = cache_folder() / repo_folder_name(repo_id=name, repo_type="model")
    commit = revision or "main"
    with suppress(OSError):
        commit = (folder / "refs" / commit).read_text(encoding="utf-8").strip()
    place = folder / "snapshots" / commit
    found = {str(file.relative_to(place)): file for file in place.rglob("*") if file.is_file()}
    files: dict[str, int | None] = {name: file.stat().st_size for name, file in found.items()}
    config = _json(found["config.json"]) if "config.json" in found else None
    repository = Repository(name, commit, files, None, config, revision or "main", offline=True)
    return repository if repository.ggufs or _whole(repository, found) else None


def _whole(repository: Repository, found: Mapping[str, Path]) -> bool:
    index = found.get("model.safetensors.index.json")
    if index is None:
        return bool(repository.weights)
    parts = (_json(index) or {}).get("weight_map")
    return isinstance(parts, dict) and bool(parts) and all(str(part) in found for part in parts.values())


def _json(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
