"""The board in a real browser: sorting, filters, both languages, dark, phone, from disk and served."""

from __future__ import annotations

import hashlib
import json
import random
import threading
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from twlocal import registry
from twlocal.board.build import Wish, build
from twlocal.board.serve import server
from twlocal.bundle.stored import Result, ResultRow, opened

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=window.hit=1>"
NAMES = (
    *(
        "google/gemma-3-27b-it",
        "openai/gpt-oss-120b",
        "meta-llama/Llama-3.3-70B-Instruct",
        "twinkle-ai/gemma-3-4B-T1-it",
    ),
    *("taide/Llama-3.1-TAIDE-LX-8B-Chat", "Qwen/Qwen3-8B", "org/model-甲", "org/model-乙", HOSTILE),
)
SUBJECTS = ("民法", "會計學", "藥理學")
PAGES = ("index", "subjects", "ranks", "axes", "difficulty", "halflife", "apparatus", "history", "data")


@dataclass(frozen=True)
class Case:
    site: Path
    correct: dict[str, int]  # by model, of the exam's 90


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """Nine models on two benches, some with a note; the board was corrected once."""
    folder = tmp_path_factory.mktemp("board")
    correct: dict[str, int] = {}
    results = []
    for model, name in enumerate(NAMES):
        for bench, size in (("exam", 90), ("formosa", 60)):
            chance = random.Random(f"{model} {bench}")
            rows = []
            for number in range(size):
                wrote = chance.random() < 0.95
                right = wrote and chance.random() < 0.3 + 0.07 * model
                facts = {
                    **dict.fromkeys(("ok", "correct", "lenient_correct"), right),
                    **dict.fromkeys(("boxp", "lenp", "wrote_box", "parsed", "lenient_parsed"), wrote),
                }
                rows.append(
                    ResultRow(
                        ch=hashlib.sha256(f"{bench} {number}".encode()).hexdigest(),
                        qh=hashlib.sha256(f"stem {bench} {number}".encode()).hexdigest()[:16],
                        subject=SUBJECTS[number % 3],
                        truncated=False,
                        **facts,
                    )
                )
            if bench == "exam":
                correct[name] = sum(bool(row.correct) for row in rows)
            told = {
                "engine": "mlx" if model % 2 else "vllm",
                "date": f"2026-{9 + model % 3:02d}-05",
                "dtype": "bfloat16",
            }
            results.append(
                Result(
                    name=f"r{model}-{bench}",
                    kind="runner",
                    source="x",
                    model=name,
                    bench=bench,
                    rows=rows,
                    protocol="box",
                    complete=True,
                    quantised=None if model == 7 else False,
                    provenance={"provenance": {"p": told}},
                )
            )
    with opened(folder / "board.db", create=True) as (_, stored):
        for one in results:
            stored.add_result(one, at="2026-11-01T00:00:00Z")
    site = folder / "site"
    wish = Wish(folder / "board.db")
    build(site, wish, registry.load({}))
    own = folder / "board.toml"
    own.write_text('[benches.exam]\nkeys = "1/50"\n', encoding="utf-8")
    build(site, Wish(wish.database, own=own, reason="改用重新量過的答案雜訊。", day="2026-11-20"), registry.load({}))
    return Case(site, correct)


def names(page):
    return [cell.inner_text().split("\n")[0] for cell in page.locator("#board tbody tr:visible th").all()]


def test_the_board_comes_sorted_and_sorts(visit, case):
    page = visit(case.site / "index.html")
    best_first = sorted(case.correct, key=lambda name: -case.correct[name])
    assert names(page)[0] == best_first[0] and set(names(page)) == set(NAMES)
    page.locator("#board thead tr:last-child th").nth(2).get_by_role("button").click()  # strict, exam
    scores = [case.correct[name] for name in names(page)]
    assert scores == sorted(scores, reverse=True)
    page.locator("#board thead tr:last-child th").nth(2).get_by_role("button").click()
    assert [case.correct[name] for name in names(page)] == scores[::-1]
    page.locator("#board thead tr:last-child th").nth(0).get_by_role("button").click()
    assert names(page)[-1] == "twinkle-ai/gemma-3-4B-T1-it"


