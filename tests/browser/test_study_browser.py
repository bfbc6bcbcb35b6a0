"""A study's page in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from twlocal.html.words import t
from twlocal.study import plots
from twlocal.study.page import page
from twlocal.study.report import Report, Table

pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    wide = [f"column {n}" for n in range(9)]
    report = Report(
        study="extraction",
        title=t("同一批作答，不同的讀法", "What the reader makes of the same responses"),
        varied=t("讀法", "the reader"),
        held=HOSTILE,
        n=t("240 題", "240 items"),
        parts=[
            t("一句說明。", "A sentence."),
            Table(t("表一", "Table one"), wide, [[f"{row}.{n}" for n in range(9)] for row in range(4)], "l" + "r" * 8),
            Table("", ["run", HOSTILE], [["a", HOSTILE]], "ll"),
        ],
        data={"n": 240},
        warnings=[t("小心", "careful")],
        commands=["twlocal study extraction " + "a-very-long-run-name-" * 8],
        plots=[
            plots.shares([("box", 100, 240), ("lenient", 160, 240)], t("正確率", "Accuracy"), reference=0.25),
            plots.scatter([("m", 0.5, 0.6, "台"), ("k", 0.4, 0.3, "外")], t("兩軸", "Two"), t("甲", "x"), t("乙", "y")),
        ],
    )
    path = tmp_path / "study.html"
    path.write_text(page(report), encoding="utf-8")
    return path


@pytest.mark.parametrize("dark", [False, True])
def test_it_reads_in_both_languages_and_is_accessible(visit: Any, accessible: Any, file: Path, dark: bool) -> None:
    shown = visit(file, dark=dark)
    assert shown.get_by_role("heading", level=1).inner_text() == "同一批作答，不同的讀法"
    accessible(shown)
    shown.get_by_role("button", name="English").click()
    assert shown.get_by_role("heading", level=1).inner_text() == "What the reader makes of the same responses"
    assert shown.get_by_text("careful", exact=True).is_visible()
    assert shown.locator("svg.chart").count() == 2
    accessible(shown)


def test_a_phone_scrolls_tables_and_never_the_page(visit: Any, accessible: Any, fits: Any, file: Path) -> None:
    shown = visit(file, width=360)
    fits(shown)
    accessible(shown)


def test_what_a_model_wrote_stays_text(visit: Any, file: Path) -> None:
    said: list[str] = []
    shown = visit(file)
    shown.on("dialog", lambda dialog: said.append(dialog.message))
    assert shown.locator("dd").nth(1).inner_text() == HOSTILE
    assert shown.locator("main img").count() == 0
    assert not said
