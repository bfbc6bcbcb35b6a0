"""An OpenAI-compatible chat server without a model: one fixed answer, after a fixed delay. Standard library only.

    python scripts/stub_server.py --delay 0.05

It prints the port that it listens on (of 127.0.0.1) as its first line, and then serves until it is killed:

    POST /v1/chat/completions    the answer
    GET  /v1/models              one model, named stub
    GET  /stats                  what it has counted so far (see `Stats`)

It is made to cost little (a raw asyncio protocol, no parsing of the request's JSON, a reply made once), for on a small
machine it shares the cores with the tool that is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import time
from dataclasses import asdict, dataclass, field
from functools import partial

MODEL = "stub"
TEXT = "經過推理，答案是 \\boxed{A}"
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding:[^\r]*chunked", re.IGNORECASE)


@dataclass
class Stats:
    """What the server has seen. Times are `time.monotonic()` in seconds, which all processes of a machine share.

    requests: chat completions asked for. answered: those whose reply was written. distinct: different request bodies.
    connections: open now (peak_connections: at most).
    first: when the first chat completion had come in whole; last: when the last reply was written.
    """

    requests: int = 0
    answered: int = 0
    distinct: int = 0
    connections: int = 0
    peak_connections: int = 0
    first: float | None = None
    last: float | None = None


@dataclass
class Server:
    """What all connections share: the delay in seconds, the replies, the counts."""

    delay: float = 0.0
    text: str = TEXT
    stats: Stats = field(default_factory=Stats)

    def __post_init__(self) -> None:
        self._seen: set[int] = set()
        completion = {
            "id": "chatcmpl-stub",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": MODEL,
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": self.text}},
            ],
            "usage": {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105},
        }
        self.completion = reply(200, completion)
        self.models = reply(200, {"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "stub"}]})

    def asked(self, body: bytes) -> None:
        """Count a chat completion that came in."""
        stats = self.stats
        stats.requests += 1
        if stats.first is None:
            stats.first = time.monotonic()
        self._seen.add(hash(body))
        stats.distinct = len(self._seen)

    def answered(self) -> None:
        """Count a reply that was written."""
        self.stats.answered += 1
        self.stats.last = time.monotonic()


class Connection(asyncio.Protocol):
    """One keep-alive connection of HTTP/1.1: requests in, replies out, one after the other."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._received = bytearray()
        self._waiting = False  # a reply is being delayed: what comes in meanwhile waits its turn
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        stats = self._server.stats
        stats.connections += 1
        stats.peak_connections = max(stats.peak_connections, stats.connections)

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._server.stats.connections -= 1

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._serve()

    def _serve(self) -> None:
        while not self._waiting and (request := self._next()) is not None:
            line, body = request
            if line.startswith(b"POST ") and b"/chat/completions" in line:
                self._server.asked(body)
                if self._server.delay:
                    self._waiting = True
                    asyncio.get_running_loop().call_later(self._server.delay, self._answer_late)
                else:
                    self._answer()
            elif line.startswith(b"GET ") and b"/models" in line:
                self._write(self._server.models)
            elif line.startswith(b"GET /stats"):
                self._write(reply(200, asdict(self._server.stats)))
            else:
                self._write(reply(404, {"error": {"message": f"no such path: {line.decode('latin-1')}"}}))

    def _next(self) -> tuple[bytes, bytes] | None:
        """The next whole request's first line and body, taken off what was received, or None."""
        received = self._received
        end = received.find(b"\r\n\r\n")
        if end < 0:
            return None
        head = bytes(received[:end])
        if _CHUNKED.search(head):
            self._write(reply(411, {"error": {"message": "this server needs a Content-Length"}}))
            received.clear()
            if self._transport is not None:
                self._transport.close()
            return None
        found = _LENGTH.search(head)
        whole = end + 4 + (int(found[1]) if found else 0)
        if len(received) < whole:
            return None
        body = bytes(received[end + 4 : whole])
        del received[:whole]
        return head.split(b"\r\n", 1)[0], body

    def _answer_late(self) -> None:
        self._waiting = False
        self._answer()
        self._serve()

    def _answer(self) -> None:
        self._write(self._server.completion)
        self._server.answered()

    def _write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)


def reply(status: int, content: object) -> bytes:
    """A whole HTTP response that carries `content` as JSON."""
    body = json.dumps(content, ensure_ascii=False).encode("utf-8")
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode("ascii") + body


async def serve(server: Server, port: int) -> None:
    """Serve for ever on 127.0.0.1, saying the port first; 0 takes a free one."""
    loop = asyncio.get_running_loop()
    listening = await loop.create_server(partial(Connection, server), "127.0.0.1", port, backlog=1024)
    print(listening.sockets[0].getsockname()[1], flush=True)
    await listening.serve_forever()


def main() -> None:
    """Parse the command line and serve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0, help="port to listen on (default: a free one)")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer (default: 0)")
    parser.add_argument("--text", default=TEXT, help="the answer")
    wish = parser.parse_args()
    asyncio.run(serve(Server(wish.delay, wish.text), wish.port))


if __name__ == "__main__":
    main()
