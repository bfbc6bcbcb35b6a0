"""Every study in Chinese as written in Taiwan: no English word is left, in the terminal or on the page."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from twlocal.formosa.calibrate import Thresholds, calibration
from twlocal.formosa.plant import CLASSES, CLEAN, Case
from twlocal.item import Item
from twlocal.report.table import columns
from twlocal.study import failures_report, judges
from twlocal.study.failures import Detected, Failures, Probed
from twlocal.study.page import page
from twlocal.study.report import Report, render

pytest.importorskip("vl_convert")

# Names: readers, tests, engines, formats, units. What follows is code, and is typed as it stands.
NAMES = {
    *("box", "lenient", "board_strict", "board_lenient", "twinkle_box", "twinkle_pattern", "twinkle", "pattern"),
    *("Spearman", "McNemar", "Cohen", "kappa", "Benjamini", "Hochberg", "Big", "JSON", "json", "token", "sha"),
    *("pip", "install", "twlocal", "study", "failures", "write", "probe", "FILE", "run", "bench"),
    *(
        "max_tokens",
        "sent",
        "setting",
        "skill",
        "effect",
        "share",
        "plain",
        "salt",
        "llama_cpp",
        "scripted_effects",
        "scripted",
    ),
}
_WORD = re.compile(r"[A-Za-z][A-Za-z_]+")
_ENGLISH = re.compile(
    r'<(span|tspan)[^>]* lang="en"[^>]*>.*?</\1>|<style.*?</style>|<script.*?</script>|<pre.*?</pre>'
    r'| data-(?:en|zh)[a-z-]*="[^"]*"|<!--.*?-->',
    re.DOTALL,
)


def left(text: str, *names: str) -> set[str]:
    """Words of Latin letters that are neither a name of the apparatus nor in one of `names`."""
    text = re.sub(r"\b[0-9a-f]{12,}\b", "", text)  # hashes
    for name in sorted(names, key=len, reverse=True):
        text = re.sub(rf"(?<![A-Za-z_]){re.escape(name)}(?![A-Za-z_])", "", text)
    return {word for word in _WORD.findall(text) if word not in NAMES and len(word) > 1}


def shown(html: str) -> str:
    """What a page shows in Chinese."""
    body = html[html.index("<main") :]
    return unescape(re.sub(r"<[^>]+>", " ", _ENGLISH.sub(" ", body)))


def test_the_check_itself_finds_english() -> None:
    assert left("the reader box", "reader") == {"the"}
    html = '<main><p><span class="t" lang="zh-Hant">甲</span><span class="t" lang="en">first</span> left</p></main>'
    assert "甲" in shown(html) and left(shown(html)) == {"left"}


@pytest.fixture
def stored(ask: Any, write_bench: Any, tmp_path: Path) -> dict[str, str]:
    bench = Path(write_bench().name)
    many = Path(write_bench("many", {f"科{at}": 3 for at in range(24)}).name)
    table = tmp_path / "scores.csv"
    rows = ["model,date,formosa,exam,exam_lenient,formosa_lenient"]
    rows += [f"m{n},2026-0{1 + n % 8}-01,{40 + n},{50 + n},{50 + n},{41 + 2 * n % 17}" for n in range(12)]
    table.write_text("\n".join(rows), encoding="utf-8")
    (tmp_path / "undated.csv").write_text("model,formosa\na,50\nb,80\n", encoding="utf-8")
    return {
        "one": ask(bench, "plain", model="mdl-1", skill=0.8, share=0.5),
        "two": ask(bench, "box", model="mdl-2", skill=0.5),
        "twin": ask(bench, "box", model="mdl-2", skill=0.5, salt="x"),
        "part": ask(bench, "box", "--limit", "30", model="mdl-2", skill=0.5),
        "copies": ask(bench, "copies", "--protocol", "box-defective", model="mdl-3"),
        "final": ask(bench, "copies", "--protocol", "box", model="mdl-3"),
        "small": ask(bench, "dithers", "--max-tokens", "300", skill=0.6),
        "large": ask(bench, "dithers", "--max-tokens", "600", skill=0.6),
        "other": ask(bench, "dithers", "--max-tokens", "600", "--protocol", "box-defective", skill=0.6),
        "many": ask(many, "box", model="mdl-4", skill=0.5),
        "more": ask(many, "box", model="mdl-4", skill=0.9),
    }


CALLS = (
    "study extraction {one}",
    "study extraction {one} {two} {part}",
    "study prompt --run {copies} --run {final}",
    "study prompt --run {copies} --run {final} --run {other} --run {large} --run {small}",
    "study budget --run {small} --run {large} --cap 200",
    "study budget --run {small} --run {other}",
    "study stop-at-box {one} {large}",
    "study sample {two} --k 20 --draws 200",
    "study noise {two} {twin} --key-noise 5/100",
    "study noise {one} {two} --key-noise 1/100000",
    "study axes scores.csv --tuned m1 --top 5 --above 55",
    "study halflife scores.csv --since 2026-02-01",
    "study halflife scores.csv --band 1-99",
    "study halflife undated.csv",
    "study failures {one}",
    "compare {one} {two}",
    "compare {two} {twin} --key-noise 50/100",
    "compare {two} {part} --intersect",
    "compare {many} {more}",
    "compare {small} {other}",
    "parity --run {two} --run {twin}",
)


def test_no_english_is_left(call: Any, stored: dict[str, str], tmp_path: Path) -> None:
    runs = call("runs", "--json").json
    own = {run[name] for run in runs for name in ("name", "model", "bench", "protocol")}
    own |= {"scores.csv", "undated.csv", "bench.jsonl", "formosa", "exam", *(f"m{at}" for at in range(12))}
    for line in CALLS:
        words = line.format(**stored).split()
        file = tmp_path / "page.html"
        file.unlink(missing_ok=True)
        done = call(*words, "--lang", "zh-TW", "--html", file)
        assert done.code in (0, 1), (line, done.error)
        told = done.out.partition("重現的指令：")[0]
        assert not left(told, *own), (line, left(told, *own), told)
        assert max(map(columns, told.splitlines())) <= 80, line
        assert not left(shown(file.read_text(encoding="utf-8")), *own), line


def _both(report: Report, *names: str) -> None:
    for text in (render(report, 120, lang="zh-TW"), shown(page(report))):
        assert not left(text, *names), (left(text, *names), text)


def test_judges() -> None:
    shown_cases = [
        Case(kind, "", f"{at}", Item(f"題{at}{kind}", ("甲", "乙", "丙", "丁"), "A"), "文")
        for at in range(30)
        for kind in (CLEAN, *CLASSES)
    ]
    stamp = calibration("甲機", shown_cases, {case.name: True for case in shown_cases})
    strict = calibration("乙機", shown_cases, {case.name: case.kind == CLEAN for case in shown_cases})
    report = judges.report([(stamp, Thresholds()), (strict, Thresholds())], "港")
    _both(report)
    # A picture a class of defects, and one of false alarms: catch rates and false-alarm rates with their intervals.
    captions = [plot.caption.zh for plot in report.plots]
    assert len(captions) == len(CLASSES) + 1 and sum("誤報" in caption for caption in captions) == 1
    rates = [
        (row["name"], row["value"], row["low"] <= row["value"] <= row["high"])
        for plot in report.plots
        for row in plot.spec["data"]["values"]
    ]
    catches = [("甲機", 0.0, True), ("乙機", 1.0, True)] * len(CLASSES)
    assert rates == [*catches, ("甲機", 0.0, True), ("乙機", 0.0, True)]


def test_failures_of_every_kind(call: Any, ask: Any, tmp_path: Path) -> None:
    from twlocal.study import glyphs
    from twlocal.study.failures import LOUD, detect

    found = Detected()
    text = "民國115年（西元2027年），114年是西元2026年；114+1911=2026；左翐站、Banqiao站；这里\ufffd"
    detect(text, glyphs.names(), found)
    found.n = 3
    for name in LOUD:
        found.add(name, "左翐 for 左營")
    found.add("broken_character", "2 of them")
    probed = Probed(examples={"corrupted": ["左翐 for 左營"]})
    probed.written.update({"written": 1, "corrupted": 1})
    probed.chosen.update({"right": 1, "unread": 1})
    _both(failures_report.report([Failures("r1", "m1", found, probed)]), "Banqiao", "banqiao", "r1", "m1")
