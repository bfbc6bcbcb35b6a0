"""The stage `exam fetch`: documents to files, one at a time, slowly; what is there is not asked for again.

The network is behind one function (`Get`), so that everything else can be tested without it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from .catalogue import Wanted, file_name
from .ledger import Ledger

TRIES = 4
_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
_LONGEST = 300.0  # seconds that a server may ask us to wait


@dataclass(frozen=True)
class Reply:
    """What came back: `status` 0 when nothing did, then `error` says why. `wait` is Retry-After, in seconds."""

    status: int
    body: bytes = b""
    error: str = ""
    wait: float | None = None


Get = Callable[[str], Reply]


@dataclass(frozen=True)
class Fetched:
    """A document after its turn: `state` is `done`, `there` (it was fetched before) or `failed` with a `reason`."""

    url: str
    path: str
    state: str
    reason: str = ""
    attempts: int = 0
    sha256: str = ""
    bytes: int = 0


def fetch(
    papers: Iterable[Wanted],
    folder: Path,
    ledger: Ledger,
    get: Get,
    *,
    sleep: Callable[[float], None],
    interval: float = 1.0,
    watch: Callable[[Fetched], None] = lambda fetched: None,
) -> dict[str, Fetched]:
    """Fetches every document of `papers` that is not there yet; by address, what became of it.

    `interval` is the pause in seconds before every request but the first. A file appears under its name only when it is
    whole. Nothing a server answers stops the others. Raises OSError when the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    known = ledger.downloads()
    found: dict[str, Fetched] = {}
    asked = False

    def pause(seconds: float) -> None:
        if asked:
            sleep(seconds)

    for paper in papers:
        for kind, url in paper.documents.items():
            path = folder / file_name(paper.name, kind)
            before = known.get(url)
            if before is not None and _is_there(path, before):
                found[url] = Fetched(url, path.name, "there", sha256=before, bytes=path.stat().st_size)
                watch(found[url])
                continue
            wait = interval
            for attempt in range(1, TRIES + 1):
                pause(wait)
                asked = True
                reply = get(url)
                fault = _fault(reply)
                if not fault or (reply.status not in _BUSY and reply.status != 0):
                    break
                wait = max(interval, min(_LONGEST, reply.wait if reply.wait is not None else 2.0**attempt))
            if fault:
                done = Fetched(url, path.name, "failed", fault, attempt)
            else:
                part = path.with_name(path.name + ".part")
                part.write_bytes(reply.body)
                part.replace(path)
                digest = hashlib.sha256(reply.body).hexdigest()
                done = Fetched(url, path.name, "done", "", attempt, digest, len(reply.body))
            ledger.store_download(done.url, done.path, done.state, done.reason, done.attempts, done.sha256, done.bytes)
            found[url] = done
            watch(done)
    return found


def _is_there(path: Path, digest: str) -> bool:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() == digest
    except OSError:
        return False


def _fault(reply: Reply) -> str:
    if reply.status == 0:
        return f"no answer: {reply.error}"
    if reply.status != 200:
        return f"HTTP {reply.status}"
    if b"%PDF" not in reply.body[:1024]:
        # The platform tells of errors in a page, with status 200.
        return "not a PDF"
    return "" if b"%%EOF" in reply.body[-2048:] else "cut off"


def over_http(timeout: float = 60.0) -> Get:
    """A `Get` over urllib; `timeout` in seconds."""
    from email.message import Message
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    from twlocal import __version__

    agent = {"User-Agent": f"twlocal/{__version__} (exam fetch)"}

    def waited(headers: Message) -> float | None:
        given = headers.get("Retry-After", "")
        return float(given) if given.isascii() and given.isdigit() else None

    def get(url: str) -> Reply:
        try:
            with urlopen(Request(url, headers=agent), timeout=timeout) as answer:
                return Reply(answer.status, answer.read())
        except HTTPError as error:
            with error:
                return Reply(error.code, error=str(error.reason), wait=waited(error.headers))
        except (URLError, OSError, ValueError) as error:
            return Reply(0, error=str(getattr(error, "reason", error)))
        except Exception as error:  # http.client's own, such as IncompleteRead
            return Reply(0, error=f"{type(error).__name__}: {error}")

    return get
