"""The Hugging Face Hub: a local one speaks the small part of its API that is used."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from twlocal.dataset import Bench, load
from twlocal.dataset.hub import HubSource, HuggingFaceHub, parse
from twlocal.errors import DatasetError

COMMIT = "1234567890abcdef1234567890abcdef12345678"
TOKEN = "hf_" + "x" * 30


class LocalHub:
    """The part of the Hub's API that twlocal uses, over HTTP, for one repository."""

    def __init__(self, files: dict[str, bytes], *, token: str = "", gated: bool = False, status: int = 0) -> None:
        self.files, self.token, self.gated, self.status = files, token, gated, status
        self.asked: list[str] = []
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

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        path = unquote(urlsplit(handler.path).path)
        self.asked.append(path)
        if self.status:
            return self.send(handler, self.status, b"{}")
        allowed = not self.token or handler.headers.get("Authorization") == f"Bearer {self.token}"
        if path.startswith("/api/datasets/own/er/"):
            return self.send(handler, 404, b"", {"X-Error-Code": "RepoNotFound"})
        if not path.startswith(("/api/datasets/own/name", "/datasets/own/name/resolve/")) or not (
            allowed or self.gated
        ):
            return self.send(handler, 401, b"", {"X-Error-Code": "RepoNotFound"})
        if path.startswith("/api/datasets/own/name/tree/"):
            entries = [
                {"type": "file", "path": name, "size": len(data), "oid": "0"} for name, data in self.files.items()
            ]
            return self.send(handler, 200, json.dumps(entries).encode())
        if path.startswith("/api/datasets/own/name/paths-info/"):
            return self.send(handler, 200, b"[]")
        if path.startswith("/api/"):
            revision = path.partition("/revision/")[2]
            if revision not in ("", "main", "v1", "refs/pr/3", COMMIT):
                return self.send(handler, 404, b"", {"X-Error-Code": "RevisionNotFound"})
            info = {"id": "own/name", "sha": COMMIT, "siblings": [{"rfilename": name} for name in self.files]}
            return self.send(handler, 200, json.dumps(info).encode())
        name = path.removeprefix(f"/datasets/own/name/resolve/{COMMIT}/")
        if not allowed:
            return self.send(handler, 403, b"", {"X-Error-Code": "GatedRepo"})
        if name not in self.files:
            return self.send(handler, 404, b"", {"X-Error-Code": "EntryNotFound"})
        content = self.files[name]
        etag = hashlib.sha256(content).hexdigest()
        return self.send(handler, 200, content, {"X-Repo-Commit": COMMIT, "ETag": f'"{etag}"'})

    def send(
        self, handler: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str] | None = None
    ) -> None:
        if handler.command == "POST":
            handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        handler.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **(headers or {}),
        }.items():
            handler.send_header(name, value)
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(body)


