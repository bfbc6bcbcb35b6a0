"""`formosa calibrate` and `study judges` with judges whose ways are known, killed and gone on with."""

from __future__ import annotations

import json
import shlex
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from twlocal.cli import main
from twlocal.errors import TwlocalError
from twlocal.formosa import jsonl
from twlocal.formosa.build import cut_corpus, item_rows, permute_items, screen_drafts
from twlocal.formosa.drafts import Draft
from twlocal.formosa.lexicon import shipped
from twlocal.formosa.stored import Builds
from twlocal.store import open_store


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


Call = Callable[..., Done]

PLACES = [
    "淡水",
    "基隆",
    "安平",
    "打狗",
    "鹿港",
    "艋舺",
    "北港",
    "布袋",
    "梧棲",
    "花蓮",
    "臺東",
    "馬公",
    "宜蘭",
    "苗栗",
    "彰化",
    "斗六",
]
THINGS = [
    "樟腦",
    "茶葉",
    "蔗糖",
    "稻米",
    "海鹽",
    "煤炭",
    "木材",
    "鳳梨",
    "香蕉",
    "硫磺",
    "鹿皮",
    "魚乾",
    "蕃薯",
    "花生",
    "芝麻",
    "菸草",
]
COUNT = len(PLACES)


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """A build of sixteen items, each with its answer in its window, in twlocal.db; the file of its items."""
    root = tmp_path / "taiwan-md" / "knowledge" / "History"
    root.mkdir(parents=True)
    for at, (place, thing) in enumerate(zip(PLACES, THINGS, strict=True)):
        body = f"{place}在{1860 + at}年開放通商，當地最有名的貨物是{thing}。街上的老店都還記得那個年代。" * 2
        (root / f"{place}.md").write_text(f"# {place}\n\n{body}\n", encoding="utf-8")
    database = tmp_path / "twlocal.db"
    builds = Builds(open_store(database), database)
    made = cut_corpus(builds, tmp_path / "taiwan-md", now="2026-08-24T00:00:00+00:00", target=220, name="港")
    windows = {window.path.split("/")[-1].removesuffix(".md"): window.hash for window in builds.windows(made)}
    drafts = []
    for at, place in enumerate(PLACES):
        year = (f"{1860 + at}年", "1721年", "1790年", "1935年")
        options = year if at % 2 else (THINGS[at], "玉器", "羊毛", "咖啡")
        stem = f"臺灣的{place}{'在哪一年開放通商' if at % 2 else '最有名的貨物是什麼'}？"
        drafts.append(Draft(windows[place], stem, options, "A"))
    builds.add_drafts(made, "somebody", drafts)
    screen_drafts(builds, made, shipped())
    assert permute_items(builds, made) == COUNT
    jsonl.write(tmp_path / "items.jsonl", item_rows(builds, made))
    builds.close()
    return tmp_path / "items.jsonl"


