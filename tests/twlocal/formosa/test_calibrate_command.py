"""`formosa calibrate` and `study judges` with judges whose ways are known, killed and gone on with."""

from __future__ import annotations

import json
import shlex
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]  # see the fixture `command`


@pytest.fixture
def judge(tmp_path: Path) -> Callable[[str], Path]:
    def write(kind: str) -> Path:
        path = tmp_path / f"{kind}.gguf"
        path.write_bytes(f"GGUF {kind}".encode())
        return path

    return write


def calibrated(command: Call, *words: str | Path) -> Any:
    done = command("formosa", "calibrate", *words, "--backend", "scripted_judges", "-q", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def named(found: Any, kind: str) -> Any:
    return next(one for one in found["judges"] if one["judge"].startswith(f"{kind}"))


def test_judges_are_known_by_their_defects(
    harbours: Path, judge: Callable[[str], Path], command: Call, tmp_path: Path
) -> None:
    kinds = ("honest", "stamp", "contrarian", "mumbling")
    found = calibrated(command, *map(judge, kinds), "--items", "12", "--set", "log=asked.log")
    assert len(found["judges"]) == 4
    honest = named(found, "honest")
    assert honest["passed"] and honest["failings"] == []
    assert [rate["k"] for rate in honest["caught"].values()] == [12, 12, 12] and honest["false_alarms"]["k"] == 0
    assert honest["caught"]["wrong_key"]["interval"][0] == pytest.approx(0.757, abs=1e-3)
    stamp = named(found, "stamp")
    assert not stamp["passed"] and stamp["approved"]["all"]["share"] == 1 and len(stamp["failings"]) == 3
    contrarian = named(found, "contrarian")
    assert [rate["k"] for rate in contrarian["caught"].values()] == [0, 0, 0]
    assert contrarian["false_alarms"]["k"] == 12
    mumbling = named(found, "mumbling")
    assert mumbling["unread"]["k"] == 48 and mumbling["false_alarms"]["k"] == 12 and not mumbling["passed"]
    assert len(found["warnings"]) == 2
    assert any(warning.startswith("stamp") for warning in found["warnings"])
    kappas = {frozenset(name.split("@")[0].split(".")[0] for name in one["judges"]): one for one in found["agreements"]}
    assert kappas[frozenset({"honest", "contrarian"})]["agreement"] == 0
    assert kappas[frozenset({"honest", "contrarian"})]["kappa"] < 0
    assert kappas[frozenset({"honest", "stamp"})]["kappa"] == 0
    log = (tmp_path / "asked.log").read_text(encoding="utf-8").splitlines()
    assert len(log) == len(set(log)) == 4 * 48

    # Nothing is asked twice; other limits are another verdict over the same answers.
    again = calibrated(
        command, judge("stamp"), "--items", "12", "--set", "log=asked.log", "--catch", "0", "--false-alarm", "0"
    )
    assert len((tmp_path / "asked.log").read_text(encoding="utf-8").splitlines()) == 4 * 48
    assert named(again, "stamp")["passed"] and named(again, "stamp")["thresholds"]["catch"] == 0


def test_a_panel_with_stamps_is_one_judge(
    harbours: Path, judge: Callable[[str], Path], command: Call, tmp_path: Path
) -> None:
    calibrated(command, judge("honest"), judge("stamp"), judge("mostly"), judge("contrarian"))
    names = ["honest", "stamp", "mostly"]
    done = command("study", "judges", *names, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    panel = found["panel"]
    assert len(panel["members"]) == 3 and len(found["judges"]) == 4
    seats = {seat["judge"].split("@")[0].split(".")[0]: seat for seat in panel["members"]}
    assert panel["decided_by"].startswith("honest")
    assert seats["honest"]["same_as_panel"] >= 0.95 > 0.5 > seats["stamp"]["same_as_panel"]
    assert seats["stamp"]["rejected_alone"] == 0 < seats["honest"]["rejected_alone"]
    # The commands that it prints do repeat it.
    program, *words = shlex.split(found["commands"][-1])
    assert program == "twlocal"
    assert json.loads(command(*words, "--json").stdout) == found
    first = shlex.split(found["commands"][0])[1:]
    assert json.loads(command(*first, "-q", "--json").stdout)["judges"] == found["judges"]
    text = " ".join(command("study", "judges", *names).stdout.split())
    assert "It is one judge in disguise: the word of honest" in text and "WARNING: stamp" in text
    pytest.importorskip("vl_convert")
    done = command("study", "judges", *names, "--html", "judges.html", "--lang", "zh-TW")
    assert "這個小組其實只有一個人" in done.stdout and "審題模型怎麼看「港」題目裡植入的瑕疵" in done.stdout
    page = (tmp_path / "judges.html").read_text(encoding="utf-8")
    assert "<svg" in page and "這個小組其實只有一個人" in page and "It is one judge in disguise" in page
    text = " ".join(command("study", "judges").stdout.split())
    assert "approves 0 of" in text and "not decided by one of its members" in text


def test_killed_and_gone_on_with(
    harbours: Path, judge: Callable[[str], Path], command: Call, start: Callable[..., Any], tmp_path: Path
) -> None:
    words = ["formosa", "calibrate", judge("honest"), "--items", "12", "--backend", "scripted_judges", "--json", "-q"]
    log = tmp_path / "asked.log"
    shutil.copy(tmp_path / "twlocal.db", tmp_path / "whole.db")
    process = start(*words, "--set", "log=asked.log", "--set", "delay=0.05")
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and (not log.exists() or len(log.read_text(encoding="utf-8").splitlines()) < 12):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    killed = len(log.read_text(encoding="utf-8").splitlines())
    assert 12 <= killed < 48
    assert "no judge was calibrated" in command("study", "judges").stderr
    done = command(*words, "--set", "log=asked.log")
    assert done.returncode == 0, done.stderr
    # What was committed is not asked again; what was in flight is.
    assert 48 <= len(log.read_text(encoding="utf-8").splitlines()) < 48 + killed
    whole = command(*words, "--db", "whole.db")
    assert whole.returncode == 0 and json.loads(whole.stdout)["judges"] == json.loads(done.stdout)["judges"]


def test_items_that_a_person_found_good(
    harbours: Path, judge: Callable[[str], Path], command: Call, tmp_path: Path
) -> None:
    lines = harbours.read_text(encoding="utf-8").splitlines()
    (tmp_path / "good.jsonl").write_text("\n".join(lines[:11]), encoding="utf-8")
    (one,) = calibrated(command, judge("honest"), "--good", "good.jsonl")["judges"]
    assert one["false_alarms"]["n"] == 11 and one["passed"]
    (tmp_path / "good.jsonl").write_text("\n".join(lines[:9]), encoding="utf-8")
    (one,) = calibrated(command, judge("honest"), "--good", "good.jsonl")["judges"]
    assert not one["passed"] and "only 9 cases" in one["failings"][0]
    for text, said in (
        ('{"id": "0123"}', "is no id of an item"),
        ("{}", "names no item"),
        ("[1]", "names no item"),
        ('{"id": "ffffffffffffffff"}', "none of the 1 listed items"),
    ):
        (tmp_path / "good.jsonl").write_text(text, encoding="utf-8")
        done = command("formosa", "calibrate", judge("honest"), "--backend", "scripted_judges", "--good", "good.jsonl")
        assert done.returncode == 2 and said in done.stderr, (text, done.stderr)


def test_wrong_calls(harbours: Path, judge: Callable[[str], Path], command: Call, tmp_path: Path) -> None:
    done = command("study", "judges")
    assert done.returncode == 2 and "no judge was calibrated on 港" in done.stderr
    calibrated(command, judge("honest"), "--items", "2")
    done = command("study", "judges", "nobody")
    assert done.returncode == 2 and "is none of the calibrated judges: honest" in done.stderr
    assert "named twice" in command("study", "judges", "honest", "honest").stderr
    # Another seed drew other items: side by side they can be shown, a panel they are not.
    assert calibrated(command, judge("stamp"), "--items", "2", "--seed", "another")["panel"] is None
    done = command("study", "judges", "honest", "stamp")
    assert done.returncode == 2 and "nothing in common" in done.stderr
