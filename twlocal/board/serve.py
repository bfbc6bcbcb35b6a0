"""A preview of a site on this machine alone."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from twlocal.errors import UsageError

LOOPBACK = "127.0.0.1"


class _Handler(SimpleHTTPRequestHandler):
    """Files of one folder, and nothing else: what leads out of it, also over a link, is not found."""

    # Tables of types differ between machines, and a browser asked not to guess needs the right one.
    extensions_map = {  # noqa: RUF012 - as its base class declares it
        "": "application/octet-stream",
        ".html": "text/html; charset=utf-8",
        ".json": "application/json; charset=utf-8",
        ".jsonl": "application/x-ndjson; charset=utf-8",
        ".csv": "text/csv; charset=utf-8",
        ".txt": "text/plain; charset=utf-8",
    }

    def send_head(self) -> Any:
        path = Path(self.translate_path(self.path))
        root = Path(self.directory).resolve()
        if not path.resolve().is_relative_to(root):
            self.send_error(HTTPStatus.NOT_FOUND)
            return None
        return super().send_head()

    def list_directory(self, path: Any) -> None:
        self.send_error(HTTPStatus.NOT_FOUND)

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")  # the next build is to be seen at once
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        return


def server(folder: Path, port: int) -> ThreadingHTTPServer:
    """A server of the site in `folder`, listening on loopback. port: 0 takes a free one. Raises UsageError."""
    if not (folder / "index.html").is_file():
        raise UsageError(f"{folder} holds no index.html", hint=f"twlocal board build {folder} makes one")
    try:
        return ThreadingHTTPServer((LOOPBACK, port), partial(_Handler, directory=str(folder)))
    except OSError as error:
        raise UsageError(
            f"cannot listen on {LOOPBACK}:{port}: {error.strerror}", hint="--port 0 takes a free one"
        ) from error


def serve(folder: Path, port: int, say: Callable[[str], None]) -> None:
    """Serve until interrupted. `say` is told the address once it can be opened."""
    with server(folder, port) as running, ended_by(signal.SIGINT, signal.SIGTERM):
        say(f"http://{LOOPBACK}:{running.server_address[1]}/")
        try:
            running.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            return


@contextmanager
def ended_by(*signals: signal.Signals) -> Iterator[None]:
    """Within the block each of `signals` raises KeyboardInterrupt.

    Also in a job that a script began with `&`, where the shell has SIGINT ignored: it could only be killed otherwise.
    """
    before = {one: signal.signal(one, signal.default_int_handler) for one in signals}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