@pytest.fixture
def twlocal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """The command line in this process, in the folder of the build."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def call(*words: str | Path) -> Done:
        result = CliRunner().invoke(main, [str(word) for word in words], standalone_mode=False)
        if isinstance(result.exception, TwlocalError):
            return Done(result.exception.exit_code, result.stdout, str(result.exception))
        if result.exception is not None:
            raise result.exception
        return Done(result.return_value or 0, result.stdout, result.stderr)

    return call


@pytest.fixture
def judge(tmp_path: Path) -> Callable[[str], Path]:
    def write(kind: str) -> Path:
        path = tmp_path / f"{kind}.gguf"
        path.write_bytes(f"GGUF {kind}".encode())
        return path

    return write


def calibrated(twlocal: Call, *words: str | Path) -> Any:
    done = twlocal("formosa", "calibrate", *words, "--backend", "scripted_judges", "-q", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def named(found: Any, kind: str) -> Any:
    return next(one for one in found["judges"] if one["judge"].startswith(f"{kind}"))


def test_judges_are_known_by_their_defects(
    build: Path, judge: Callable[[str], Path], twlocal: Call, tmp_path: Path
) -> None:
    kinds = ("honest", "stamp", "contrarian", "mumbling")
    found = calibrated(twlocal, *map(judge, kinds), "--items", "12", "--set", "log=asked.log")
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
        twlocal, judge("stamp"), "--items", "12", "--set", "log=asked.log", "--catch", "0", "--false-alarm", "0"
    )
    assert len((tmp_path / "asked.log").read_text(encoding="utf-8").splitlines()) == 4 * 48
    assert named(again, "stamp")["passed"] and named(again, "stamp")["thresholds"]["catch"] == 0


def test_a_panel_with_stamps_is_one_judge(build: Path, judge: Callable[[str], Path], twlocal: Call) -> None:
    calibrated(twlocal, judge("honest"), judge("stamp"), judge("mostly"), judge("contrarian"))
    names = ["honest", "stamp", "mostly"]
    done = twlocal("study", "judges", *names, "--json")
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
    assert json.loads(twlocal(*words, "--json").stdout) == found
    first = shlex.split(found["commands"][0])[1:]
    assert json.loads(twlocal(*first, "-q", "--json").stdout)["judges"] == found["judges"]
    text = " ".join(twlocal("study", "judges", *names).stdout.split())
    assert "It is one judge in disguise: the word of honest" in text and "WARNING: stamp" in text
    text = " ".join(twlocal("study", "judges").stdout.split())
    assert "approves 0 of" in text and "not decided by one of its members" in text


def test_killed_and_gone_on_with(
    build: Path, judge: Callable[[str], Path], twlocal: Call, start: Callable[..., Any], tmp_path: Path
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
    assert "no judge was calibrated" in twlocal("study", "judges").stderr
    done = twlocal(*words, "--set", "log=asked.log")
    assert done.returncode == 0, done.stderr
    # What was committed is not asked again; what was in flight is.
    assert 48 <= len(log.read_text(encoding="utf-8").splitlines()) < 48 + killed
    whole = twlocal(*words, "--db", "whole.db")
    assert whole.returncode == 0 and json.loads(whole.stdout)["judges"] == json.loads(done.stdout)["judges"]


def test_items_that_a_person_found_good(
    build: Path, judge: Callable[[str], Path], twlocal: Call, tmp_path: Path
) -> None:
    lines = build.read_text(encoding="utf-8").splitlines()
    (tmp_path / "good.jsonl").write_text("\n".join(lines[:11]), encoding="utf-8")
    (one,) = calibrated(twlocal, judge("honest"), "--good", "good.jsonl")["judges"]
    assert one["false_alarms"]["n"] == 11 and one["passed"]
    (tmp_path / "good.jsonl").write_text("\n".join(lines[:9]), encoding="utf-8")
    (one,) = calibrated(twlocal, judge("honest"), "--good", "good.jsonl")["judges"]
    assert not one["passed"] and "only 9 cases" in one["failings"][0]
    for text, said in (
        ('{"id": "0123"}', "is no id of an item"),
        ("{}", "names no item"),
        ("[1]", "names no item"),
        ('{"id": "ffffffffffffffff"}', "none of the 1 listed items"),
    ):
        (tmp_path / "good.jsonl").write_text(text, encoding="utf-8")
        done = twlocal("formosa", "calibrate", judge("honest"), "--backend", "scripted_judges", "--good", "good.jsonl")
        assert done.returncode == 2 and said in done.stderr, (text, done.stderr)


def test_wrong_calls(build: Path, judge: Callable[[str], Path], twlocal: Call, tmp_path: Path) -> None:
    done = twlocal("study", "judges")
    assert done.returncode == 2 and "no judge was calibrated on 港" in done.stderr
    calibrated(twlocal, judge("honest"), "--items", "2")
    done = twlocal("study", "judges", "nobody")
    assert done.returncode == 2 and "is none of the calibrated judges: honest" in done.stderr
    assert "named twice" in twlocal("study", "judges", "honest", "honest").stderr
    # Another seed drew other items: side by side they can be shown, a panel they are not.
    assert calibrated(twlocal, judge("stamp"), "--items", "2", "--seed", "another")["panel"] is None
    done = twlocal("study", "judges", "honest", "stamp")
    assert done.returncode == 2 and "nothing in common" in done.stderr
