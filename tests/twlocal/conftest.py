"""A local Hub of model repositories, which the real client of the Hub talks to."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

COMMIT = "1234567890abcdef1234567890abcdef12345678"


class ModelHub:
    """The part of the Hub's API that fetching models uses, over HTTP.

    repos: files by repository. sizes: what the listing says a file weighs, by name, where that is not its size here.
    gated: repositories whose files need `token`. cut: so many bytes of any large file are sent before the connection
    breaks, once. down: nothing is answered. broken: files whose content is not given. asked: (method, path, Range
    header) of every request.
    """

    def __init__(self) -> None:
        self.repos: dict[str, dict[str, bytes]] = {}
        self.sizes: dict[str, int] = {}
        self.gated: set[str] = set()
        self.token = "hf_right"
        self.cut = 0
        self.down = False
        self.broken: set[str] = set()
        self.asked: list[tuple[str, str, str | None]] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                hub.answer(self)

            do_HEAD = do_GET

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def fetched(self) -> list[str]:
        """Names of the files whose content was asked for, in order."""
        return [path.rpartition(f"{COMMIT}/")[2] for how, path, _ in self.asked if how == "GET" and "/resolve/" in path]

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        path = unquote(urlsplit(handler.path).path)
        if self.down:
            handler.close_connection = True
            return None
        self.asked.append((handler.command, path, handler.headers.get("Range")))
        granted = handler.headers.get("Authorization") == f"Bearer {self.token}"
        if match := re.fullmatch(r"/api/models/([^/]+/[^/]+)(/auth-check|/revision/.+)?", path):
            repo, rest = match[1], match[2] or ""
            if repo not in self.repos:
                return self.send(handler, 404, b"{}", {"X-Error-Code": "RepoNotFound"})
            if rest == "/auth-check":
                return self.send(handler, 200 if granted or repo not in self.gated else 403, b"{}", self.gate(granted))
            if rest.removeprefix("/revision/") not in ("", "main", "v1", COMMIT):
                return self.send(handler, 404, b"{}", {"X-Error-Code": "RevisionNotFound"})
            sizes = {name: self.sizes.get(name, len(data)) for name, data in self.repos[repo].items()}
            files = [{"rfilename": name, "size": size} for name, size in sizes.items()]
            info = {"id": repo, "sha": COMMIT, "siblings": files, "gated": "manual" if repo in self.gated else False}
            return self.send(handler, 200, json.dumps(info).encode())
        match = re.fullmatch(rf"/([^/]+/[^/]+)/resolve/{COMMIT}/(.+)", path)
        if match is None or match[2] not in self.repos.get(match[1], {}):
            return self.send(handler, 404, b"", {"X-Error-Code": "EntryNotFound"})
        if match[1] in self.gated and not granted:
            return self.send(handler, 403, b"", self.gate(granted))
        if handler.command == "GET" and match[2] in self.broken:
            return self.send(handler, 500, b"")
        return self.content(handler, self.repos[match[1]][match[2]])

    def gate(self, granted: bool) -> dict[str, str]:
        return {} if granted else {"X-Error-Code": "GatedRepo"}

    def content(self, handler: BaseHTTPRequestHandler, data: bytes) -> None:
        headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{hashlib.sha256(data).hexdigest()}"'}
        begin = int(handler.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
        if begin:
            headers["Content-Range"] = f"bytes {begin}-{len(data) - 1}/{len(data)}"
        self.send(handler, 206 if begin else 200, data[begin:], headers)

    def send(
        self, handler: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str] | None = None
    ) -> None:
        handler.send_response(status)
        told = {"Content-Type": "application/octet-stream", "Content-Length": str(len(body)), **(headers or {})}
        for name, value in told.items():
            handler.send_header(name, value)
        handler.end_headers()
        if handler.command == "HEAD":
            return
        if self.cut and len(body) > self.cut:
            body, self.cut = body[: self.cut], 0
            handler.close_connection = True
        handler.wfile.write(body)


@pytest.fixture
def model_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ModelHub]:
    """A local Hub; the client in this process talks to it, with a cache of its own and no stored login.

    A child is sent there by the environment that `hub_env` gives.
    """
    constants = pytest.importorskip("huggingface_hub.constants")
    hub = ModelHub()
    monkeypatch.setattr(constants, "ENDPOINT", hub.endpoint)
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", hub.endpoint + "/{repo_id}/resolve/{revision}/{filename}"
    )
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hf" / "hub"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    monkeypatch.setattr(constants, "HF_STORED_TOKENS_PATH", str(tmp_path / "no-tokens"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    yield hub
    hub.close()


@pytest.fixture
def hub_env(model_hub: ModelHub, tmp_path: Path) -> dict[str, str]:
    """The environment in which a child talks to the local Hub."""
    return {
        "HF_ENDPOINT": model_hub.endpoint,
        "HF_HOME": str(tmp_path / "hf"),
        "HF_TOKEN": "",
        "HF_HUB_DISABLE_XET": "1",
    }
