"""`twlocal queue` and `twlocal watch` through the real command line: failures, kills, interrupts, weights, views."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., "subprocess.CompletedProcess[str]"]
Start = Callable[..., "subprocess.Popen[str]"]


def rows(db: Path, sql: str) -> list[tuple[Any, ...]]:
    if not db.exists():
        return []
    connection = sqlite3.connect(db, timeout=30)
    try:
        return connection.execute(sql).fetchall()
    except sqlite3.OperationalError:
        return []
    finally:
        connection.close()


def answers(db: Path) -> int:
    return sum(count for (count,) in rows(db, "SELECT count(*) FROM responses"))


def states(db: Path) -> list[str]:
    return [state for (state,) in rows(db, "SELECT state FROM queue_items ORDER BY no")]


def wait(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


@pytest.fixture
def folder(tmp_path: Path, make_questions: Callable[[int], Path]) -> Path:
    """Two models, twelve questions, and room for a queue's file."""
    for name in ("甲.gguf", "乙.gguf"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    make_questions(12)
    return tmp_path


def write(folder: Path, *, settings: str = "", models: str = '"甲.gguf", "乙.gguf"', more: str = "") -> Path:
    path = folder / "夜間.toml"
    text = f'backend = "scripted"\n{more}\nmodels = [{models}]\nbenchmarks = ["questions-12.jsonl"]\n'
    path.write_text(text + (f"[settings]\n{settings}\n" if settings else ""), encoding="utf-8")
    return path


def test_a_dry_run_tells_the_plan_and_does_nothing(twlocal: Call, folder: Path) -> None:
    done = twlocal("queue", write(folder), "--dry-run", "--db", "t.db", "--lang", "en")
    assert done.returncode == 0, done.stderr
    assert "夜間.toml: 2 items" in done.stdout
    assert "Nothing to fetch." in done.stdout
    assert "unknown" in done.stdout and "none of it was measured here" in done.stdout
    assert not (folder / "t.db").exists()


def test_a_queue_runs_to_its_end_and_its_speed_is_known_afterwards(twlocal: Call, folder: Path) -> None:
    done = twlocal("queue", write(folder, settings="delay = 0.01"), "--db", "t.db", "--lang", "en")
    assert done.returncode == 0, done.stderr
    assert "2 OK, 0 skipped, 0 failed" in done.stdout
    assert done.stdout.count("12/12") == 2
    again = twlocal("queue", write(folder, settings="delay = 0.01"), "--db", "t.db", "--dry-run", "--lang", "en")
    assert "Nothing to ask." in again.stdout and " 0 s" not in again.stdout
    assert "[1] 甲.gguf on questions-12.jsonl: begun (scripted)" in done.stderr
    assert states(folder / "t.db") == ["ok", "ok"]
    again = twlocal("queue", write(folder, settings="delay = 0.01"), "--db", "t.db", "--json")
    assert again.returncode == 0, again.stderr
    told = json.loads(again.stdout)
    assert [(one["state"], one["n"], one["answered"]) for one in told["items"]] == [("ok", 12, 12)] * 2
    assert all(one["interval"] and one["box_rate"] is not None for one in told["items"]), "no score without them"
    assert "begun" not in again.stderr, "nothing is done twice"
    plan = json.loads(
        twlocal("queue", write(folder, more="max_tokens = 9"), "--db", "t.db", "--dry-run", "--json").stdout
    )
    assert [one["answers"] for one in plan] == [12, 12]
    assert all(0 < one["seconds"] < 60 and one["measured_on"].endswith("questions-12.jsonl") for one in plan)


def test_what_ran_at_another_speed_is_the_same_run(twlocal: Call, folder: Path) -> None:
    """Settings that change no answer belong to no run's key: the queue's table must find the run all the same."""
    ran = twlocal(
        *("run", folder / "甲.gguf", "--bench", folder / "questions-12.jsonl", "--backend", "scripted"),
        *("--set", "delay=0.001", "--db", "t.db"),
    )
    assert ran.returncode == 0, ran.stderr
    ahead = json.loads(twlocal("queue", write(folder), "--db", "t.db", "--dry-run", "--json").stdout)
    assert [one["answered"] for one in ahead] == [12, 0]
    done = twlocal("queue", write(folder), "--db", "t.db", "--json")
    assert [one["answered"] for one in json.loads(done.stdout)["items"]] == [12, 12]
    assert len(rows(folder / "t.db", "SELECT * FROM runs")) == 2
    other = json.loads(
        twlocal("queue", write(folder, settings='say = "A"'), "--dry-run", "--json", "--db", "t.db").stdout
    )
    assert [one["answered"] for one in other] == [0, 0], "what may change an answer makes another run"


def test_a_model_that_fails_stops_no_other(twlocal: Call, folder: Path) -> None:
    path = folder / "q.toml"
    path.write_text(
        """
        benchmarks = ["questions-12.jsonl"]
        [[models]]
        model = "甲.gguf"
        backend = "scripted_stillborn"
        [[models]]
        model = "甲.gguf"
        backend = "scripted"
        settings = { fail_on = "第7題" }
        [[models]]
        model = "乙.gguf"
        backend = "scripted"
        """,
        encoding="utf-8",
    )
    done = twlocal("queue", path, "--db", "t.db", "--lang", "zh-TW")
    assert done.returncode == 1
    assert states(folder / "t.db") == ["failed", "failed", "ok"]
    flat = done.stdout.replace("\n", "")
    assert "完成 1，略過 0，失敗 2" in flat
    assert "no libfoo here" in flat and "1 of 12 not answered" in flat
    assert "Traceback" not in done.stderr + done.stdout


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('models = ["甲.gguf"]\nbenchmarks = ["nowhere.csv"]\n', "line"),
        ('models = ["丙.gguf"]\nbenchmarks = ["demo"]\n', "丙.gguf"),
        ('backend = "scripted"\nmodels = ["甲.gguf"]\nbenchmarks = ["demo"]\nsettings = { dealy = 1 }\n', "'dealy'"),
        ('backend = "nothing"\nmodels = ["甲.gguf"]\nbenchmarks = ["demo"]\n', "no backend named 'nothing'"),
        ('models = ["http://joe:hunter2@127.0.0.1:1/v1#m"]\nbenchmarks = ["demo"]\n', "password"),
        (
            """
            models = ["http://127.0.0.1:1/v1#m"]
            benchmarks = ["demo"]
            settings = { headers = { Authorization = "Bearer hunter2" } }
            """,
            "would be stored",
        ),
    ],
)
def test_a_wrong_file_is_told_before_anything_runs(twlocal: Call, folder: Path, text: str, says: str) -> None:
    path = folder / "q.toml"
    path.write_text(text, encoding="utf-8")
    done = twlocal("queue", path, "--db", "t.db")
    assert done.returncode == 2
    assert says in done.stderr and "q.toml, line" in done.stderr
    assert "Traceback" not in done.stderr and "hunter2" not in done.stderr
    assert rows(folder / "t.db", "SELECT * FROM queues") == []


