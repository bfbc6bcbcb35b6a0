"""The shared page in a real browser: languages, theme, sorting, filters, keyboard, phone width."""

from __future__ import annotations

from pathlib import Path

import pytest

from twlocal.html import charts, environment, render, t

pytestmark = pytest.mark.browser

BODY = """{% extends "base.html.j2" %}
{% block main %}
{{ chart }}
<div class="controls">
<label>{{ t("搜尋", "Search") }}
<input type="search" data-filter="#models"{{ attribute("placeholder", t("名稱", "name")) }}></label>
<label>{{ t("家族", "Family") }} <select data-filter="#models" data-field="family">
<option value=""{{ plain(t("全部", "all")) }}</option><option value="qwen">Qwen</option></select></label>
</div>
<p><span data-filter-count="#models"></span></p>
<div class="scroll" role="region" tabindex="0"{{ attribute("aria-label", t("模型", "Models")) }}>
<table id="models" class="sortable">
<thead><tr><th data-sort="text" scope="col">{{ t("模型", "model") }}</th>
<th data-sort="number" class="num" scope="col">n</th></tr></thead>
<tbody>
{% for name, n, family in rows %}
<tr data-family="{{ family }}"><th scope="row">{{ name }}</th><td class="num">{{ n }}</td></tr>
{% endfor %}
</tbody></table></div>
{% endblock %}"""
ROWS = [("模型乙", "1,200", "qwen"), ("模型甲", "35", "llama"), ("<script>window.hit = 1</script>", "", "qwen")]


@pytest.fixture
def page_file(tmp_path: Path) -> Path:
    (tmp_path / "templates").mkdir()
    from jinja2 import ChoiceLoader, DictLoader

    env = environment()
    assert env.loader is not None
    env.loader = ChoiceLoader([DictLoader({"page.html.j2": BODY}), env.loader])
    spec = charts.intervals([charts.Estimate("<b>民法", 0.5, 0.4, 0.6)], t("正確率", "accuracy"), reference=0.25)
    chart = charts.figure(
        charts.svg(spec, name="c", title=t("圖", "chart"), description=t("一科", "one")), t("圖", "chart")
    )
    path = tmp_path / "頁面.html"
    path.write_text(render(env, "page.html.j2", title=t("標題", "Title"), rows=ROWS, chart=chart), encoding="utf-8")
    return path


def names(page):
    return [row.inner_text() for row in page.locator("#models tbody tr:visible th").all()]


def test_language_is_switched_and_remembered(visit, page_file):
    page = visit(page_file)
    heading, title = page.locator("h1"), page.locator("svg title")
    assert (heading.inner_text(), page.title()) == ("標題", "標題")
    page.get_by_role("button", name="English").click()
    assert (heading.inner_text(), page.title()) == ("Title", "Title")
    assert title.text_content() == "chart"
    assert page.get_by_role("searchbox").get_attribute("placeholder") == "name"
    assert page.locator("option").first.text_content() in {"Auto", "all"}
    page.reload()
    assert heading.inner_text() == "Title"
    assert page.locator("html").get_attribute("lang") == "en"


def test_theme_follows_the_system_until_one_is_chosen(visit, page_file):
    page = visit(page_file, dark=True)
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(paper)
    page.get_by_label("明暗").select_option("light")
    light = page.evaluate(paper)
    assert dark != light == "rgb(255, 255, 255)"
    page.reload()
    assert page.evaluate(paper) == light


def test_a_page_works_where_storage_is_refused(visit, page_file):
    page = visit(page_file, storage=False)
    page.get_by_role("button", name="English").click()
    page.get_by_label("Theme").select_option("dark")
    assert page.locator("h1").inner_text() == "Title"


def test_sorting_by_keyboard_says_how(visit, page_file):
    page = visit(page_file)
    number = page.locator("thead th").last
    number.get_by_role("button").focus()
    page.keyboard.press("Enter")
    assert number.get_attribute("aria-sort") == "descending"
    assert names(page)[0] == "模型乙"
    page.keyboard.press("Enter")
    assert number.get_attribute("aria-sort") == "ascending"
    # What has no value comes last either way.
    assert names(page) == ["模型甲", "模型乙", "<script>window.hit = 1</script>"]


def test_filters_work_together(visit, page_file):
    page = visit(page_file)
    page.get_by_label("家族").select_option("qwen")
    assert len(names(page)) == 2
    page.get_by_role("searchbox").fill("模型")
    assert names(page) == ["模型乙"]
    assert page.locator("[data-filter-count]").inner_text() == "1"


@pytest.mark.parametrize("dark", [False, True])
def test_nothing_serious_for_those_who_cannot_see(visit, page_file, accessible, dark):
    accessible(visit(page_file, dark=dark))


def test_fits_a_phone(visit, page_file, fits):
    fits(visit(page_file, width=360))


def test_hostile_text_does_nothing(visit, page_file):
    page = visit(page_file, refused=True)
    assert page.evaluate("window.hit") is None
    assert page.locator("svg b").count() == 0
    # Even a script that got in would not run: the page names the ones that may.
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.hit = 1'}))"
    )
    assert page.evaluate("window.hit") is None
