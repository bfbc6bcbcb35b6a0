"""The main job through the real command line: stop anywhere, resume exactly, never mix, never ask twice."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

Call = Callable[..., "subprocess.CompletedProcess[str]"]
Start = Callable[..., "subprocess.Popen[str]"]


def _asked(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8").split() if log.exists() else []


def _count(db: Path) -> int:
    if not db.exists():
        return 0
    connection = sqlite3.connect(db, timeout=30)
    try:
        return int(connection.execute("SELECT count(*) FROM responses").fetchone()[0])
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()


def _wait(condition: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


@pytest.fixture
def base(model_file: Path, questions: Path, tmp_path: Path) -> list[str]:
    """The words of a run of forty questions on the scripted backend, in t.db."""
    return [
        "run",
        str(model_file),
        "--bench",
        str(questions),
        "--backend",
        "scripted",
        "--db",
        str(tmp_path / "t.db"),
        "--lang",
        "en",
    ]


def test_a_run_ends_with_a_report_on_stdout_and_progress_on_stderr(twlocal: Call, base: list[str]) -> None:
    done = twlocal(*base)
    assert done.returncode == 0, done.stderr
    assert "box" in done.stdout
    assert "40" in done.stdout
    assert "40/40 answered" in done.stderr
    assert "\r" not in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


def test_the_same_command_asks_nothing_twice(twlocal: Call, base: list[str], tmp_path: Path) -> None:
    log = tmp_path / "log"
    first = twlocal(*base, "--set", f"log={log}")
    second = twlocal(*base, "--set", f"log={log}")
    assert first.returncode == second.returncode == 0
    assert len(_asked(log)) == 40
    assert "all 40 answered before" in second.stderr
    assert first.stdout.splitlines()[0] == second.stdout.splitlines()[0]


@pytest.mark.parametrize(
    "change", [["--max-tokens", "9"], ["--protocol", "twinkle"], ["--repeats", "2"], ["--limit", "39"]]
)
def test_any_difference_is_another_run(twlocal: Call, base: list[str], tmp_path: Path, change: list[str]) -> None:
    twlocal(*base)
    twlocal(*base, *change)
    listed = json.loads(twlocal("runs", "--db", tmp_path / "t.db", "--json").stdout)
    assert len(listed) == 2
    assert all(run["state"] == "complete" for run in listed)


def test_how_fast_it_is_asked_is_no_difference(twlocal: Call, base: list[str], tmp_path: Path) -> None:
    twlocal(*base, "--set", "ahead=1")
    twlocal(*base, "--set", "ahead=5")
    assert len(json.loads(twlocal("runs", "--db", tmp_path / "t.db", "--json").stdout)) == 1


@pytest.mark.parametrize("backend", [pytest.param("scripted", marks=pytest.mark.slow), "scripted_isolated"])
def test_killed_many_times_it_exports_the_same_bytes(
    twlocal: Call, start: Start, base: list[str], tmp_path: Path, backend: str
) -> None:
    words = [*base, "--set", "delay=0.02", "--repeats", "2", "--limit", "24", "--backend", backend]
    whole = tmp_path / "whole.db"
    assert twlocal(*[word.replace("t.db", "whole.db") for word in words]).returncode == 0
    chance = random.Random(7)
    log, db = tmp_path / "log", tmp_path / "t.db"
    kills = 0
    while _count(db) < 48 and kills < 24:
        process = start(*words, "--set", f"log={log}")
        before = _count(db)
        goal = before + chance.randint(3, 9)
        _wait(lambda goal=goal, process=process: _count(db) >= goal or process.poll() is not None)  # type: ignore[misc]
        time.sleep(chance.random() * 0.03)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += 1
        assert _count(db) >= before, "what was stored stays"
    assert kills >= 5
    last = twlocal(*words, "--set", f"log={log}")
    assert last.returncode == 0, last.stderr

    def exported(path: Path, form: str) -> bytes:
        name = json.loads(twlocal("runs", "--db", path, "--json").stdout)[0]["name"]
        target = tmp_path / f"{path.stem}.{form}"
        assert twlocal("export", name, "--db", path, "-o", target).returncode == 0
        return target.read_bytes()

    for form in ("jsonl", "csv", "parquet"):
        assert exported(whole, form) == exported(db, form)
    # An answer in flight at a kill is asked again; one that was stored never is.
    assert len(set(_asked(log))) == 48
    assert len(_asked(log)) <= 48 + kills * 2


def test_a_report_covers_every_sitting(twlocal: Call, start: Start, base: list[str], tmp_path: Path) -> None:
    db = tmp_path / "t.db"
    for goal in (10, 20):
        process = start(*base, "--set", "delay=0.03")
        _wait(lambda goal=goal: _count(db) >= goal)  # type: ignore[misc]
        process.kill()
        process.wait()
    assert twlocal(*base).returncode == 0
    report = json.loads(twlocal("report", "--db", db, "--json").stdout)
    assert report["score"]["n"] == 40
    assert report["time"]["sittings"] == 3
    assert report["time"]["seconds"] > 0.5, "the time of the killed sittings counts"
    assert report["score"]["tokens"]["completion"] == 200


def test_one_interrupt_stores_what_is_in_flight_and_says_how_to_go_on(
    start: Start, twlocal: Call, base: list[str], tmp_path: Path
) -> None:
    db, log = tmp_path / "t.db", tmp_path / "log"
    process = start(*base, "--set", "delay=0.08", "--set", f"log={log}")
    _wait(lambda: _count(db) >= 2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "twlocal resume" in err
    assert "Traceback" not in out + err
    assert _count(db) == len(_asked(log)), "what was asked was stored"
    again = twlocal("resume", "--db", db)
    assert again.returncode == 0, again.stderr
    assert _count(db) == 40
    assert len(_asked(log)) == 40, "the resumed run went by the stored settings, and asked the rest once"
    nothing = twlocal("resume", "--db", db)
    assert nothing.returncode == 0, "a script that goes on until all is done ends"
    assert "every run in the database is complete" in nothing.stderr


def test_a_second_interrupt_stops_now(start: Start, base: list[str], tmp_path: Path) -> None:
    db = tmp_path / "t.db"
    process = start(*base, "--backend", "scripted_isolated", "--set", "delay=30")
    _wait(db.exists)
    _wait(lambda: _sittings(db) == 1)
    time.sleep(0.3)
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=10)
    assert process.returncode == 130
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize("backend", ["scripted", "scripted_isolated"])
def test_an_interrupt_while_the_model_loads_ends_at_once(
    start: Start, base: list[str], tmp_path: Path, backend: str
) -> None:
    log = tmp_path / "log"
    process = start(*base, "--backend", backend, "--set", "load=30", "--set", f"log={log}")
    _wait(log.exists)
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert time.monotonic() - begun < 10
    assert process.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in out + err


def test_an_interrupt_is_heard_while_the_database_is_locked(start: Start, base: list[str], tmp_path: Path) -> None:
    db = tmp_path / "t.db"
    process = start(*base, "--set", "delay=0.05")
    _wait(lambda: _count(db) >= 3)
    holder = sqlite3.connect(db, isolation_level=None, timeout=30)
    holder.execute("BEGIN IMMEDIATE")
    time.sleep(0.3)
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=20)
    holder.close()
    assert process.returncode == 130
    assert time.monotonic() - begun < 5


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no terminals that hang up here")
def test_a_terminal_that_is_closed_stops_a_run_as_an_interrupt_does(
    start: Start, base: list[str], tmp_path: Path
) -> None:
    db = tmp_path / "t.db"
    # Where the tests themselves run under nohup, a child would inherit that and rightly ignore the signal.
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        process = start(
            *base, "--backend", "scripted_isolated", "--set", "delay=0.1", "--set", f"log={tmp_path / 'log'}"
        )
    finally:
        signal.signal(signal.SIGHUP, before)
    _wait(lambda: _count(db) >= 2)
    os.killpg(process.pid, signal.SIGHUP)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "twlocal resume" in err
    assert _count(db) == len(_asked(tmp_path / "log")), "its engine did not hear of it"


def _sittings(db: Path) -> int:
    try:
        connection = sqlite3.connect(db, timeout=30)
        return int(connection.execute("SELECT count(*) FROM sittings").fetchone()[0])
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()


def test_a_second_process_is_told_who_has_the_run(start: Start, twlocal: Call, base: list[str], tmp_path: Path) -> None:
    db = tmp_path / "t.db"
    process = start(*base, "--set", "delay=0.5")
    _wait(lambda: _count(db) >= 1)
    second = twlocal(*base)
    assert second.returncode == 1
    assert f"process {process.pid}" in second.stderr
    assert json.loads(twlocal("runs", "--db", db, "--json").stdout)[0]["state"] == "running"
    process.kill()
    process.wait()
    assert twlocal(*base, "--set", "delay=0").returncode == 0, "a lock dies with its process"


def test_two_runs_share_a_database(start: Start, base: list[str], tmp_path: Path, twlocal: Call) -> None:
    others = [start(*base, "--max-tokens", str(number), "--set", "delay=0.01") for number in (5, 6, 7)]
    for process in others:
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    assert _count(tmp_path / "t.db") == 120


def test_a_locked_database_is_waited_for(start: Start, base: list[str], tmp_path: Path) -> None:
    db = tmp_path / "t.db"
    process = start(*base, "--set", "delay=0.05")
    _wait(lambda: _count(db) >= 3)
    holder = sqlite3.connect(db, isolation_level=None, timeout=30)
    holder.execute("BEGIN IMMEDIATE")
    held = _count(db)
    time.sleep(1.5)
    assert _count(db) == held
    holder.execute("ROLLBACK")
    holder.close()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert _count(db) == 40


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of three MiB. Only root may mount one; without it the same case runs in test_runs.py."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("may not mount a small file system here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_keeps_what_is_there_and_goes_on_later(
    twlocal: Call, base: list[str], tmp_path: Path, small_disk: Path
) -> None:
    db, log, ballast = small_disk / "t.db", tmp_path / "log", small_disk / "ballast"
    words = [str(db) if word.endswith("t.db") else word for word in base]
    words += ["--set", "say=" + "題" * 3000 + " \\boxed{A}", "--set", f"log={log}"]
    ballast.write_bytes(b"x" * 2_600_000)
    stopped = twlocal(*words)
    assert stopped.returncode == 1, stopped.stderr
    assert "no room left" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    ballast.unlink()
    stored = _count(db)
    assert 1 < stored < 40
    asked = len(_asked(log))
    again = twlocal(*words)
    assert again.returncode == 0, again.stderr
    assert len(_asked(log)) - asked == 40 - stored


def test_a_full_disk_is_told_of_by_whoever_reads(twlocal: Call, base: list[str], small_disk: Path) -> None:
    db = small_disk / "t.db"
    assert twlocal(*[str(db) if word.endswith("t.db") else word for word in base]).returncode == 0
    ballast = small_disk / "ballast"
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while file.write(b"x" * 4096):
            pass
    told = twlocal("report", "--db", db)
    assert told.returncode == 1
    assert "no room left" in told.stderr
    ballast.unlink()
    assert twlocal("report", "--db", db).returncode == 0


def test_a_database_that_may_only_be_read_is_read(twlocal: Call, base: list[str], small_disk: Path) -> None:
    db = small_disk / "t.db"
    words = [str(db) if word.endswith("t.db") else word for word in base]
    assert twlocal(*words).returncode == 0
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    listed = twlocal("runs", "--db", db, "--json")
    assert [run["state"] for run in json.loads(listed.stdout)] == ["complete"], "nobody works on it"
    assert twlocal("report", "--db", db).returncode == 0
    refused = twlocal(*words)
    assert refused.returncode == 1
    assert "--db" in refused.stderr and "Traceback" not in refused.stderr


def test_one_database_under_two_names_is_held_once(
    start: Start, twlocal: Call, base: list[str], tmp_path: Path
) -> None:
    process = start(*base, "--set", "delay=0.5")
    _wait(lambda: _count(tmp_path / "t.db") >= 1)
    (tmp_path / "link.db").symlink_to("t.db")
    second = twlocal(*[word.replace("t.db", "link.db") for word in base])
    process.kill()
    process.wait()
    assert second.returncode == 1
    assert f"process {process.pid}" in second.stderr


def test_a_poisoned_item_is_passed_over_and_the_run_is_incomplete(
    twlocal: Call, base: list[str], tmp_path: Path
) -> None:
    words = [*base, "--backend", "scripted_isolated", "--set", "die_on=第11題", "--set", f"log={tmp_path / 'log'}"]
    done = twlocal(*words)
    assert done.returncode == 1
    assert "incomplete: 1 of 40" in done.stderr
    assert "39" in done.stdout
    assert _asked(tmp_path / "log").count(max(set(_asked(tmp_path / "log")), key=_asked(tmp_path / "log").count)) == 3
    again = twlocal(*words)
    assert again.returncode == 1
    assert len(_asked(tmp_path / "log")) == 39 + 3, "passed over, not asked a fourth time"
    mended = twlocal(*base, "--backend", "scripted_isolated", "--retry-failed")
    assert mended.returncode == 0, mended.stderr


def test_a_failed_row_is_tried_again_by_the_next_sitting(twlocal: Call, base: list[str], tmp_path: Path) -> None:
    failed = twlocal(*base, "--set", "fail_on=第7題")
    assert failed.returncode == 1
    assert "500" in failed.stderr
    report = json.loads(twlocal("report", "--db", tmp_path / "t.db", "--json").stdout)
    assert report["score"]["n"] == 39
    assert report["complete"] is False
    assert report["failures"] == {"server": 1}
    assert twlocal(*base).returncode == 0
    report = json.loads(twlocal("report", "--db", tmp_path / "t.db", "--json").stdout)
    assert report["failures"] == {}


def test_a_configuration_error_stops_at_once_and_keeps_the_rest(twlocal: Call, base: list[str], tmp_path: Path) -> None:
    stopped = twlocal(*base, "--set", "refuse_after=5")
    assert stopped.returncode == 1
    assert "401" in stopped.stderr
    assert "set the key" in stopped.stderr
    assert _count(tmp_path / "t.db") == 5


@pytest.mark.parametrize("say", ["", "抱歉，我無法回答。"])
def test_a_model_that_always_says_the_same_nothing_is_stopped_early(
    twlocal: Call, base: list[str], tmp_path: Path, say: str
) -> None:
    stopped = twlocal(*base, "--set", f"say={json.dumps(say)}", "--set", "delay=0.02")
    assert stopped.returncode == 1
    assert _count(tmp_path / "t.db") < 40
    assert "Traceback" not in stopped.stderr


def test_resume_refuses_a_changed_dataset(
    twlocal: Call, start: Start, base: list[str], tmp_path: Path, questions: Path
) -> None:
    process = start(*base, "--set", "delay=0.05")
    _wait(lambda: _count(tmp_path / "t.db") >= 3)
    process.kill()
    process.wait()
    rows = questions.read_text(encoding="utf-8").splitlines()
    questions.write_text("\n".join([rows[0].replace("甲0", "改0"), *rows[1:]]), encoding="utf-8")
    refused = twlocal("resume", "--db", tmp_path / "t.db")
    assert refused.returncode == 2
    assert "changed" in refused.stderr


def test_ids_of_two_subjects_do_not_collide(twlocal: Call, base: list[str], tmp_path: Path) -> None:
    path = tmp_path / "同號.jsonl"
    rows = [
        {"subject": subject, "id": "0", "question": question, "A": "一", "B": "二", "C": "三", "D": "四", "answer": "A"}
        for subject, question in (("民法", "甲題"), ("刑法", "乙題"))
    ]
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    words = [str(path) if word.endswith("題庫.jsonl") else word for word in base]
    assert twlocal(*words, "--set", f"log={tmp_path / 'log'}").returncode == 0
    assert len(_asked(tmp_path / "log")) == 2


def test_nothing_but_question_and_options_reaches_the_prompt(twlocal: Call, base: list[str], tmp_path: Path) -> None:
    path = tmp_path / "extra.jsonl"
    row = {
        "id": "x1",
        "subject": "刑法",
        "explanation": "故選 C",
        "question": "q",
        "A": "甲",
        "B": "乙",
        "C": "丙",
        "D": "丁",
        "answer": "C",
    }
    path.write_text(json.dumps(row, ensure_ascii=False), encoding="utf-8")
    words = [str(path) if word.endswith("題庫.jsonl") else word for word in base]
    assert twlocal(*words).returncode == 0
    name = json.loads(twlocal("runs", "--db", tmp_path / "t.db", "--json").stdout)[0]["name"]
    shown = json.loads(twlocal("show", name, "x1", "--db", tmp_path / "t.db", "--json").stdout)
    prompt = "\n".join(message["content"] for message in shown["answers"][0]["prompt"])
    assert "故選" not in prompt
    assert "刑法" not in prompt
    assert "x1" not in prompt
    assert sorted(line[3:] for line in prompt.splitlines()[-4:]) == sorted("甲乙丙丁")


def test_a_private_run_keeps_no_question(twlocal: Call, base: list[str], tmp_path: Path) -> None:
    assert twlocal(*base, "--private").returncode == 0
    for file in tmp_path.glob("t.db*"):
        assert "下列何者正確" not in file.read_bytes().decode("utf-8", "ignore")
    name = json.loads(twlocal("runs", "--db", tmp_path / "t.db", "--json").stdout)[0]["name"]
    shown = twlocal("show", name, "0", "--db", tmp_path / "t.db")
    assert shown.returncode == 0, shown.stderr
    assert "private" in shown.stdout


def test_the_manifest_holds_the_apparatus_and_no_secret(twlocal: Call, base: list[str], tmp_path: Path) -> None:
    twlocal(*base, env={"OPENAI_API_KEY": "sk-zq7zq7", "HF_TOKEN": "hf_zq7zq7"})
    connection = sqlite3.connect(tmp_path / "t.db")
    manifest = json.loads(connection.execute("SELECT manifest FROM runs").fetchone()[0])
    engine = json.loads(connection.execute("SELECT engine_info FROM sittings").fetchone()[0])
    connection.close()
    assert manifest["protocol"]["system_sha256"].startswith("3f4246ce5935a136")
    assert manifest["decoding"] == {"temperature": 0.0, "top_p": 0.9, "max_tokens": 4096}
    assert engine["sent"]["max_tokens"] == 4096
    assert manifest["machine"]["cores"] >= 1
    for file in tmp_path.glob("t.db*"):
        assert b"zq7zq7" not in file.read_bytes()


@pytest.mark.skipif(os.name != "posix", reason="the C locale is POSIX's")
def test_the_c_locale_without_pythons_rescue(twlocal: Call, base: list[str]) -> None:
    done = twlocal(*base, env={"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"})
    assert done.returncode == 0, done.stderr


def test_a_closed_pipe_is_no_traceback(base: list[str], start: Start, twlocal: Call, tmp_path: Path) -> None:
    twlocal(*base)
    name = json.loads(twlocal("runs", "--db", tmp_path / "t.db", "--json").stdout)[0]["name"]
    process = start("export", name, "--db", str(tmp_path / "t.db"))
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.wait(timeout=20)
