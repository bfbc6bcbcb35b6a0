"""The shared page as text: escaping, both languages, the policy, numbers, charts."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from xml.etree import ElementTree

import jinja2
import pytest

from twlocal.errors import UsageError
from twlocal.html import Text, charts, environment, numbers, render, stream, t
from twlocal.stats import Interval


def page(body: str, **values: object) -> str:
    env = environment()
    assert env.loader is not None
    env.loader = jinja2.ChoiceLoader([jinja2.DictLoader({"page": '{% extends "base.html.j2" %}' + body}), env.loader])
    return render(env, "page", title=t("標題", "Title"), **values)


def test_values_are_escaped_and_both_languages_are_there():
    html = page("{% block main %}{{ evil }}|{{ t(evil, 'x') }}{% endblock %}", evil="<script>alert(1)</script>")
    assert "<script>alert" not in html
    assert html.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 2
    assert '<span class="t" lang="zh-Hant">標題</span><span class="t" lang="en">Title</span>' in html


def test_json_for_a_script_cannot_end_it_and_keeps_chinese():
    html = page(
        '{% block main %}<script type="application/json">{{ data|tojson }}</script>{% endblock %}',
        data={"甲": "</script><!--"},
    )
    assert '{"甲":"\\u003c/script\\u003e\\u003c!--"}' in html


def test_an_undefined_name_is_an_error():
    with pytest.raises(jinja2.UndefinedError):
        page("{% block main %}{{ missing }}{% endblock %}")


def test_the_policy_names_every_script_and_nothing_else():
    env = environment()
    html = render(env, "base.html.j2", title=t("標題", "Title"), scripts=["window.own = 1;"])
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy
    said = policy[1].replace("&#39;", "'")
    scripts = re.findall(r"<script>(.*?)</script>", html, re.S)
    assert len(scripts) == 3
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in said
    assert "default-src 'none'" in said
    assert "unsafe" not in said.split("script-src")[1]


def test_a_page_that_is_served_may_be_allowed_more():
    html = render(environment(), "base.html.j2", title=t("標題", "Title"), allow={"connect-src": "'self'"})
    assert "connect-src &#39;self&#39;" in html


def test_an_iterator_is_written_piece_by_piece():
    env = environment()
    assert env.loader is not None
    body = '{% extends "base.html.j2" %}{% block main %}{% for piece in pieces %}{{ piece }}{% endfor %}{% endblock %}'
    env.loader = jinja2.ChoiceLoader([jinja2.DictLoader({"page": body}), env.loader])
    taken = []
    written = stream(env, "page", title=t("標題", "Title"), pieces=(taken.append(n) or n for n in range(3)))
    for text in written:
        if text == "1":
            assert taken == [0, 1]
            break
    else:
        pytest.fail("the pieces came as one")


def test_no_script_of_the_page_can_end_its_element():
    for name in ("early.js", "page.js"):
        from twlocal.html.page import asset

        assert "</script" not in asset(name).lower()
        assert "<!--" not in asset(name)


def test_a_text_is_filled_in_each_language():
    said = Text("{n} 科：{what}", "{n} subjects: {what}").format(n=3, what=t("法律", "law"))
    assert said == Text("3 科：法律", "3 subjects: law")
    assert said.of("en") == "3 subjects: law"


def test_numbers():
    assert numbers.percent(0.4567) == "45.7%"
    assert numbers.percent(None) == "–"
    assert numbers.between(Interval(0.41, 0.479)) == "41.0–47.9"
    assert numbers.between(Interval(0.4512, 0.4523)) == "45.12–45.23"
    assert numbers.count(22141) == "22,141"


def test_a_chart_is_text_in_both_languages_and_escaped():
    rows = [charts.Estimate("<b>民法", 0.5, 0.4, 0.6, 0.55), charts.Estimate("<b>民法", 0.2, 0.1, 0.3)]
    spec = charts.intervals(rows, t("正確率", "accuracy"), reference=0.25)
    drawn = charts.svg(spec, name="c", title=t("各科<", "Subjects"), description=t("兩科", "Two subjects"))
    assert drawn.count("&lt;b&gt;民法") == 2  # one name, two rows
    assert "<b>" not in drawn
    assert '<tspan class="t" lang="zh-Hant">正確率</tspan><tspan class="t" lang="en">accuracy</tspan>' in drawn
    assert 'aria-labelledby="c-title c-desc"' in drawn
    assert "各科&lt;" in drawn
    assert "var(--series-1)" in drawn
    assert "http" not in drawn.replace("http://www.w3.org/2000/svg", "")


def test_a_histogram_stacks_its_kinds():
    bins = [charts.Bin(0, 100, (5, 0)), charts.Bin(100, 200, (1, 2))]
    spec = charts.histogram(bins, t("長度", "length"), [t("自行結束", "ended"), t("截斷", "cut")], counted=t("則", "n"))
    assert [(one["bottom"], one["top"]) for one in spec["data"]["values"]] == [(0, 5), (0, 1), (1, 3)]
    drawn = charts.svg(spec, name="h", title=t("長度", "Length"), description=t("", ""))
    assert '<tspan class="t" lang="zh-Hant">截斷</tspan>' in drawn


def test_without_the_library_the_way_out_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(UsageError) as error:
        charts.svg({}, name="c", title=t("圖", "chart"), description=t("", ""))
    assert "pip install 'twlocal[html]'" in str(error.value)


def test_a_name_that_no_svg_can_hold_is_drawn_spelled():
    names = ["\x1b[31m民法", "刑\x00法", "非字\uffff", "孤\ud800", "𠮷野家", "a\nb</text><script>"]
    rows = [charts.Estimate(name, 0.5, 0.4, 0.6) for name in names]
    drawn = charts.svg(charts.intervals(rows, t("率", "rate")), name="x", title=t("a", "a"), description=t("b", "b"))
    ElementTree.fromstring(drawn)
    for said in (r"\x1b[31m民法", r"刑\x00法", r"非字\xffff", r"孤\xd800", "𠮷野家"):
        assert said in drawn
