"""What an engine is to twlocal: requests in, completions out, in any order.

A backend is a module, found through the `twlocal.backends` entry-point group, so that another package can add one:

    ISOLATE: bool      run it in a process of its own, so that its death is an error and not ours
    EXTRA: str         the extra that brings it (`pip install 'twlocal[EXTRA]'`), "" when none is needed
    SETTINGS: frozenset[str]    the settings that it understands
    ANSWERING: frozenset[str]   those of them that may change an answer, and so belong to a run's identity
    def open(model: str, decoding: Decoding, settings: Mapping[str, Any]) -> Backend
    def warm() -> None    optional: imports what `open` will need, in a thread, while questions are read; raises nothing
    def check(model: str, settings: Mapping[str, Any]) -> None    optional: raises UsageError for what is wrong on any
                       machine and day, at once, reaching out to nothing: before anything of a call is stored
    CLOSE_SECONDS: float    optional: how long an isolated engine may take to close by itself before it is killed
    SPREADS: bool           optional: it holds other backends and spreads requests over them; see `Spreader`
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, Protocol, cast

from twlocal.errors import BackendError, EngineDied, EngineMissing, TwlocalError, UsageError

ENTRY_POINTS = "twlocal.backends"

FINISH_STOP = "stop"
FINISH_LENGTH = "length"
FINISH_FILTER = "content_filter"
FINISH_UNKNOWN = "unknown"

# Why a request has no answer. All are reasons of the machine, never of the model.
TOO_LONG = "too_long"  # the prompt (and its budget) does not fit the context
TRANSPORT = "transport"  # no answer came back, after all retries
SERVER = "server"  # the server answered with an error, after all retries
CUT = "cut"  # the answer broke off without a finish reason
ENGINE_DIED = "engine_died"  # the engine's process died with this request in flight


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message; `role` is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Decoding:
    """What is asked of the decoder. No other value is ever left to a model's own defaults."""

    temperature: float = 0.0
    top_p: float = 0.9
    max_tokens: int = 4096


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt to answer; `key` is the runner's and comes back with the completion."""

    key: str
    messages: tuple[Message, ...]
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Completion:
    """What came back for one request: an answer (`error_kind` empty) or the reason why there is none.

    text: the response, whole, thinking tags and all. reasoning: a reasoning field sent apart from it.
    finish: one of the FINISH_ constants. Token counts are None where the engine does not tell.
    latency: seconds from sending to the last token. prompt_hash: sha256 (hex) of the rendered prompt text, None where
    the server rendered it. attempts: how many times it was asked in this sitting. flags: names of what was odd.
    error_kind, error: set together; a partial text may still be in `text`. token_sizes: UTF-8 bytes that each written
    token but an end token brought to `text`, in order; empty where the engine does not tell.
    """

    key: str
    text: str = ""
    reasoning: str = ""
    finish: str = FINISH_UNKNOWN
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    latency: float | None = None
    prompt_hash: str | None = None
    attempts: int = 1
    flags: tuple[str, ...] = ()
    error_kind: str = ""
    error: str = ""
    token_sizes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """What ran: for the manifest and the report.

    settings: every engine setting in force (slots, threads, context, …), and `deterministic` where the engine promises
    that a prompt's text is always the same, and that of a smaller budget its beginning. sent: every decoding value
    actually sent. model: what the engine says of the model (architecture, quantisation, chat template hash, …).
    `quantised` is None where it cannot be known (a server).
    """

    engine: str
    version: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    sent: Mapping[str, Any] = field(default_factory=dict)
    model: Mapping[str, Any] = field(default_factory=dict)
    quantised: bool | None = None


