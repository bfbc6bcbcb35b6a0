"""Working a queue off: what runs beside what, what failed and why. Its processes are a script that says what it got."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from twlocal import engines, evaluate, hardware, hub_models
from twlocal.cli.queue import is_own_name, run_options, wish_of_words
from twlocal.errors import StoreError, UsageError
from twlocal.queues import cards, forecast, work
from twlocal.queues.file import read
from twlocal.queues.state import ItemRow, opened

MACHINES = Path(__file__).parents[2] / "data" / "machines"
GB = 10**9
# Logs what it was given, works for a moment, and ends as the model's name says.
SCRIPT = """
import json, os, sys, time
from pathlib import Path
words = sys.argv[1:]
model = Path(words[1]).name
told = {"words": words, "model": model, "cards": os.environ.get("CUDA_VISIBLE_DEVICES"), "begun": time.monotonic()}
time.sleep(float(os.environ.get("WORKS", "0.8")))
told["ended"] = time.monotonic()
with open(os.environ["LOG"], "a") as log:
    log.write(json.dumps(told) + "\\n")
if "dies" in model:
    sys.stderr.write("CUDA error: out of memory\\n"); sys.stderr.flush(); os.kill(os.getpid(), 11)
if "fails" in model:
    sys.stderr.write("warning: x\\ntwlocal: the server says 401\\n  \\u2192 set the key\\n"); sys.exit(1)
if "half" in model:
    sys.stderr.write("incomplete: 3 of 40 not answered yet\\n  \\u2192 twlocal resume x\\n"); sys.exit(1)
"""


class Quiet:
    """A screen that keeps what it hears."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, line: str) -> None:
        self.notes.append(line)

    def tick(self) -> None:
        pass


class Queue:
    """A queue in a folder, over models that are made as they are named."""

    def __init__(self, folder: Path, machine: str) -> None:
        self.folder, self.database = folder, folder / "t.db"
        recorded = hardware.from_recording(hardware.load(MACHINES / f"{machine}.toml")["outputs"])
        self.around = evaluate.Surroundings(environ={}, look=lambda known: (recorded, engines.planned(recorded)))
        (folder / "script.py").write_text(SCRIPT, encoding="utf-8")
        self.screen = Quiet()

    def checkpoint(self, name: str, size: int) -> str:
        """A checkpoint of that size, nearly none of it on the disk."""
        place = self.folder / name
        place.mkdir()
        config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16"}
        (place / "config.json").write_text(json.dumps(config), encoding="utf-8")
        with (place / "model.safetensors").open("wb") as file:
            file.truncate(size)
        return name

    def ahead(self, text: str) -> tuple[Any, list[forecast.Forecast]]:
        path = self.folder / "queue.toml"
        path.write_text(text, encoding="utf-8")
        file = read(path, run_options(), wish_of_words, is_own_name)
        with opened(self.database) as (runs, _):
            return file, forecast.forecast(file, runs, self.around, "here")

    def run(self, text: str, *, stop: work.Stop | None = None, works: float = 0.8) -> list[ItemRow]:
        file, ahead = self.ahead(text)
        environ = {**os.environ, "LOG": str(self.folder / "log"), "WORKS": str(works)}
        around = work.Surroundings(
            self.database, environ, lambda wish: False, command=(sys.executable, str(self.folder / "script.py"))
        )
        with opened(self.database) as (_, queues):
            row = queues.begin(file, [one.wish for one in ahead], pid=1, host="here", at="2026-01-01T00:00:00.000000Z")
            doing = work.Work(row.id, ahead, queues, around, screen=self.screen, stop=stop or work.Stop())
            self.outcome = doing.run()
            return queues.items(row.id)

    def log(self) -> list[dict[str, Any]]:
        lines = (self.folder / "log").read_text(encoding="utf-8").splitlines()
        return sorted(map(json.loads, lines), key=lambda told: told["begun"])


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    return Queue(tmp_path, "2x3090")


