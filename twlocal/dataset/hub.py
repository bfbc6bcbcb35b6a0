"""Dataset repositories of the Hugging Face Hub: which files at which commit, and their bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote

from twlocal.errors import DatasetError

_SOURCE = re.compile(
    r"hf://(?:datasets/)?(?P<repo>[^/@]+/[^/@]+)(?:@(?P<revision>refs/(?:convert|pr)/[^/]+|[^/]+))?(?:/(?P<path>.*))?$"
)
_TOKEN = re.compile(r"hf_[A-Za-z0-9]{16,}")
_SHAPE = "hf://owner/name[@revision][/path/inside]"


@dataclass(frozen=True)
class HubSource:
    """A parsed `hf://` source. `path` is a file or a folder inside the repository ("" for all of it)."""

    repo: str
    revision: str | None
    path: str


def parse(source: str) -> HubSource:
    """`hf://[datasets/]owner/name[@revision][/path]`. Raises DatasetError, never repeating a token."""
    if _TOKEN.search(source):
        raise DatasetError(
            "the source holds an access token, which would end up in manifests and logs",
            hint="set HF_TOKEN instead, and consider that token leaked",
        )
    match = _SOURCE.match(source)
    if not match or source.startswith(("hf://models/", "hf://spaces/", "hf://buckets/")):
        raise DatasetError(f"not a dataset on the Hub: {source}", hint=_SHAPE)
    revision = match["revision"]
    return HubSource(match["repo"], unquote(revision) if revision else None, (match["path"] or "").strip("/"))


class Hub(Protocol):
    """What a load needs of the Hub; tests put a local one in its place."""

    def files(self, repo: str, revision: str | None) -> tuple[str, list[str]]:
        """The commit that `revision` (None: the main branch) stands for, and the paths of its files."""
        ...

    def read(self, repo: str, commit: str, path: str, *, private: bool) -> bytes:
        """A file's bytes; with `private`, nothing is written to any disk on the way."""
        ...


class HuggingFaceHub:
    """The real one. `token` None leaves it to huggingface_hub: HF_TOKEN, then what `hf auth login` stored."""

    def __init__(self, token: str | None = None, endpoint: str | None = None) -> None:
        try:
            from huggingface_hub import HfApi
        except ImportError as error:
            raise DatasetError(
                "reading from the Hugging Face Hub needs huggingface_hub", hint="pip install 'twlocal[hub]'"
            ) from error
        self._token = token
        self._api = HfApi(endpoint=endpoint, token=token)

    def files(self, repo: str, revision: str | None) -> tuple[str, list[str]]:
        """See Hub. Raises DatasetError."""
        with self._explained(repo, revision):
            commit = self._api.dataset_info(repo, revision=revision).sha or ""
            return commit, self._api.list_repo_files(repo, repo_type="dataset", revision=commit or revision)

    def read(self, repo: str, commit: str, path: str, *, private: bool) -> bytes:
        """See Hub. Raises DatasetError."""
        with self._explained(repo, commit, path):
            if private:
                return self._in_memory(repo, commit, path)
            with _quiet():
                local = self._api.hf_hub_download(repo, path, repo_type="dataset", revision=commit)
            return Path(local).read_bytes()

    def _in_memory(self, repo: str, commit: str, path: str) -> bytes:
        from huggingface_hub import HfFileSystem

        # Its stream goes from the socket into memory: neither the download cache nor the Xet cache sees it.
        filesystem: Any = HfFileSystem(endpoint=self._api.endpoint, token=self._token, skip_instance_cache=True)
        with filesystem.open(f"datasets/{repo}@{commit}/{path}", "rb", block_size=0) as file:
            data: bytes = file.read()
        return data

    @contextmanager
    def _explained(self, repo: str, revision: str | None, path: str = "") -> Iterator[None]:
        from huggingface_hub import errors

        page = f"{self._api.endpoint}/datasets/{repo}"
        try:
            yield
        except errors.GatedRepoError as error:
            raise DatasetError(
                f"{repo} is gated: this account has not been granted access",
                hint=f"accept its terms at {page}, then set HF_TOKEN to a token of that account",
            ) from error
        except errors.RevisionNotFoundError as error:
            raise DatasetError(f"{repo} has no revision {revision!r}", hint=f"see {page}/commits") from error
        except errors.RepositoryNotFoundError as error:
            raise DatasetError(
                f"{repo} does not exist on the Hub, or is private and this account may not read it",
                hint=f"check {page}, and set HF_TOKEN to a token that may read it",
            ) from error
        except errors.EntryNotFoundError as error:
            raise DatasetError(
                f"{repo}: {path or 'a file'} cannot be fetched: {_first_line(error)}", hint=page
            ) from error
        except errors.HFValidationError as error:
            raise DatasetError(f"not a dataset on the Hub: {repo}: {_first_line(error)}", hint=_SHAPE) from error
        except errors.HfHubHTTPError as error:
            status = getattr(error.response, "status_code", 0)
            if status in (401, 403):
                raise DatasetError(
                    f"{repo}: the Hub refuses access ({status})",
                    hint=f"set HF_TOKEN to a valid token; if the dataset is gated, accept its terms at {page}",
                ) from error
            raise DatasetError(f"{repo}: the Hub answers with an error ({status})", hint="try again later") from error
        except _transport_errors() as error:
            raise DatasetError(
                f"{repo}: the Hub at {self._api.endpoint} cannot be reached: {_first_line(error)}",
                hint="check the network (and HF_HUB_OFFLINE), or download the files and give their path",
            ) from error


def _transport_errors() -> tuple[type[Exception], ...]:
    """What a broken connection raises: huggingface_hub speaks through httpx since 1.0, through requests before it."""
    try:
        import httpx
    except ImportError:
        return (OSError,)  # the errors of requests are among them
    return (OSError, httpx.HTTPError, httpx.InvalidURL)


@contextmanager
def _quiet() -> Iterator[None]:
    """No progress bars: standard error may be a log file."""
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    if are_progress_bars_disabled():
        yield
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()


def _first_line(error: BaseException) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