class Backend(Protocol):
    """An engine with a model loaded, or a server reached."""

    def describe(self) -> EngineInfo:
        """What runs and what it sends, as of now (an HTTP backend may adapt while it runs)."""
        ...

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        """Answer requests, pulled lazily as there is room; yield each completion as it finishes, in any order.

        Ending `requests` early lets what is in flight finish; closing the iterator stops the work at once.
        Raises ConfigurationError where asking further cannot help.
        """
        ...

    def close(self) -> None:
        """Stop at once and give the model's memory or the connections back.

        May be called from any thread and more than once; a pending `generate` in another thread then ends promptly.
        (An engine that runs isolated need not care: its process is killed.)
        """
        ...


class BackendModule(Protocol):
    """The shape of a module named by an entry point (see this module's docstring)."""

    ISOLATE: bool
    EXTRA: str
    SETTINGS: frozenset[str]
    ANSWERING: frozenset[str]

    def open(self, model: str, decoding: Decoding, settings: Mapping[str, Any]) -> Backend: ...


@dataclass(frozen=True)
class Deaths:
    """What a backend that looks after processes of its own knows and tells of their deaths (see `twlocal.isolate`).

    prior: how often each request's key has been alone in flight at a death. limit: at so many it is given up, with a
    completion of the kind ENGINE_DIED. tell: called with (key, message) for every other death that one request is to
    blame for, by the thread that runs `generate`.
    """

    prior: Mapping[str, int] = field(default_factory=dict)
    limit: int = 3
    tell: Callable[[str, str], None] = lambda key, message: None


class Spreader(Protocol):
    """A backend module that holds other backends; its setting `engine` names which one.

    Answers are that engine's, and so are the run's identity and the settings beyond its own SETTINGS: a run begun
    without it goes on with it. ANSWERING is empty.
    """

    ISOLATE: bool
    EXTRA: str
    SETTINGS: frozenset[str]
    ANSWERING: frozenset[str]
    SPREADS: bool

    def open(self, model: str, decoding: Decoding, settings: Mapping[str, Any]) -> Backend: ...

    def supervise(self, model: str, decoding: Decoding, settings: Mapping[str, Any], deaths: Deaths) -> Backend:
        """As `open`, and keeps count of deaths."""
        ...


def available() -> list[str]:
    """Names of the backends that are registered, whether or not their engines are installed."""
    return sorted({point.name for point in entry_points(group=ENTRY_POINTS)})


def load(name: str) -> BackendModule:
    """The backend registered under `name`. Raises UsageError for an unknown name, EngineMissing for a missing extra."""
    points = [point for point in entry_points(group=ENTRY_POINTS) if point.name == name]
    if not points:
        known = ", ".join(available())
        raise UsageError(
            f"there is no backend named {name!r}",
            hint=f"registered ones: {known}; any other engine can serve the model to http://host:port/v1#name",
        )
    try:
        return cast(BackendModule, points[0].load())
    except ImportError as error:
        raise EngineMissing(f"the backend {name!r} cannot be imported: {error}") from error


def spreader(module: BackendModule) -> Spreader | None:
    """`module` as one that holds other backends, None where it is an engine itself."""
    return cast(Spreader, module) if getattr(module, "SPREADS", False) else None


def failure(error: BaseException, *, answering: bool) -> TwlocalError:
    """What an exception of an engine means to those who look after its process.

    answering: it came up while the engine answered, not while it was opened. Memory that no longer suffices and native
    code that gives up come as RuntimeError and MemoryError; one request alone may be to blame, as for a process that
    dies, and what the engine holds is in an unknown state. Any other exception is a fault in a program, and stays one.
    """
    if isinstance(error, TwlocalError):
        return error
    said = f"the engine failed: {type(error).__name__}: {error}"
    if answering and isinstance(error, RuntimeError | MemoryError) and not isinstance(error, NotImplementedError):
        return EngineDied(said, hint="less at once may help: fewer --slots; --debug shows more")
    return BackendError(said, hint="--debug shows more")


def missing(extra: str, package: str) -> EngineMissing:
    """The one-line error of an engine that is not installed."""
    return EngineMissing(f"{package} is not installed", hint=f"pip install 'twlocal[{extra}]'")
