"""One request over the wire: bytes out, a Verdict back. Whatever the network does becomes a Verdict."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import aiohttp

from twlocal.backends.http.errors import Kind, Trouble, Verdict, is_html, judge_error, judge_status, plain, read_trouble
from twlocal.backends.http.parse import Answer, Malformed, read_answer
from twlocal.backends.http.retry import asked_wait, said_wait
from twlocal.backends.http.sse import Stream

_JSON = {"Content-Type": "application/json"}
# Ten times what 16,384 tokens take as a stream of events. More is a server gone wrong, or a bomb of zeros compressed.
LARGEST = 64 << 20  # bytes, decompressed


class TooMuch(ValueError):
    """A reply of more than LARGEST bytes."""

    def __init__(self) -> None:
        super().__init__(f"a reply of more than {LARGEST >> 20} MiB, which is no chat completion")


@dataclass(frozen=True, slots=True)
class Wire:
    """A session and where its requests go. `now` gives Unix time, for dates in Retry-After."""

    session: aiohttp.ClientSession
    url: str
    proxy: str | None
    now: Callable[[], float]

    async def ask(self, body: bytes) -> Verdict:
        """Send one body and judge what comes back."""
        try:
            # Redirects are not followed: they lead to login pages, and would carry the key to another host.
            async with self.session.post(
                self.url, data=body, headers=_JSON, proxy=self.proxy, allow_redirects=False
            ) as reply:
                content_type = reply.headers.get("Content-Type", "")
                said = b""
                if reply.status // 100 == 2:
                    if "text/event-stream" in content_type:
                        verdict = await _read_stream(reply)
                    else:
                        verdict = judge_success(await read(reply), content_type)
                else:
                    location, said = reply.headers.get("Location", ""), await read(reply)
                    verdict = judge_status(reply.status, said, content_type, location)
                if verdict.kind in (Kind.RETRY, Kind.THROTTLED):
                    wait = asked_wait(reply.headers, self.now())
                    if wait is None and "retry-after" not in reply.headers:
                        wait = said_wait(said.decode("utf-8", "replace") or verdict.message)
                    verdict = replace(verdict, wait=wait)
                return verdict
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return judge_failure(error)


async def read(reply: aiohttp.ClientResponse) -> bytes:
    """The body, decompressed. Raises TooMuch before it is held in memory whole."""
    told = reply.content_length
    if told is not None and told <= LARGEST and "Content-Encoding" not in reply.headers:
        return await reply.read()
    parts, size = [], 0
    async for part in reply.content.iter_any():
        size += len(part)
        if size > LARGEST:
            raise TooMuch
        parts.append(part)
    return b"".join(parts)


def judge_failure(error: Exception) -> Verdict:
    """What a failure of the network (or of HTTP itself) means."""
    words = str(error) or type(error).__name__
    match error:
        case aiohttp.ClientSSLError() | aiohttp.ServerFingerprintMismatch():
            return Verdict(Kind.FATAL, f"no safe (TLS) connection: {words}")
        case aiohttp.ClientHttpProxyError():
            kind = Kind.FATAL if error.status in (401, 403, 405, 407) else Kind.TRANSPORT
            return Verdict(kind, f"the proxy answered {error.status} {error.message}", error.status)
        case aiohttp.ClientConnectorError():
            return Verdict(Kind.UNREACHABLE, words)
        case aiohttp.ConnectionTimeoutError():
            return Verdict(Kind.UNREACHABLE, "no connection within the time allowed (connect_timeout)")
        case TimeoutError():
            return Verdict(Kind.TIMEOUT, "no whole answer in time: raise the setting timeout, or lower concurrency")
        case aiohttp.InvalidURL():
            return Verdict(Kind.FATAL, f"not an address: {words}")
        case aiohttp.ClientPayloadError():
            return Verdict(Kind.TRANSPORT, "the reply broke off")
    return Verdict(Kind.TRANSPORT, words)


def judge_success(body: bytes, content_type: str) -> Verdict:
    """What a reply of status 200 is: an answer, an error in disguise, a web page, or nothing usable."""
    if not body.startswith(b"{"):  # which nearly all do
        if not body.strip():
            return Verdict(Kind.RETRY, "an empty reply", 200)
        if is_html(body, content_type):
            return Verdict(Kind.FATAL, f"a web page ({plain(body, 120)})", 200)
    flags: tuple[str, ...] = ()
    try:
        data = json.loads(body)
    except UnicodeDecodeError:
        text, flags = _decoded(body, content_type)
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            return Verdict(Kind.RETRY, f"a reply that is not JSON: {plain(body, 120)}", 200)
    except (ValueError, RecursionError):
        if body.lstrip().startswith((b"data:", b"event:", b"id:", b"retry:", b":")):
            stream = Stream()
            stream.feed(body)
            return _judge_stream(stream, None)
        return Verdict(Kind.RETRY, f"a reply that is not JSON: {plain(body, 120)}", 200)
    return judge_completion(data, flags)


def _decoded(body: bytes, content_type: str) -> tuple[str, tuple[str, ...]]:
    """A body that is not UTF-8, by the charset that its header names, or with what cannot be read replaced."""
    named = re.search(r"charset=\"?([\w.:-]+)", content_type, re.IGNORECASE)
    if named:
        with contextlib.suppress(LookupError, UnicodeError):
            return body.decode(named[1]), ("charset_not_utf8",)
    return body.decode("utf-8", "replace"), ("invalid_utf8",)


def judge_completion(data: object, flags: tuple[str, ...] = ()) -> Verdict:
    """What the JSON of a reply with status 200 is."""
    choices = data.get("choices") if isinstance(data, dict) else None
    if not choices or (isinstance(data, dict) and data.get("error")):
        if (trouble := read_trouble(data)) is not None:
            return judge_error(200, trouble)
    elif isinstance(choices, list) and isinstance(choices[0], dict) and choices[0].get("error"):
        return judge_error(200, read_trouble(choices[0]) or Trouble("an error in the choice"))
    if not isinstance(data, dict):
        return Verdict(Kind.RETRY, "a reply that is no chat completion", 200)
    try:
        return Verdict(Kind.ANSWER, status=200, answer=read_answer(data, flags))
    except Malformed as error:
        if error.partial:
            return Verdict(Kind.CUT, str(error), 200, answer=Answer(error.partial))
        return Verdict(Kind.RETRY, str(error), 200)


async def _read_stream(reply: aiohttp.ClientResponse) -> Verdict:
    stream, size = Stream(), 0
    try:
        async for chunk in reply.content.iter_any():
            size += len(chunk)
            if size > LARGEST:
                return judge_failure(TooMuch())
            stream.feed(chunk)
            if stream.done or stream.trouble is not None:
                break
    except (aiohttp.ClientError, OSError) as error:
        return _judge_stream(stream, judge_failure(error))
    return _judge_stream(stream, None)


def _judge_stream(stream: Stream, failure: Verdict | None) -> Verdict:
    stream.close()
    completion = stream.completion()
    if stream.whole:
        return judge_completion(completion)
    partial = None
    if completion["choices"]:
        completion["choices"][0]["finish_reason"] = None
        with contextlib.suppress(Malformed):  # nothing was said
            partial = read_answer(completion)
    if stream.trouble is not None:
        return replace(judge_error(200, stream.trouble), answer=partial)
    if partial is None or not (partial.text or partial.reasoning):
        return failure or Verdict(Kind.TRANSPORT, "the stream ended before anything came", 200)
    if failure is not None and failure.kind is Kind.TIMEOUT:
        return replace(failure, answer=partial)
    why = f"the stream holds an event that is no JSON: {stream.broken}" if stream.broken else ""
    why = why or (failure.message if failure else "the stream ended with neither a finish reason nor [DONE]")
    return Verdict(Kind.CUT, why, 200, answer=partial)
