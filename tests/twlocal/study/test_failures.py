"""The failures of section 6.5, on the probe set and in any text."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from twlocal.item import LABELS
from twlocal.study import glyphs, probe
from twlocal.study.failures import CORRUPTED, OTHER, ROMANISED, WRITTEN, Detected, detect, written


@pytest.fixture
def probe_bench(call: Any, tmp_path: Path) -> Path:
    """The probe set as the command writes it, and as JSONL with the keys for the scripted model."""
    assert call("study", "failures", "--write-probe", "probe.csv").code == 0
    rows = list(csv.DictReader(io.StringIO((tmp_path / "probe.csv").read_text(encoding="utf-8"))))
    target = tmp_path / "probe.jsonl"
    target.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return target


def test_the_probe_set_holds_together() -> None:
    found = probe.probes()
    assert len(found) == 38
    kinds = Counter(one.kind for one in found.values())
    assert kinds == {probe.BARE: 10, probe.PREFIXED: 10, probe.STATION: 12, probe.GLYPH: 6}
    letters = Counter(one.item.answer for one in found.values())
    assert max(letters.values()) - min(letters.values()) <= 1
    table = glyphs.names()
    for one in found.values():
        assert len(set(one.item.options)) == len(LABELS)
        if one.kind in (probe.BARE, probe.PREFIXED):
            (year,) = re.findall(r"「[^」]*?(\d+)年", one.item.question)
            assert one.option(one.item.answer) == one.expected == str(int(year) + 1911)
            assert {str(int(one.expected) + off) for off in (-1, 1)} < set(one.item.options)
            assert ("民國" in one.item.question) == (one.kind == probe.PREFIXED)
        else:
            assert glyphs.same(one.expected) in table.spellings
            assert one.expected not in one.item.question
        if one.kind == probe.STATION:
            assert not any(one.expected in option for option in one.item.options)
        if one.kind == probe.GLYPH:
            wrong = [glyphs.same(option) for option in one.item.options if option != one.expected]
            assert not any(option in table.spellings for option in wrong)
    pairs = Counter(one.pair for one in found.values() if one.pair)
    assert set(pairs.values()) == {2}


def test_a_model_with_every_failure(call: Any, ask: Any, probe_bench: Path) -> None:
    name = ask(probe_bench, "fails")
    found = call("study", "failures", name, "--json").json["runs"][0]
    asked = found["probe"]
    assert asked["n"] == 38
    # Off by one without the prefix, right with it: the one-token feature flips it in all ten years.
    assert asked["bare"] == {"+1": 10}
    assert asked["prefixed"] == {"right": 10}
    assert (asked["prefix"]["churn"]["gained"], asked["prefix"]["churn"]["lost"]) == (10, 0)
    assert asked["prefix"]["p"] == pytest.approx(2 / 2**10)
    assert asked["written"] == {WRITTEN: 0, CORRUPTED: 1, ROMANISED: 1, OTHER: 10}
    assert asked["chosen"] == {"right": 5, CORRUPTED: 1}
    assert (asked["silent"], asked["loud"]) == (10, 3)
    assert "左翐 for 左營" in asked["examples"][CORRUPTED]
    detected = found["detected"]
    assert detected["minguo_bare"]["responses"] == 10
    assert detected["minguo_prefixed"]["responses"] == 0
    # 左翐站 is in the text of the two questions about the southernmost station.
    assert detected["corrupted_name"]["responses"] == 2
    assert detected["romanised_name"]["responses"] == 1
    text = call("study", "failures", name).out
    assert "左翐" in text
    assert "no check finds 10 " in " ".join(text.split())
    assert "--write-probe probe.csv" in text


def test_a_model_without_failures(call: Any, ask: Any, probe_bench: Path) -> None:
    name = ask(probe_bench, "box")
    found = call("study", "failures", name, "--json").json["runs"][0]
    assert found["probe"]["bare"] == found["probe"]["prefixed"] == {"right": 10}
    assert (found["probe"]["silent"], found["probe"]["loud"]) == (0, 0)
    assert all(one["responses"] == 0 for one in found["detected"].values())


def test_a_run_that_did_not_ask_the_probe_set(call: Any, ask: Any, write_bench: Any) -> None:
    name = ask(write_bench(), "box")
    done = call("study", "failures", name, "--json").json
    assert done["runs"][0]["probe"] is None
    assert any("--write-probe" in line for line in done["warnings"])
    assert call("study", "failures").code == 2
    assert call("study", "failures", name, "--write-probe", "x.csv").code == 2
    assert call("study", "failures", "--write-probe", "-").out == probe.text()


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("站名是左營站。\\boxed{B}", WRITTEN),
        ("不是左翐站，是左營站。", WRITTEN),
        ("站名是「左翐」。", CORRUPTED),
        ("左翐站", CORRUPTED),
        ("答案：左榮", CORRUPTED),
        ("Zuoying Station, \\boxed{B}", ROMANISED),
        ("在左邊的高雄市。", OTHER),
        ("\\boxed{B}", OTHER),
        ("", OTHER),
    ],
)
def test_how_a_name_is_written(text: str, state: str) -> None:
    assert written(text, "左營", glyphs.names())[0] == state


def test_a_response_counts_once_under_each_failure() -> None:
    found = Detected()
    detect("民國115年（西元2027年），民國114年（西元2027年）；左翐站、板僑站；这里", glyphs.names(), found)
    assert found.n == 1
    assert found.responses == {"minguo_prefixed": 1, "corrupted_name": 1, "simplified_character": 1}
    assert found.equations == {("minguo_prefixed", 1): 1, ("minguo_prefixed", 2): 1}