def overlap(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one["begun"] < other["ended"] and other["begun"] < one["ended"]


def text(models: Sequence[str], benchmarks: Sequence[str] = ("demo",)) -> str:
    return f"limit = 4\nmodels = {json.dumps(list(models))}\nbenchmarks = {json.dumps(list(benchmarks))}\n"


def test_models_run_side_by_side_as_far_as_the_cards_go(queue: Queue) -> None:
    small = [queue.checkpoint("a-small", 6 * GB), queue.checkpoint("b-small", 8 * GB)]
    large = queue.checkpoint("c-large", 30 * GB)
    items = queue.run(text([*small, large, "http://localhost:1/v1#m"]))
    assert [item.state for item in items] == ["ok"] * 4
    log = {told["model"]: told for told in queue.log()}
    first, second, third, server = (log[name] for name in ("a-small", "b-small", "c-large", "v1#m"))
    assert overlap(first, second)
    assert {first["cards"], second["cards"]} == {"0", "1"}
    assert third["cards"] == "0,1", "the fewest that hold it, which are both"
    assert not overlap(third, first) and not overlap(third, second)
    assert server["cards"] == os.environ.get("CUDA_VISIBLE_DEVICES") and not overlap(server, third)
    assert [item.cards for item in items] == [first["cards"], second["cards"], "0,1", ""]
    assert {item.engine for item in items[:3]} == {"vllm"}


def test_items_of_one_model_follow_one_another_on_its_card(queue: Queue, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("question,A,B,C,D,answer\n題,一,二,三,四,A\n", encoding="utf-8")
    queue.run(text([queue.checkpoint("a", 6 * GB), queue.checkpoint("b", 6 * GB)], ["demo", "q.csv"]), works=0.5)
    log = queue.log()
    for name in "ab":
        mine = [told for told in log if told["model"] == name]
        assert len(mine) == 2 and mine[0]["cards"] == mine[1]["cards"] and not overlap(*mine)
    assert overlap(log[0], log[1])


def test_without_cards_one_after_another(tmp_path: Path) -> None:
    queue = Queue(tmp_path, "laptop-no-gpu")
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).write_bytes(name.encode())
    queue.run(text(["a.gguf", "b.gguf"]), works=0.3)
    assert not overlap(*queue.log())


def test_one_failure_stops_no_other_and_every_end_has_its_reason(tmp_path: Path) -> None:
    queue = Queue(tmp_path, "laptop-no-gpu")
    for name in ("dies.gguf", "fails.gguf", "half.gguf", "good.gguf"):
        (tmp_path / name).write_bytes(name.encode())
    large = queue.checkpoint("checkpoint", 6 * GB)
    items = queue.run(text(["dies.gguf", "fails.gguf", "half.gguf", large, "good.gguf"]), works=0)
    assert [item.state for item in items] == ["failed", "failed", "failed", "skipped", "ok"]
    assert items[0].reason == "its process ended by SIGSEGV; its last words: CUDA error: out of memory"
    assert items[1].reason == "the server says 401 (set the key)"
    assert items[2].reason.startswith("incomplete: 3 of 40 not answered yet")
    assert "not vllm" in items[3].reason and "NVIDIA" in items[3].reason
    assert queue.outcome == "done"
    assert any("failed: the server says 401" in note for note in queue.screen.notes)


@pytest.mark.skipif(sys.platform == "win32", reason="another limit")
def test_a_process_that_cannot_be_begun_stops_no_other(tmp_path: Path) -> None:
    queue = Queue(tmp_path, "laptop-no-gpu")
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).write_bytes(name.encode())
    long = json.dumps("x" * 200_000)  # longer than Linux takes one word of a command line; on macOS, five make 1 MB
    models = f"""
        benchmarks = ["demo"]
        limit = 4
        backend = "scripted"
        [[models]]
        model = "a.gguf"
        settings = {{ say = [{", ".join([long] * 6)}] }}
        [[models]]
        model = "b.gguf"
    """
    items = queue.run(models, works=0)
    assert [item.state for item in items] == ["failed", "ok"]
    assert items[0].reason == "its process could not be begun: Argument list too long"


def test_the_same_queue_does_only_what_is_left(tmp_path: Path) -> None:
    queue = Queue(tmp_path, "laptop-no-gpu")
    for name in ("good.gguf", "fails.gguf"):
        (tmp_path / name).write_bytes(name.encode())
    queue.run(text(["good.gguf", "fails.gguf"]), works=0)
    items = queue.run(text(["good.gguf", "fails.gguf"]), works=0)
    assert [item.state for item in items] == ["ok", "failed"]
    assert [told["model"] for told in queue.log()] == ["good.gguf", "fails.gguf", "fails.gguf"]


def test_a_database_that_is_taken_away_ends_the_queue(tmp_path: Path) -> None:
    queue = Queue(tmp_path, "laptop-no-gpu")
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).write_bytes(name.encode())

    def take_away() -> None:
        while not any("begun" in note for note in queue.screen.notes):
            time.sleep(0.01)
        for file in tmp_path.glob("t.db*"):
            file.unlink()

    taker = threading.Thread(target=take_away)
    taker.start()
    with pytest.raises(StoreError, match="taken away"):
        queue.run(text(["a.gguf", "b.gguf"]))
    taker.join()
    assert [told["model"] for told in queue.log()] == ["a.gguf"] and not queue.database.exists()


