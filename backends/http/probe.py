"""What a server says of itself under GET /models. Nothing there is required: many servers lack it, some break on it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp

from twlocal.backends.http.address import Address
from twlocal.backends.http.errors import Verdict, judge_status
from twlocal.backends.http.exchange import judge_failure, read

PATIENCE = 5.0  # seconds; a busy server may answer this later than we care
_OWNERS = {"vllm": "vllm", "sglang": "sglang", "llamacpp": "llama.cpp"}
_KEPT = ("id", "owned_by", "max_model_len", "context_length", "max_context_length", "meta", "quantization")


@dataclass(frozen=True, slots=True)
class Found:
    """engine: a key of `adapt.NEUTRAL`. models: what is served, as listed. verdict: why nothing was, if so."""

    engine: str
    server: str = ""
    models: tuple[Mapping[str, Any], ...] = ()
    verdict: Verdict | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The ids of the models served."""
        return tuple(str(model["id"]) for model in self.models)

    def about(self, name: str) -> dict[str, Any]:
        """What the list says of a model."""
        entry = next((model for model in self.models if model["id"] == name), {})
        about = {key: entry[key] for key in _KEPT if entry.get(key) is not None}
        # Where vLLM and SGLang took a model from that they serve under another name; a hash, since it may be a path.
        root = entry.get("root")
        if isinstance(root, str) and root != name:
            about["root_sha256"] = hashlib.sha256(root.encode("utf-8", "replace")).hexdigest()[:16]
        return about


async def look(session: aiohttp.ClientSession, address: Address, proxy: str | None) -> Found:
    """Ask for the list of models. A failure is in `Found.verdict`, never raised."""
    nothing = "local" if address.local else "hosted"
    try:
        async with session.get(
            address.url("models"),
            proxy=proxy,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=PATIENCE),
        ) as reply:
            body, server = await read(reply), reply.headers.get("Server", "")
            if reply.status != 200:
                verdict = judge_status(reply.status, body, reply.headers.get("Content-Type", ""))
                return Found(_engine(server, (), nothing), server, verdict=verdict)
    except TimeoutError as error:
        # It may be busy with a request: not a reason to think that nobody is there.
        unreachable = isinstance(error, aiohttp.ConnectionTimeoutError)
        return Found(nothing, verdict=judge_failure(error) if unreachable else None)
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return Found(nothing, verdict=judge_failure(error))
    models = _models(body)
    return Found(_engine(server, models, nothing), server, models)


def _models(body: bytes) -> tuple[Mapping[str, Any], ...]:
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return ()
    listed = data.get("data") if isinstance(data, Mapping) else data
    if not isinstance(listed, list):
        return ()
    return tuple(model for model in listed if isinstance(model, Mapping) and isinstance(model.get("id"), str))


def _engine(server: str, models: tuple[Mapping[str, Any], ...], nothing: str) -> str:
    if server.lower().startswith("llama.cpp"):
        return "llama.cpp"
    for model in models:
        owner = str(model.get("owned_by", "")).lower()
        if owner in _OWNERS:
            return _OWNERS[owner]
        if owner == "me" and "permissions" in model and nothing == "local":
            return "llama.cpp"  # llama-cpp-python's server says no more of itself than this
    return nothing
