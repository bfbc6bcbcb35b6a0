"""The page of a run in a real browser: reading items, filters, search, keyboard, languages, phone, hostile text."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from twlocal.backend import Completion
from twlocal.item import Item, shown_letter
from twlocal.protocol import load
from twlocal.report import page as report_page

pytestmark = pytest.mark.browser

HOSTILE = (
    "</script><script>window.hit=1</script><img src=x onerror='window.hit=1'><svg onload='window.hit=1'>"
    "<a href='javascript:window.hit=1'>按我</a>\u2028\u202e{{ 7 * 7 }}<!--<script>\\boxed{A}"
)

ITEMS = [
    Item(
        f"第{number}題：關於{'契約' if number % 2 else '租稅'}，何者正確？{'臺灣' if number == 12 else ''}",
        (f"甲{number}", "乙", "丙", "丁"),
        "ABCD"[number % 4],
        ("民法", "稅法", "𠮷野<b>家")[number % 3],
        f"q{number}",
    )
    for number in range(60)
]


def says(one, right, text="想一想。"):
    key = shown_letter(one.answer, load("box").order(one))
    letter = key if right else next(label for label in "ABCD" if label != key)
    return Completion("", f"{text}\n\\boxed{{{letter}}}", finish="stop", prompt_tokens=200, completion_tokens=20)


@pytest.fixture
def report_file(stored_run, tmp_path: Path) -> Path:
    """Sixty items: three in four right, but for #57 (hostile), #58 (cut) and #59 (thought and reasoning) by id."""
    done = [says(one, right=number % 4 != 0) for number, one in enumerate(ITEMS)]
    done[57] = Completion("", HOSTILE, HOSTILE, finish="stop", completion_tokens=90)
    done[58] = Completion("", "說到一半，找不到句點" * 40, finish="length", completion_tokens=4096)
    done[59] = says(ITEMS[59], right=True, text="<think>想到獨角獸</think>結論")
    runs, run = stored_run(ITEMS, done)
    path = tmp_path / "報告.html"
    report_page.write(runs, run, path)
    return path


@pytest.fixture
def opened(visit, report_file):
    def open_it(**how):
        page = visit(report_file, **how)
        page.wait_for_selector("html[data-ready]")
        return page

    return open_it


def count(page):
    return page.locator("#item-count").inner_text()


def search(page, words, expected):
    page.get_by_role("searchbox").fill(words)
    from playwright.sync_api import expect

    expect(page.locator("#item-count")).to_have_text(expected)


def read(page, words):
    """Search for one item and open it."""
    search(page, words, "1 題，共 60 題")
    page.locator(".row").click()
    page.wait_for_selector("#item h3")
    return page.locator("#item")


def test_opens_on_the_score_and_the_first_item(opened):
    page = opened()
    assert page.locator("h1").inner_text() == "m"
    assert "未高於猜答" not in page.locator("main").inner_text()
    assert count(page) == "60 題，共 60 題"
    assert page.locator("#item h3").inner_text().startswith("#0")
    # Far fewer rows than items are in the page: the list draws what is seen.
    assert page.locator(".row").count() < 40


def test_the_subject_table_sorts_and_filters_the_list(opened):
    page = opened()
    page.get_by_role("button", name="嚴格").click()
    shares = page.locator("#subject-table tbody td:nth-child(3)").all_inner_texts()
    assert shares == sorted(shares, key=lambda text: -float(text.rstrip("%")))
    page.locator("#subject-table a", has_text="稅法").click()
    assert count(page) == "20 題，共 60 題"
    assert page.locator("#item-subject").input_value() != ""


def test_right_wrong_and_unreadable(opened):
    page = opened()
    right = shown_letter(ITEMS[57].answer, load("box").order(ITEMS[57])) == "A"  # what the hostile response boxes
    counts = {"right": 43 + right, "wrong": 16 - right, "unread": 1, "lenient": 0}
    for result, expected in counts.items():
        page.get_by_label("結果").select_option(result)
        assert count(page) == f"{expected} 題，共 60 題"
        assert page.locator(".row .good").count() == (page.locator(".row").count() if result == "right" else 0)


def test_cut_and_flagged(opened):
    page = opened()
    page.get_by_role("checkbox", name="截斷").check()
    assert count(page) == "1 題，共 60 題"
    assert page.locator(".row").inner_text().count("截斷") == 1
    page.get_by_role("checkbox", name="有註記").check()
    assert count(page) == "0 題，共 60 題"


def test_search_in_chinese_over_questions_and_responses(opened):
    page = opened()
    search(page, "契約", "30 題，共 60 題")
    search(page, "契約 第31題", "1 題，共 60 題")
    search(page, "ｑ４２", "1 題，共 60 題")  # full width is the same
    search(page, "台灣", "1 題，共 60 題")
    search(page, "獨角獸", "0 題，共 60 題")
    page.get_by_label("範圍").select_option("r")
    search(page, "獨角獸", "1 題，共 60 題")


def test_the_order_by_length(opened):
    page = opened()
    page.get_by_label("順序").select_option("long")
    assert "q58" in page.locator(".row").first.inner_text()