def test_killed_in_the_middle_it_goes_on_and_asks_nothing_twice(twlocal: Call, start: Start, folder: Path) -> None:
    db, log = folder / "t.db", folder / "log"
    path = write(folder, settings=f'delay = 0.2\nlog = "{log}"')
    process = start("queue", path, "--db", db)
    wait(lambda: answers(db) >= 4)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = answers(db)
    assert states(db)[0] == "running", "nobody was there to write anything else"
    done = twlocal("queue", path, "--db", db, "--lang", "en", timeout=110)
    assert done.returncode == 0, done.stderr
    assert answers(db) == 24 > before
    assert "2 OK, 0 skipped, 0 failed" in done.stdout
    asked = log.read_text(encoding="utf-8").split()
    # What was in flight at the kill was stored by its process, which ends with the queue, or is asked again.
    assert 24 <= len(asked) <= 25


def test_an_interrupt_lets_what_runs_end_and_two_do_not(twlocal: Call, start: Start, folder: Path) -> None:
    db = folder / "t.db"
    path = write(folder, settings="delay = 0.2")
    process = start("queue", path, "--db", db, "--lang", "en")
    wait(lambda: answers(db) >= 2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert states(db) == ["ok", "waiting"] and answers(db) == 12
    assert "stopping after what is running" in err and "The same command goes on." in out
    assert "Traceback" not in out + err
    process = start("queue", path, "--db", db, "--lang", "en")
    wait(lambda: answers(db) >= 14)
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert states(db) == ["ok", "waiting"] and answers(db) < 24
    assert "1 still to do" in out


def test_a_second_queue_of_the_same_file_is_refused(twlocal: Call, start: Start, folder: Path) -> None:
    db = folder / "t.db"
    path = write(folder, settings="delay = 0.3")
    process = start("queue", path, "--db", db)
    wait(lambda: answers(db) >= 1)
    second = twlocal("queue", path, "--db", db)
    assert second.returncode == 1
    assert f"worked on by process {process.pid}" in second.stderr


def test_weights_are_fetched_and_only_those_given_back(
    twlocal: Call, folder: Path, model_hub: Any, hub_env: dict[str, str]
) -> None:
    model_hub.repos |= {"own/one": {"one-f16.gguf": b"1" * 5000}, "own/kept": {"kept-f16.gguf": b"2" * 5000}}
    hub = folder / "hf" / "hub"
    path = write(folder, models='"own/one", "own/kept"')
    first = twlocal("run", "own/kept", "--backend", "scripted", "--limit", "1", "--db", "other.db", env=hub_env)
    assert first.returncode == 0, first.stderr
    done = twlocal("queue", path, "--db", "t.db", "--reclaim", "--lang", "en", env=hub_env)
    assert done.returncode == 0, done.stderr
    assert "own/one: fetching own/one" in done.stderr and "own/kept: fetching" not in done.stderr
    assert "given back" in done.stderr
    assert [file.read_bytes()[:1] for file in hub.rglob("blobs/*") if file.is_file()] == [b"2"], "what was there stays"
    assert model_hub.fetched().count("one-f16.gguf") == 1
    again = twlocal("queue", path, "--db", "t.db", "--reclaim", env=hub_env)
    assert again.returncode == 0
    assert model_hub.fetched().count("one-f16.gguf") == 1, "what is done needs no weights"


def test_a_gated_model_is_skipped_and_an_unfetchable_one_fails(
    twlocal: Call, folder: Path, model_hub: Any, hub_env: dict[str, str]
) -> None:
    model_hub.repos |= {"own/gated": {"m.gguf": b"1"}, "own/broken": {"b.gguf": b"2" * 3000}}
    model_hub.gated.add("own/gated")
    path = write(folder, models='"own/gated", "own/broken", "甲.gguf"')
    model_hub.broken = {"b.gguf"}
    done = twlocal("queue", path, "--db", "t.db", "--lang", "en", env=hub_env, timeout=100)
    assert done.returncode == 1
    assert states(folder / "t.db") == ["skipped", "failed", "ok"]
    flat = " ".join(done.stdout.split())
    assert "own/gated is gated" in flat and "set HF_TOKEN" in flat
    assert "its weights could not be fetched" in flat


def test_a_model_that_fits_nowhere_here_is_refused_with_reasons(twlocal: Call, folder: Path) -> None:
    env = {"HF_TOKEN": "", "HF_HUB_OFFLINE": "1"}
    done = twlocal("run", "Llama-3.1-405B", "--bench", "questions-12.jsonl", "--db", "t.db", env=env)
    assert done.returncode == 2
    assert "Llama-3.1-405B cannot run here" in done.stderr
    assert "not llama_cpp: " in done.stderr and "twlocal route Llama-3.1-405B says more" in done.stderr
    assert rows(folder / "t.db", "SELECT * FROM runs") == []


def test_a_chinese_queue_says_in_chinese_why_and_what_it_does(twlocal: Call, folder: Path) -> None:
    path = folder / "夜.toml"
    path.write_text(
        'benchmarks = ["questions-12.jsonl"]\n'
        'models = ["Llama-3.1-405B", { model = "甲.gguf", backend = "scripted" }]\n',
        encoding="utf-8",
    )
    env = {"HF_TOKEN": "", "HF_HUB_OFFLINE": "1"}
    plan = twlocal("queue", path, "--dry-run", "--db", "t.db", "--lang", "zh-TW", env=env)
    done = twlocal("queue", path, "--db", "t.db", "--lang", "zh-TW", env=env)
    seen = twlocal("watch", "夜", "--once", "--db", "t.db", "--lang", "zh-TW")
    for told in (plan, done, seen):
        flat = "".join(told.stdout.split())
        assert "Llama-3.1-405B這裡跑不動：不用llama_cpp：" in flat, told.stderr
        assert "cannot run" not in flat and "notllama_cpp" not in flat
    assert "[2] 甲.gguf × questions-12.jsonl：開始（scripted）" in done.stderr
    assert "[2] 甲.gguf × questions-12.jsonl：完成" in done.stderr
    assert "2 項處理了 2 項" in seen.stdout, "one was skipped: that is not done"
    english = twlocal("watch", "夜", "--once", "--db", "t.db", "--lang", "en")
    assert "Llama-3.1-405B cannot run here: not llama_cpp: " in " ".join(english.stdout.split())
    assert "這裡跑不動" not in english.stdout
    (stored,) = (
        one for one in json.loads(twlocal("queue", path, "--db", "t.db", "--json", env=env).stdout)["items"][:1]
    )
    assert stored["state"] == "skipped" and stored["reason"].startswith("Llama-3.1-405B cannot run here")


# ── watch ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_watching_a_queue_from_another_process(twlocal: Call, start: Start, folder: Path) -> None:
    db = folder / "t.db"
    process = start("queue", write(folder, settings="delay = 1"), "--db", db)
    wait(lambda: answers(db) >= 1)
    once = twlocal("watch", "--once", "--db", db, "--lang", "en")
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
    assert once.returncode == 0, once.stderr
    assert "queue 夜間: 0 of 2 dealt with" in once.stdout
    for words in ("running", "waiting", "/12", "/s", "n = ", "box rate", "last answers"):
        assert words in once.stdout
    process.communicate(timeout=30)
    process = start("queue", write(folder, settings="delay = 0.1"), "--db", db)
    wait(lambda: "running" in states(db))
    followed = twlocal("watch", "夜間-2", "--interval", "0.5", "--db", db, "--lang", "en")
    process.communicate(timeout=60)
    lines = followed.stdout.splitlines()
    assert followed.returncode == 0
    assert any(line.startswith("queue 夜間-2: ") and "/12" in line for line in lines), "a line every so often"
    assert "queue 夜間-2: ended, 2 of 2 dealt with" in lines
    assert "\x1b" not in followed.stdout


def test_a_queues_name_gives_a_terminal_no_orders(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from twlocal import lock
    from twlocal.cli.queue import is_own_name, run_options, wish_of_words
    from twlocal.cli.watch import _page_of, _queue_page
    from twlocal.queues.file import read
    from twlocal.queues.pages import Look
    from twlocal.queues.state import opened

    path = write(folder).rename(folder / "夜\x1b[31m間\u202e.toml")
    file = read(path, run_options(), wish_of_words, is_own_name)
    monkeypatch.setattr(lock, "busy", lambda database, key: True)
    with opened(folder / "t.db") as (runs, queues):
        at = "2026-01-01T00:00:00.000000Z"
        row = queues.begin(file, [one.wish for one in file.entries], pid=1, host="here", at=at)
        page = _queue_page(row.name, runs, queues, folder / "t.db")
        for short in (True, False):
            told = "\n".join(page(Look(80, "en", "utf-8"), short)[0])
            assert "\x1b" not in told and "\u202e" not in told and "夜\\x1b[31m間" in told
        monkeypatch.undo()
        page = _page_of(None, runs, queues, folder / "t.db")
        assert "not being worked on" in page(Look(80, "en", "utf-8"), False)[0][0], "there is no run of it yet"


def test_watching_a_run(twlocal: Call, start: Start, folder: Path) -> None:
    db = folder / "t.db"
    words = ["run", folder / "甲.gguf", "--bench", folder / "questions-12.jsonl", "--backend", "scripted", "--db", db]
    process = start(*words, "--set", "delay=0.2")
    wait(lambda: answers(db) >= 2)
    followed = twlocal("watch", "--interval", "0.4", "--db", db, "--lang", "zh-TW")
    process.communicate(timeout=60)
    assert followed.returncode == 0, followed.stderr
    assert "12/12" in followed.stdout and "最近的作答" in followed.stdout and "完成" in followed.stdout
    later = twlocal("watch", "甲", "--db", db, "--lang", "en")
    assert "complete" in later.stdout, "one that has ended is shown, and that is all"
    killed = start(*words, "--set", "delay=0.2", "--max-tokens", "9")
    wait(lambda: answers(db) >= 14)
    killed.kill()
    killed.wait()
    assert "not being worked on" in twlocal("watch", "--db", db, "--lang", "en").stdout


def test_watching_what_is_not_there(twlocal: Call, folder: Path) -> None:
    missing = twlocal("watch", "--db", "none.db")
    assert missing.returncode == 2 and "no database" in missing.stderr
    assert not (folder / "none.db").exists(), "looking makes nothing"
    twlocal("run", folder / "甲.gguf", "--bench", "questions-12.jsonl", "--backend", "scripted", "--db", "t.db")
    wrong = twlocal("watch", "nothing", "--db", "t.db")
    assert wrong.returncode == 2 and "no run and no queue 'nothing'" in wrong.stderr


def test_watching_writes_nothing_and_says_what_is_too_old(twlocal: Call, folder: Path) -> None:
    connection = sqlite3.connect(folder / "old.db")
    connection.execute("CREATE TABLE runs (id INTEGER)")
    connection.execute("PRAGMA user_version=1")
    connection.close()
    old = (folder / "old.db").read_bytes()
    for words in (("watch",), ("queue", write(folder), "--dry-run")):
        done = twlocal(*words, "--db", "old.db")
        assert done.returncode == 1 and "twlocal runs brings it up to date" in done.stderr
        assert (folder / "old.db").read_bytes() == old


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_on_a_terminal_a_block_is_drawn_anew(start: Start, folder: Path) -> None:
    db = folder / "t.db"
    words = ["run", folder / "甲.gguf", "--bench", folder / "questions-12.jsonl", "--backend", "scripted", "--db", db]
    process = start(*words, "--set", "delay=0.8", "--limit", "8")
    wait(lambda: answers(db) >= 1)
    ours, theirs = pty.openpty()
    environ = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", "TWLOCAL_LANG": "en"}
    watching = subprocess.Popen(
        [sys.executable, "-m", "twlocal", "watch", "--interval", "0.5", "--db", str(db)],
        stdout=theirs, stderr=theirs, stdin=theirs, env=environ, close_fds=True,
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    while select.select([ours], [], [], 30)[0]:
        try:
            seen += os.read(ours, 65536)
        except OSError:  # Linux: the other end was closed
            break
    process.communicate(timeout=60)
    assert watching.wait(timeout=30) == 0
    text = seen.decode()
    assert text.count("\x1b[J") >= 2, "drawn over what stood there"
    assert "8/8" in text.rpartition("\x1b[J")[2]


@pytest.mark.engine
def test_two_benchmarks_on_a_real_engine(tmp_path: Path, twlocal: Call, make_questions: Callable[[int], Path]) -> None:
    make_questions(5)
    path = tmp_path / "real.toml"
    path.write_text(
        'limit = 2\nmax_tokens = 24\nprotocol = "box-2shot"\nmodels = ["smollm2-135m"]\n'
        'benchmarks = ["demo", "questions-5.jsonl"]\n',
        encoding="utf-8",
    )
    done = twlocal("queue", path, "--db", "t.db", "--json", timeout=110)
    assert done.returncode == 0, done.stderr
    items = json.loads(done.stdout)["items"]
    assert [(one["engine"], one["state"], one["n"]) for one in items] == [("llama_cpp", "ok", 2)] * 2
