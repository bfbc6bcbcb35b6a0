"""The preview: on loopback, one folder, nothing beside it; and an end when it is interrupted."""

from __future__ import annotations

import http.client
import signal
import threading
from collections.abc import Iterator

import pytest

from twlocal.board.serve import server
from twlocal.errors import UsageError


@pytest.fixture
def address(tmp_path) -> Iterator[tuple[str, int]]:
    site = tmp_path / "site"
    (site / "models").mkdir(parents=True)
    (site / "index.html").write_text("<p>臺灣", encoding="utf-8")
    (site / "models" / "模型.html").write_text("<p>模型", encoding="utf-8")
    (site / "data.json").write_text("{}", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    (site / "link.txt").symlink_to(tmp_path / "secret.txt")
    with server(site, 0) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running.server_address[0], running.server_address[1]
        running.shutdown()
        thread.join()


def get(address: tuple[str, int], path: str) -> tuple[int, str, str]:
    connection = http.client.HTTPConnection(*address, timeout=10)
    connection.request("GET", path)
    reply = connection.getresponse()
    found = (reply.status, reply.headers.get("Content-Type", ""), reply.read().decode("utf-8"))
    connection.close()
    return found


def test_pages_and_data_come_with_their_types(address):
    assert address[0] == "127.0.0.1"
    assert get(address, "/") == (200, "text/html; charset=utf-8", "<p>臺灣")
    assert get(address, "/models/%E6%A8%A1%E5%9E%8B.html?x=1")[0::2] == (200, "<p>模型")
    assert get(address, "/data.json")[1] == "application/json; charset=utf-8"


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/models/../../secret.txt",
        "/link.txt",
        "/..%5csecret.txt",
        "//etc/passwd",
    ],
)
def test_nothing_outside_the_site_is_served(address, path):
    status, _, body = get(address, path)
    assert status == 404 and "secret" not in body.replace("secret.txt", "")


def test_folders_are_not_listed(address):
    assert get(address, "/models/")[0] == 404


def test_what_is_no_site_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no index"):
        server(tmp_path, 0)


def test_a_port_that_is_taken_is_named(address, tmp_path):
    with pytest.raises(UsageError, match=f"cannot listen on 127.0.0.1:{address[1]}"):
        server(tmp_path / "site", address[1])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("ignored", [False, True])
def test_the_command_says_its_address_and_ends_on_ctrl_c(start, tmp_path, number, ignored):
    """Also where it was begun with SIGINT ignored, as a shell does for `… &` in a script."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("here", encoding="utf-8")
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if ignored else None
    try:
        process = start("board", "serve", "site")
    finally:
        if ignored:
            signal.signal(signal.SIGINT, before)
    said = process.stdout.readline().strip()
    host, _, port = said.removeprefix("http://").rstrip("/").partition(":")
    assert get((host, int(port)), "/")[2] == "here"
    process.send_signal(number)
    _, error = process.communicate(timeout=30)
    assert process.returncode == 0 and "Traceback" not in error