@pytest.mark.parametrize(("times", "ended"), [(1, 1), (2, 0)])
def test_stopping_after_what_runs_and_at_once(tmp_path: Path, times: int, ended: int) -> None:
    queue = Queue(tmp_path, "laptop-no-gpu")
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).write_bytes(name.encode())
    stop = work.Stop()

    def press() -> None:
        while not any("begun" in note for note in queue.screen.notes):
            time.sleep(0.01)
        time.sleep(0.3)
        for _ in range(times):
            stop.press()

    presser = threading.Thread(target=press)
    presser.start()
    items = queue.run(text(["a.gguf", "b.gguf"]), stop=stop, works=1.5)
    presser.join()
    assert queue.outcome == "interrupted"
    assert [item.state for item in items] == (["ok", "waiting"] if ended else ["waiting", "waiting"])
    assert len(queue.log() if ended else []) == ended


@pytest.mark.parametrize(
    ("machine", "size", "needed", "of_two_free"),
    [
        ("2x3090", 6 * GB, 1, (0,)),
        ("2x3090", 30 * GB, 2, (0, 1)),
        ("8xh100", 16 * GB, 1, (0,)),
        ("8xh100", 100 * GB, 2, (0, 1)),
        ("8xh100", 141 * GB, 4, ()),
        ("laptop-no-gpu", 0, 0, ()),
    ],
)
def test_the_fewest_cards_that_hold_it(
    tmp_path: Path, machine: str, size: int, needed: int, of_two_free: tuple[int, ...]
) -> None:
    queue = Queue(tmp_path, machine)
    if not size:
        (tmp_path / "m.gguf").write_bytes(b"x")
    name = queue.checkpoint("m", size) if size else "m.gguf"
    _, [one] = queue.ahead(text([name]))
    assert one.placed is not None
    assert cards.needed(one.placed) == needed
    if needed and one.placed.machine is not None:
        given = cards.assign(one.placed, needed, one.placed.machine.gpus[:2])
        assert tuple(gpu.index for gpu in given) == of_two_free


def test_a_card_that_others_use_is_given_last(tmp_path: Path) -> None:
    queue = Queue(tmp_path, "2x3090")
    _, [one] = queue.ahead(text([queue.checkpoint("m", 6 * GB)]))
    assert one.placed is not None and one.placed.machine is not None
    busy, idle = one.placed.machine.gpus
    busy, idle = replace(busy, free=2 * GB), replace(idle, free=25 * GB)
    assert cards.assign(one.placed, 1, [busy, idle]) == (idle,)
    assert cards.assign(one.placed, 1, [busy]) == (busy,), "better than none: it may be free by then"


def test_a_name_that_is_wrong_anywhere_is_a_fault_of_the_file(queue: Queue) -> None:
    with pytest.raises(UsageError, match=r"queue.toml, lines 2 and 3: Lama-Taiwan on demo: .* names no model"):
        queue.ahead(text(["Lama-Taiwan"]))
    with pytest.raises(UsageError, match=r"lines 2 and 3: m\.gguf on demo"):
        queue.ahead(text(["m.gguf"]))


def test_questions_that_cannot_be_read_are_a_fault_of_the_file(queue: Queue, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("question,A\nx,y\n", encoding="utf-8")
    (tmp_path / "m.gguf").write_bytes(b"x")
    with pytest.raises(UsageError, match=r"lines 2 and 3: m\.gguf on q\.csv"):
        queue.ahead(text(["m.gguf"], ["q.csv"]))


@pytest.mark.parametrize("room", [True, False])
def test_the_next_fetch_goes_on_beside_what_runs_as_far_as_the_disk_has_room(
    queue: Queue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: bool
) -> None:
    (tmp_path / "m.gguf").write_bytes(b"x")
    file, [local] = queue.ahead(text(["m.gguf"]))
    held = hub_models.Repository("own/big", "c1", {"big.gguf": 50 * GB})
    assert local.placed is not None
    far = replace(local.placed, model="own/big:big", repository=held, names=("big.gguf",), absent=50 * GB)
    elsewhere = replace(local, entry=replace(local.entry, no=1), placed=far, wish=replace(local.wish, model="own/big"))
    monkeypatch.setattr(hub_models, "absent", lambda repository, names: list(names))
    monkeypatch.setattr(hub_models, "free_bytes", lambda: 100 * GB if room else 10 * GB)
    environ = {**os.environ, "LOG": str(tmp_path / "log"), "WORKS": "0.8"}
    around = work.Surroundings(
        queue.database, environ, lambda wish: False, command=(sys.executable, str(tmp_path / "script.py"))
    )
    with opened(queue.database) as (_, queues):
        row = queues.begin(file, [local.wish], pid=1, host="here", at="2026-01-01T00:00:00.000000Z")
        work.Work(row.id, [local, elsewhere], queues, around, screen=queue.screen, stop=work.Stop()).run()
        assert queues.fetched(row.id) == {("own/big", "c1"): ("big.gguf",)}, "written down before it began"
    log = queue.log()
    [fetch] = [told for told in log if told["words"][0] == "fetch"]
    first, second = (told for told in log if told["words"][0] == "run")
    assert overlap(fetch, first) is room
    assert not overlap(fetch, second)
