"""`twlocal doctor` as a person calls it: with no network, with no engine, with nothing to hide."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

Call = Callable[..., subprocess.CompletedProcess[str]]
ALONE = {"HF_TOKEN": "", "HF_TOKEN_PATH": "/nowhere", "HF_HUB_OFFLINE": "1"}


def test_the_page(twlocal: Call) -> None:
    done = twlocal("doctor", env=ALONE)
    assert done.returncode == 0, done.stderr
    # A line that goes on is indented; the others begin with their mark, with or without an engine installed.
    checks = done.stdout.partition("\n\n")[0].splitlines()
    marks = {line.split()[0] for line in checks if not line.startswith(" ")}
    assert marks <= {"ok", "no", "--"}
    for label in ("Python", "machine", "graphics", "engines", "disk for models", "database folder", "Hub token"):
        assert label in done.stdout
    assert "set HF_TOKEN" in done.stdout
    assert "http(s)://host/v1#name" in done.stdout, "a way out for every model that does not run here"
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert done.stderr == ""


def test_chinese(twlocal: Call) -> None:
    done = twlocal("doctor", "--lang", "zh-TW", env=ALONE)
    assert "資料庫資料夾" in done.stdout and "權杖" in done.stdout
    assert twlocal("doctor", env=ALONE | {"LC_ALL": "zh_TW.UTF-8"}).stdout == done.stdout


def test_json_and_the_token_is_never_printed(twlocal: Call) -> None:
    secret = "hf_geheimnis123"
    done = twlocal("doctor", "--json", env=ALONE | {"HF_TOKEN": secret})
    told = json.loads(done.stdout)
    checks = {one["check"]: one for one in told["checks"]}
    assert checks["token"]["mark"] == "ok"
    assert checks["access"]["code"] == "access_off"
    assert told["able"] is True
    assert len(told["models"]) >= 20
    assert secret not in done.stdout + done.stderr


def test_a_console_that_cannot_show_chinese(twlocal: Call) -> None:
    done = twlocal("doctor", "--lang", "zh-TW", env=ALONE | {"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()


def test_a_database_folder_that_cannot_be_written(twlocal: Call) -> None:
    done = twlocal("doctor", "--json", "--db", "/proc/none/runs.db", env=ALONE)
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert told["able"] is False
    (one,) = [one for one in told["checks"] if one["check"] == "database"]
    assert one["mark"] == "no" and "--db" in one["text"]


def test_a_recording_made_here_plans_for_here(twlocal: Call, tmp_path: Path) -> None:
    path = tmp_path / "hier.json"
    done = twlocal("doctor", "--record", path, env=ALONE | {"HF_TOKEN": "hf_geheimnis123"})
    assert done.returncode == 0, done.stderr
    text = path.read_text(encoding="utf-8")
    assert "hf_geheimnis123" not in text
    told = json.loads(twlocal("route", "smollm2-135m", "--machine", path, "--json", env=ALONE).stdout)
    here = json.loads(twlocal("route", "smollm2-135m", "--json", env=ALONE).stdout)
    assert told["engine"] == here["engine"] or told["engines_assumed"]
    assert told["hardware"] == here["hardware"]


def test_both_are_listed(twlocal: Call) -> None:
    done = twlocal("--help")
    assert "doctor" in done.stdout and "route" in done.stdout
    assert "--record" in twlocal("doctor", "--help").stdout