@pytest.fixture
def serve(monkeypatch, tmp_path) -> Iterator[object]:
    """Start a local hub; the real client talks to it, with a cache of its own and no stored login."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    monkeypatch.setattr(constants, "HF_STORED_TOKENS_PATH", str(tmp_path / "no-tokens"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temp"))
    (tmp_path / "temp").mkdir()
    monkeypatch.delenv("HF_TOKEN", raising=False)
    begun: list[LocalHub] = []

    def start(files: dict[str, bytes], **options: object) -> LocalHub:
        begun.append(LocalHub(files, **options))  # type: ignore[arg-type]
        return begun[-1]

    yield start
    for hub in begun:
        hub.close()


def written(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("private", [False, True])
def test_a_dataset_is_read_over_http(data, serve, private, capfd):
    files = {
        "data/刑法_test.parquet": data.formats[".parquet"]([data.row(0)]),
        "a.csv": data.formats[".csv"]([data.row(1), data.row(2)]),
        "README.md": b"# card",
        ".gitattributes": b"x",
        "dataset_infos.json": b"{}",
    }
    hub = serve(files, token=TOKEN)
    loaded = load("hf://own/name", private=private, hub=HuggingFaceHub(TOKEN, hub.endpoint))
    assert [item.question for item in loaded.items] == ["第1題？", "第2題？", "第0題？"]
    assert [item.subject for item in loaded.items] == ["a", "a", "刑法"]
    assert (loaded.name, loaded.revision) == ("hf://own/name", COMMIT)
    on_disk = b"".join(path.read_bytes() for path in written(data.folder))
    assert ("第1題".encode() in on_disk) != private, "in the download cache, and only when not private"
    assert not any(path.endswith("README.md") for path in hub.asked), "only the data are fetched"
    said = capfd.readouterr()
    assert said.out == "" and "\r" not in said.err


@pytest.mark.parametrize("revision", ["", "@v1", "@refs/pr/3", f"@{COMMIT}", "@refs%2Fpr%2F3"])
@pytest.mark.parametrize("inside", ["/a.csv", "/sub", "/sub/b.csv"])
def test_revisions_and_paths_inside(data, serve, revision, inside):
    hub = serve({"a.csv": data.formats[".csv"]([data.row(1)]), "sub/b.csv": data.formats[".csv"]([data.row(2)])})
    loaded = load(f"hf://datasets/own/name{revision}{inside}", hub=HuggingFaceHub(None, hub.endpoint), private=True)
    assert [item.question for item in loaded.items] == ["第1題？" if inside == "/a.csv" else "第2題？"]
    assert loaded.revision == COMMIT


def failing(source: str, hub: LocalHub, token: str | None = None, **options: object) -> str:
    with pytest.raises(DatasetError) as caught:
        load(source, hub=HuggingFaceHub(token, hub.endpoint), **options)  # type: ignore[arg-type]
    assert TOKEN not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("private", [False, True])
def test_a_gated_dataset_names_its_page_and_the_token(data, serve, private):
    hub = serve({"a.csv": b"x"}, token="another", gated=True)
    message = failing("hf://own/name", hub, TOKEN, private=private)
    assert "gated" in message and "HF_TOKEN" in message and f"{hub.endpoint}/datasets/own/name" in message


def test_a_private_dataset_without_a_token(serve):
    message = failing("hf://own/name", serve({"a.csv": b"x"}, token=TOKEN))
    assert "is private" in message and "HF_TOKEN" in message


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_token(serve, status):
    message = failing("hf://own/name", serve({}, status=status), TOKEN)
    assert f"refuses access ({status})" in message and "HF_TOKEN" in message


def test_a_name_that_the_hub_does_not_allow(serve):
    assert "not a dataset on the Hub: o..n/a--b" in failing("hf://o..n/a--b", serve({}))


def test_a_revision_or_a_path_that_is_not_there(data, serve):
    hub = serve({"formosa.parquet": b"x"})
    assert "no revision 'v9'" in failing("hf://own/name@v9", hub)
    message = failing("hf://own/name/formosa.csv", hub)
    assert "has no 'formosa.csv'" in message and "near: formosa.parquet" in message
    assert "no data file inside" in failing("hf://own/name", serve({"README.md": b"x"}))


def test_a_file_that_vanished(serve):
    hub = serve({"a.csv": b"x"})
    with pytest.raises(DatasetError, match=r"own/name: gone\.csv cannot be fetched"):
        HuggingFaceHub(None, hub.endpoint).read("own/name", COMMIT, "gone.csv", private=False)


def test_a_hub_in_trouble(serve):
    assert "answers with an error (500)" in failing("hf://own/name", serve({}, status=500))


def test_no_hub_to_be_reached(serve):
    hub = serve({})
    hub.server.server_close()
    message = failing("hf://own/name", hub)
    assert "cannot be reached" in message and "HF_HUB_OFFLINE" in message


def test_offline_mode(serve, monkeypatch):
    from huggingface_hub import constants
    from huggingface_hub.utils import close_session

    hub = serve({"a.csv": b"x"})
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    close_session()
    assert "cannot be reached" in failing("hf://own/name", hub) and hub.asked == []
    monkeypatch.undo()
    close_session()


def test_no_huggingface_hub(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(DatasetError, match=r"twlocal\[hub\]"):
        load("hf://own/name")


@pytest.mark.parametrize(
    ("source", "parsed"),
    [
        ("hf://o/n", HubSource("o/n", None, "")),
        ("hf://datasets/o/n/", HubSource("o/n", None, "")),
        ("hf://o/n@main/a/b.csv", HubSource("o/n", "main", "a/b.csv")),
        ("hf://o/n@refs/convert/parquet/a.parquet", HubSource("o/n", "refs/convert/parquet", "a.parquet")),
        ("hf://o/n/資料/題庫.csv", HubSource("o/n", None, "資料/題庫.csv")),
    ],
)
def test_parsing(source, parsed):
    assert parse(source) == parsed


@pytest.mark.parametrize("source", ["hf://", "hf://n", "hf://models/o/n", "hf://spaces/o/n", "hf://@v1/a", "hf://o/@x"])
def test_sources_that_name_no_dataset(source):
    with pytest.raises(DatasetError, match="not a dataset on the Hub"):
        parse(source)


@pytest.mark.parametrize("source", [f"hf://user:{TOKEN}@o/n", f"hf://o/n?token={TOKEN}", f"hf://o/n@{TOKEN}"])
def test_a_token_in_the_source_is_refused_and_not_repeated(source):
    with pytest.raises(DatasetError, match="HF_TOKEN") as caught:
        load(source)
    assert TOKEN not in str(caught.value)


class MemoryHub:
    """Files in memory that remember how they were asked for."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.contents = files
        self.private: list[bool] = []

    def files(self, repo: str, revision: str | None) -> tuple[str, list[str]]:
        return COMMIT, list(self.contents)

    def read(self, repo: str, commit: str, path: str, *, private: bool) -> bytes:
        self.private.append(private)
        return self.contents[path]


@pytest.mark.parametrize(
    ("stated", "bench_is", "read"), [(False, False, False), (True, False, True), (False, True, True)]
)
def test_a_private_bench_is_read_in_memory_without_being_told(data, stated, bench_is, read):
    hub = MemoryHub({"x.csv": data.formats[".csv"]([data.row()]), "y.csv": b""})
    benches = {"mine": Bench("mine", "hf://own/name/x.csv", 99, "Mine", private=bench_is)}
    loaded = load("mine", private=stated, benches=benches, hub=hub)
    assert hub.private == [read] and loaded.name == "mine" and loaded.revision == COMMIT
