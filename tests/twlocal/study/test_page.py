"""A study's page: everything of the report is in it, escaped, in both languages, with its plots."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest

from twlocal.html.charts import Estimate
from twlocal.html.words import t
from twlocal.study import plots
from twlocal.study.page import page
from twlocal.study.report import Report, Table, join, render

pytest.importorskip("vl_convert")
HOSTILE = "</script><script>alert(1)</script>"


def report(**more: Any) -> Report:
    return Report(
        study="test",
        title=t("測一測", "A test"),
        varied="everything",
        held=HOSTILE,
        n=t("三題", "3 items"),
        parts=[
            t("一句話", "A sentence"),
            Table("", [t("讀法", "reader"), "n"], [[HOSTILE, "1"], ["box", t("二", "two")]], "lr"),
        ],
        data={"shares": [0.5], "名": HOSTILE},
        warnings=[t("小心", "careful")],
        commands=["twlocal study test 'a & b'"],
        **more,
    )


def test_all_of_the_report_is_there_and_nothing_of_it_runs() -> None:
    html = page(report())
    assert "<script>alert" not in html
    for said in ("測一測", "A test", "一句話", "A sentence", "3 items", "小心", "careful", "讀法"):
        assert said in html
    assert "twlocal study test 'a & b'" in unescape(html)
    numbers = re.search(r'<pre class="mono" tabindex="0">(.*?)</pre>', html, re.DOTALL)
    assert numbers and json.loads(unescape(numbers[1]))["shares"] == [0.5]


def test_plots_are_svg_with_words_for_those_who_do_not_see_them() -> None:
    days = [("2026-01-01", (1, 2, 0)), ("2026-02-01", (1, 3, 1))]
    kinds = [t("低", "below"), t("中", "within"), t("高", "above")]
    made = [
        plots.shares([("box", 30, 40), ("none", 0, 0)], t("正確率", "Accuracy"), reference=0.25),
        plots.estimates([Estimate("差", -0.1, -0.2, 0.1)], t("差距", "Difference")),
        plots.scatter(
            [("m", 0.5, 0.6, "台"), ("k", 0.4, 0.3, "外")], t("兩軸", "Two axes"), t("甲", "x"), t("乙", "y")
        ),
        plots.scatter([("m", 0.5, 0.6, "")], t("一點", "One point"), t("甲", "x"), t("乙", "y")),
        plots.lines(
            {t("一", "one"): [(1, 0.5), (2, 0.4)], t("二", "two"): [(1, 0.3), (2, 0.2)]}, *[t("線", "Lines")] * 3
        ),
        plots.over_time(days, kinds, t("時間", "Time"), t("模型", "models")),
    ]
    html = page(report(plots=made))
    assert html.count("<svg") == len(made) and html.count("<desc") == len(made)
    assert "box 75.0% (59.8–85.8)" in unescape(html)
    assert "none" not in "".join(re.findall(r"<desc.*?</desc>", html)), "a row without n is no estimate"
    for said in ("兩軸", "Two axes", "below", "高"):
        assert said in html


def test_every_study_writes_a_page(call: Any, ask: Any, write_bench: Any, tmp_path: Any) -> None:
    bench = write_bench()
    one, two = ask(bench, "plain", model="one", skill=0.8, share=0.5), ask(bench, "box", model="two", skill=0.5)
    table = tmp_path / "scores.csv"
    rows = ["model,date,family,formosa,exam"]
    rows += [f"m{n},2026-0{1 + n % 8}-01,{'台' if n % 2 else ''},{0.4 + n / 40},{0.5 + n / 50}" for n in range(12)]
    table.write_text("\n".join(rows), encoding="utf-8")
    calls = [
        ("study", "extraction", one, two),
        ("study", "stop-at-box", one),
        ("study", "sample", one, "--draws", "200"),
        ("study", "noise", one, "--key-noise", "27/31312"),
        ("study", "failures", one),
        ("study", "axes", table, "--first", "exam", "--second", "formosa"),
        ("study", "halflife", table),
        ("compare", one, two),
        ("parity", "--run", one, "--run", two),
    ]
    for words in calls:
        file = tmp_path / "page.html"
        file.unlink(missing_ok=True)
        done = call(*words, "--html", file, "--lang", "zh-TW")
        assert done.code in (0, 1), (words, done.error)
        html = file.read_text(encoding="utf-8")
        assert 'data-lang="zh-TW"' in html, words
        assert "<svg" in html, words
        assert "twlocal" in html and str(words[0]) in html


def test_the_terminal_says_the_chosen_language() -> None:
    assert "改變的" in render(report(), lang="zh-TW") and "一句話" in render(report(), lang="zh-TW")
    assert "varied" in render(report()) and "A sentence" in render(report())


def test_words_are_joined_in_each_language() -> None:
    assert join(["a", "b"], ", ", ", ") == "a, b"
    joined = join([t("甲", "one"), "b"])
    assert (joined.of("zh-TW"), joined.of("en")) == ("甲、b", "one, b")  # type: ignore[union-attr]


def test_without_the_drawing_library_the_way_out_is_named(
    call: Any, ask: Any, write_bench: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    name = ask(write_bench(), "box")
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    done = call("study", "extraction", name, "--html", tmp_path / "page.html")
    assert done.code == 2 and "twlocal[html]" in done.error
    assert not (tmp_path / "page.html").exists() and not done.out