def test_filters_by_what_the_registry_knows(visit, case):
    page = visit(case.site / "index.html")

    def choose(field, value):
        page.locator(f'select[data-field="{field}"]').select_option(value)

    choose("tuned", "yes")
    assert sorted(names(page)) == ["taide/Llama-3.1-TAIDE-LX-8B-Chat", "twinkle-ai/gemma-3-4B-T1-it"]
    choose("size", "s15")
    assert names(page) == ["taide/Llama-3.1-TAIDE-LX-8B-Chat"]
    choose("size", "")
    choose("tuned", "unknown")
    assert sorted(names(page)) == [HOSTILE, "org/model-乙", "org/model-甲"]
    choose("tuned", "")
    choose("family", "gpt_oss")
    assert names(page) == ["openai/gpt-oss-120b"]
    choose("family", "")
    choose("licence", "gemma")
    assert sorted(names(page)) == ["google/gemma-3-27b-it", "twinkle-ai/gemma-3-4B-T1-it"]
    choose("licence", "")
    page.locator('input[type="search"]').fill("vllm org/")
    assert names(page) == ["org/model-甲"]
    assert page.locator("[data-filter-count]").inner_text() == str(len(names(page)))
    page.locator('input[type="search"]').fill("甲")
    assert names(page) == ["org/model-甲"]


def test_both_languages_and_the_choice_is_kept_over_pages(visit, case):
    page = visit(case.site / "index.html")
    assert "名次" in page.locator("#board thead").inner_text() and page.title() == "臺灣題庫排行榜"
    page.get_by_role("button", name="English").click()
    assert "rank" in page.locator("#board thead").inner_text() and page.title() == "Taiwan benchmarks board"
    assert "嚴格" not in page.locator("main").inner_text()
    page.get_by_role("link", name="History").click()
    assert page.locator("h1").inner_text() == "History" and page.locator("html").get_attribute("lang") == "en"


def test_every_link_leads_somewhere(visit, case):
    page = visit(case.site / "index.html")
    seen, left = set(), [case.site / "index.html"]
    while left:
        path = left.pop()
        if path in seen:
            continue
        seen.add(path)
        page.goto(path.as_uri())
        for address in page.evaluate("[...document.querySelectorAll('a[href]')].map((link) => link.href)"):
            target = Path(unquote(urlsplit(address).path))
            assert target.is_file(), f"{path.name} links to {address}"
            if target.suffix == ".html":
                left.append(target)
    assert {path.relative_to(case.site).as_posix() for path in seen} == {
        path.relative_to(case.site).as_posix() for path in case.site.rglob("*.html")
    }


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_no_page_has_a_serious_accessibility_issue(visit, accessible, case, dark):
    page = visit(case.site / "index.html", dark=dark)
    model = next((case.site / "models").glob("openai*.html"))
    for path in [*(case.site / f"{name}.html" for name in PAGES), model, case.site / "subjects/exam/民法.html"]:
        page.goto(path.as_uri())
        accessible(page)


def test_a_phone_scrolls_tables_and_never_the_page(visit, fits, case):
    page = visit(case.site / "index.html", width=360, height=740)
    model = next((case.site / "models").glob("openai*.html"))
    for path in [*(case.site / f"{name}.html" for name in PAGES), model, case.site / "subjects/exam/民法.html"]:
        page.goto(path.as_uri())
        fits(page)
        page.get_by_role("button", name="English").click()
        fits(page)
        page.get_by_role("button", name="中文").click()


def test_a_hostile_name_is_text(visit, case):
    page = visit(case.site / "index.html")
    assert HOSTILE in names(page)
    page.goto(next((case.site / "models").glob("*onerror*.html")).as_uri())
    assert page.locator("h1").inner_text() == HOSTILE and page.evaluate("window.hit === undefined")


def test_the_history_shows_the_reason(visit, case):
    page = visit(case.site / "history.html")
    assert "理由：改用重新量過的答案雜訊。" in page.locator("main").inner_text()
    page.locator("summary").first.click()
    assert "keys exam" in page.locator("details").first.text_content()


def test_served_as_from_disk(visit, case):
    with server(case.site, 0) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            page = visit(f"http://127.0.0.1:{running.server_address[1]}/")
            assert len(names(page)) == len(NAMES)
            page.get_by_role("link", name="openai/gpt-oss-120b").click()
            page.wait_for_url("**/models/openai_gpt-oss-120b.html")
            reply = page.request.get(f"http://127.0.0.1:{running.server_address[1]}/data/board.json")
            assert len(json.loads(reply.text())["models"]) == len(NAMES)
        finally:
            running.shutdown()
            thread.join()


def test_without_script_and_storage_everything_is_there(visit, case):
    page = visit(case.site / "index.html", storage=False)
    assert len(names(page)) == len(NAMES)
    page.get_by_role("button", name="English").click()
    assert "rank" in page.locator("#board thead").inner_text()