def test_an_item_shows_the_prompt_the_reading_and_why(opened):
    page = opened()
    article = read(page, "第31題")
    text = article.inner_text()
    assert "第31題：關於契約" in text and "甲31" in text
    marked = article.locator("mark")
    assert marked.count() == 1 and marked.inner_text().startswith("\\boxed{")
    assert "第一個只放一個選項字母的 \\boxed{} 寫的是" in text
    folded = article.locator("details")
    assert folded.locator(".said").first.is_hidden()
    folded.locator("summary").first.click()
    assert load("box").system[:10] in folded.first.inner_text()


def test_thinking_is_folded_and_the_final_text_is_not(opened):
    page = opened()
    article = read(page, "第59題")
    thinking = article.locator("details", has=page.locator("summary:text-is('思考')"))
    assert "獨角獸" in thinking.locator(".said").text_content()
    assert thinking.locator(".said").is_hidden()
    assert article.locator(".said").last.inner_text().startswith("結論")


def test_a_hostile_response_is_text(opened):
    page = opened()
    article = read(page, "第57題")
    article.locator("summary", has_text="推理").click()
    assert article.locator(".said").last.text_content() == HOSTILE
    assert article.locator("img, svg, a, script").count() == 0
    assert article.locator("mark").inner_text() == "\\boxed{A}"
    assert page.evaluate("window.hit") is None
    assert page.locator("#subject-table b").count() == 0


def test_the_keyboard_alone_reads_items(opened):
    page = opened()
    page.locator("#item-list").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.wait_for_selector("#item h3:text('#2')")
    chosen = page.locator("#item-list").get_attribute("aria-activedescendant")
    assert page.locator(f"#{chosen}").get_attribute("aria-selected") == "true"
    page.keyboard.press("End")
    page.wait_for_selector("#item h3:text('#59')")
    assert page.locator("[aria-posinset='60']").is_visible()
    page.keyboard.press("Home")
    page.wait_for_selector("#item h3:text('#0')")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "item"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the button for the next one
    page.wait_for_selector("#item h3:text('#1')")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "item-list"


def test_everything_is_reached_by_tab_and_the_first_stop_skips(opened):
    page = opened()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    seen = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.id || document.activeElement.className"))
    assert {"sort", "item-search", "item-subject", "item-result", "item-truncated", "item-list"} <= seen


def test_english_everywhere(opened):
    page = opened()
    read(page, "第31題")
    page.get_by_role("button", name="English").click()
    page.wait_for_selector("#item h4:text('Response')")
    text = page.locator("main").inner_text()
    assert "The first \\boxed{} that holds one option letter says" in text
    assert count(page) == "1 of 60 items"
    left = [word for word in ("嚴格", "警示", "作答", "答對", "讀法", "截斷") if word in text]
    assert left == []


def test_an_item_has_an_address(opened, visit, report_file):
    page = visit(report_file.as_uri() + "#item-7")
    page.wait_for_selector("#item h3:text('#7')")


def test_the_list_is_there_before_the_responses_are(visit, report_file):
    content = report_file.read_bytes()
    half = content.index(b'id="block-r0"') + 40  # in the midst of a block
    arrive = threading.Event()

    class Slow(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[:half])
            self.wfile.flush()
            arrive.wait(30)
            self.wfile.write(content[half:])

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        page = visit(f"http://127.0.0.1:{server.server_port}/", until="commit")
        page.wait_for_selector("html[data-ready]")
        assert count(page) == "60 題，共 60 題"
        assert page.locator("#item h3").count() == 0
        arrive.set()
        page.wait_for_selector("#item mark")
    finally:
        arrive.set()
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("dark", [False, True])
def test_nothing_serious_for_those_who_cannot_see(opened, accessible, dark):
    page = opened(dark=dark)
    read(page, "第59題")
    accessible(page)
    page.get_by_role("button", name="English").click()
    accessible(page)


def test_a_phone_shows_all_without_scrolling_sideways(opened, fits):
    page = opened(width=360)
    fits(page)
    search(page, "第31題", "1 題，共 60 題")
    page.locator(".row").click()
    page.wait_for_selector("#item h3")
    fits(page)
    assert page.evaluate("document.activeElement.id") == "item"
    assert page.locator("#item h3").is_visible() and page.locator("#item").bounding_box()["y"] < 200
    page.get_by_role("button", name="回清單").click()
    assert page.evaluate("document.activeElement.id") == "item-list"
    page.get_by_role("button", name="English").click()
    fits(page)


def test_a_private_page_lists_items_without_words(visit, stored_run, tmp_path, accessible):
    one = Item("秘密題目", ("甲", "乙", "丙", "丁"), "A", "民法", "q1")
    runs, run = stored_run([one], [says(one, right=True, text="秘密作答")], name="secret")
    path = tmp_path / "p.html"
    report_page.write(runs, run, path, private=True)
    page = visit(path)
    page.wait_for_selector("#item h3")
    assert "這份報告不含題目與作答" in page.locator("main").inner_text()
    assert "秘密" not in page.content()
    assert page.locator("#item-scope").count() == 0
    search_box = page.get_by_role("searchbox")
    search_box.fill("q1")
    page.wait_for_selector("#item-count:text('1 題，共 1 題')")
    accessible(page)
