"""The HTTP backend: a server reached, and described."""

from __future__ import annotations

import asyncio
import os
import random
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar
from urllib.parse import urlsplit

import aiohttp

from twlocal import __version__
from twlocal.backend import Completion, Decoding, EngineInfo, Request
from twlocal.backends.http import adapt, explain, probe
from twlocal.backends.http import address as addresses
from twlocal.backends.http import settings as given_settings
from twlocal.backends.http.errors import Kind
from twlocal.backends.http.retry import backoff
from twlocal.backends.http.settings import Redactor, find_key, from_keyring
from twlocal.backends.http.sitting import Plan, Sitting, State, Surroundings
from twlocal.errors import BackendError, ModelError

T = TypeVar("T")

REAL = Surroundings(clock=time.monotonic, now=time.time, random=random.random, sleep=asyncio.sleep)
FIRST_TRIES = 3  # connections tried at a server that may be just starting
_PLAIN_HEADERS = {"accept", "content-type", "user-agent", "accept-language"}


def connect(
    model: str,
    decoding: Decoding,
    settings: Mapping[str, Any],
    *,
    environ: Mapping[str, str] | None = None,
    keyring: Callable[[str, str], str | None] = from_keyring,
    around: Surroundings = REAL,
) -> HttpBackend:
    """Reach a server (see `twlocal.backends.http.open`). `environ` is the process's own where it is not given."""
    environ = os.environ if environ is None else environ
    address = addresses.parse(model)
    chosen = given_settings.parse(settings)
    proxy = addresses.proxy(address, environ)
    key = find_key(address, chosen, environ, keyring)
    extra = given_settings.headers(chosen, environ)
    headers = {"User-Agent": f"twlocal/{__version__}", **extra}
    if key.value:
        headers["Authorization"] = f"Bearer {key.value}"
    secrets = [value for name, value in extra.items() if name.lower() not in _PLAIN_HEADERS]
    redact = Redactor(
        [*secrets, *([key.value] if key.value else []), *([urlsplit(proxy).password or proxy] if proxy else [])]
    )
    plan = Plan(address, chosen, headers, proxy, key.source, (), redact, around)
    found = in_thread(_look(plan))
    if not address.model:
        address = replace(address, model=_only_model(plan, found))
    plan = replace(plan, address=address, listed=found.names)
    first = adapt.body(
        address.model,
        decoding,
        found.engine,
        stream=chosen.stream,
        seed=chosen.seed,
        extra=chosen.extra,
        schema=chosen.json_schema,
    )
    return HttpBackend(plan, found, decoding, State(first, lowest=chosen.concurrency))


class HttpBackend:
    """An OpenAI-compatible server. Made by `connect`; holds no connection between two calls of `generate`."""

    def __init__(self, plan: Plan, found: probe.Found, decoding: Decoding, state: State) -> None:
        self._plan, self._found, self._decoding, self._state = plan, found, decoding, state

    def __repr__(self) -> str:
        return f"HttpBackend({self._plan.address.base}#{self._plan.address.model})"

    def describe(self) -> EngineInfo:
        """Where requests go and what is in them, as of now. Of keys and headers, only the names."""
        plan, state = self._plan, self._state
        chosen = plan.settings
        settings: dict[str, Any] = {
            "base_url": plan.address.base,
            "query": plan.address.query,
            "server": self._found.engine,
            "server_header": self._found.server,
            "concurrency": chosen.concurrency,
            "lowest_concurrency": state.lowest,
            "timeout": chosen.timeout,
            "connect_timeout": chosen.connect_timeout,
            "retries": chosen.retries,
            "headers": sorted(chosen.headers),
            "extra_body": dict(chosen.extra_body),
            "template_variables": dict(chosen.template_variables),
            "key": plan.key_source,
            "proxy": plan.proxy is not None,
            "adapted": list(state.body.adapted),
        }
        about = {"name": plan.address.model, **self._found.about(plan.address.model)}
        if state.body.merges_system:
            about["merged_system"] = True
        if state.served_as:
            about["served_as"] = sorted(state.served_as)
        return EngineInfo(
            engine="http",
            version=f"aiohttp {aiohttp.__version__}",
            settings=settings,
            sent=state.body.sent(self._decoding.max_tokens),
            model=about,
        )

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        """Answer requests, `concurrency` at once; see `twlocal.backend.Backend.generate`.

        `requests` is pulled on the caller's thread, at most `concurrency` ahead of those in flight. Raises
        ConfigurationError where asking further cannot help, BackendError where the server has stopped answering.
        """
        yield from Sitting(self._plan, self._state).completions(requests)

    def close(self) -> None:
        """Nothing is held open between two calls of `generate`; each closes its connections when it ends."""


async def _look(plan: Plan) -> probe.Found:
    """The server's list of models; a server that is just starting gets some tries. Raises ConfigurationError."""
    tries = 0
    async with plan.session(1) as session:
        while True:
            tries += 1
            found = await probe.look(session, plan.address, plan.proxy)
            if (verdict := found.verdict) is None:
                return found
            said = replace(verdict, message=plan.redact(verdict.message))
            if verdict.kind is Kind.FATAL and verdict.status == 0:  # TLS, an impossible address
                raise explain.configuration(plan.address, said, plan.key_source)
            if verdict.kind is not Kind.UNREACHABLE:
                return found
            if tries >= FIRST_TRIES:
                raise explain.unreachable(plan.address, said.message, plan.proxy)
            await plan.around.sleep(0.2 + backoff(tries, plan.around.random))


def _only_model(plan: Plan, found: probe.Found) -> str:
    base = plan.address.base
    if found.verdict is not None and found.verdict.kind is Kind.FATAL and found.verdict.status in (401, 402, 403):
        said = replace(found.verdict, message=plan.redact(found.verdict.message))
        raise explain.configuration(plan.address, said, plan.key_source)
    if not found.names:
        raise ModelError(f"{base} does not tell which models it serves", hint=f"name one after #: {base}#model-name")
    if len(found.names) > 1:
        shown = ", ".join(found.names[:20]) + (", …" if len(found.names) > 20 else "")
        raise ModelError(
            f"{base} serves {len(found.names)} models: {shown}", hint=f"name one after #: {base}#{found.names[0]}"
        )
    return found.names[0]


def in_thread(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on a loop of its own: the caller may be inside one already, as in a notebook."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(asyncio.run(work))
        except BaseException as error:  # handed to the thread that waits
            errors.append(error)

    thread = threading.Thread(target=run, name="twlocal-http-probe", daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    if not results:
        raise BackendError("the server could not be asked what it is")
    return results[0]
