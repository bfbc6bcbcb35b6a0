"""The review of a build in a real browser: what lies where on the picture, and deciding by keyboard."""

from __future__ import annotations

import json
import shutil

import pytest

pytestmark = pytest.mark.browser

FOUR = ("甲說", "乙說", "丙說", "丁說")
A4 = (595.0, 842.0)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    return tmp_path_factory.mktemp("shelf")


@pytest.fixture
def built(shelf, tmp_path, twlocal):
    """A build of one drawn paper: item 3 has a picture beside it, item 2 a correction."""
    import drawn_papers

    if not (shelf / "exam.db").exists():
        items = [("占有之效力為何者？", FOUR, "D"), ("物權之客體為何者？", FOUR, "B"), ("箭號所指為何者？", FOUR, "A")]
        drawn_papers.draw(shelf / "papers", "b113", items, correction={2: "答Ａ給分"}, pictures={3: (60, 40)})
        for words in (("parse", shelf / "papers", "-j", "1"), ("build", "bench")):
            done = twlocal("exam", *words, "--db", shelf / "part.db")
            assert done.returncode == 0, done.stderr
        (shelf / "part.db").rename(shelf / "exam.db")
    shutil.copy(shelf / "exam.db", tmp_path / "exam.db")
    return tmp_path / "exam.db"


@pytest.fixture
def address(built, start):
    process = start("exam", "review", "--by", "tester", "--lang", "zh-TW")
    line = process.stdout.readline().strip()
    assert line.startswith("http://127.0.0.1:"), process.communicate()
    return line


def press(page, key):
    with page.expect_navigation():
        page.keyboard.press(key)


def places(page, kind):
    """The boxes drawn on the picture of a document of that kind, in points from the upper left of the page."""
    return page.evaluate(
        """([kind, width]) => {
            const figure = document.querySelector(`.page[data-kind="${kind}"]`);
            const paper = figure.querySelector("img").getBoundingClientRect();
            const scale = paper.width / width;
            return [...figure.querySelectorAll("[data-part]")].map((part) => {
              const box = part.querySelector("rect").getBoundingClientRect();
              return [part.dataset.part, (box.left - paper.left) / scale, (box.top - paper.top) / scale,
                      (box.right - paper.left) / scale, (box.bottom - paper.top) / scale];
            });
          }""",
        [kind, A4[0]],
    )


def test_flagged_items_come_first_and_boxes_lie_where_the_paper_was_drawn(visit, address, accessible):
    page = visit(address)
    assert page.locator("#items tbody tr").count() == 1 and page.locator("#items tbody a").inner_text() == "b113-003"
    accessible(page)
    page.get_by_role("link", name="全部").click()
    assert page.locator("#items tbody a").all_inner_texts() == ["b113-003", "b113-001", "b113-002"]
    with page.expect_navigation():
        page.locator("#items tbody a").first.click()
    image = page.locator('.page[data-kind="Q"] img')
    page.wait_for_function("[...document.images].every((image) => image.complete && image.naturalWidth > 0)")
    assert image.evaluate("image => image.naturalWidth") == 1200
    drawn = {kind: box for kind, *box in places(page, "Q")}
    y = 200 + 44 * 2  # item 3, as drawn_papers.draw says
    for kind, x, baseline, width in (
        ("number", 40.7, y, 6), ("stem", 60.8, y, 96), ("A", 60.7, y + 18, 36), ("C", 313, y + 18, 36),
        ("D", 439, y + 18, 36),
    ):  # fmt: skip
        left, top, right, bottom = drawn[kind]
        assert (left, right) == (pytest.approx(x, abs=2.5), pytest.approx(x + width, abs=2.5)), kind
        assert top < baseline - 6 < bottom and baseline - 14 < top and bottom < baseline + 6, kind
    ((kind, left, top, right, bottom),) = places(page, "A")
    assert kind == "key" and left - 3 < 86 + 2 * 50 < right and top < 272 - 4 < bottom
    # The picture has been scrolled to the item, also the key's.
    frames = page.locator(".frame").all()
    for frame in frames:
        seen = frame.evaluate(
            """frame => {
                const box = frame.getBoundingClientRect(), part = frame.querySelector("rect").getBoundingClientRect();
                return box.top <= part.top && part.bottom <= box.bottom;
            }"""
        )
        assert seen
    assert page.locator(".options .keyed").inner_text().startswith("A")
    accessible(page)


def test_deciding_by_keyboard_reaches_the_withdrawal_list(visit, address, twlocal, tmp_path):
    page = visit(address + "?show=all")
    page.locator("#items tbody a").first.click()
    press(page, "j")
    assert page.locator("h1").inner_text().startswith("b113-001")
    press(page, "k")
    page.keyboard.press("w")
    field = page.get_by_label("撤題理由")
    assert field.evaluate("element => element === document.activeElement") and field.input_value() == ""
    page.keyboard.press("Enter")
    assert page.locator("h1").inner_text().startswith("b113-003"), "no reason, no withdrawal"
    page.keyboard.type("a j：題目需要<圖>")
    press(page, "Enter")
    assert page.locator("h1").inner_text().startswith("b113-001")
    assert "b113-003 已撤題：a j：題目需要<圖>" in page.locator(".done").inner_text()
    press(page, "a")
    assert page.locator("h1").inner_text().startswith("b113-002")
    press(page, "u")
    assert page.locator("h1").inner_text() == "b113-001 未審", "the acceptance is taken back"
    press(page, "a")
    assert twlocal("exam", "build", "bench").returncode == 0
    lines = (tmp_path / "bench" / "withdrawn.jsonl").read_text(encoding="utf-8").splitlines()
    assert [(row["id"], row["reason"]) for row in map(json.loads, lines)] == [("b113-003", "a j：題目需要<圖>")]
    page.goto(address + "?show=kept")
    assert page.locator("#items tbody a").all_inner_texts() == ["b113-001"]


def test_two_tabs_and_what_the_second_is_told(visit, address):
    one, other = visit(address + "item/b113-003"), None
    other = one.context.new_page()
    other.goto(address + "item/b113-003")
    press(one, "a")
    other.keyboard.press("w")
    other.keyboard.type("缺圖")
    with other.expect_navigation() as found:
        other.keyboard.press("Enter")
    assert found.value.status == 409
    assert "剛才已經在別處決定了" in other.get_by_role("alert").inner_text()
    assert other.locator("h1").inner_text() == "b113-003 已接受"


def test_boxes_go_away_and_the_page_fits_a_phone(visit, address, fits, accessible):
    page = visit(address + "item/b113-003", width=360, height=800, dark=True)
    svg = page.locator(".picture svg").first
    assert svg.evaluate("element => getComputedStyle(element).visibility") == "visible"
    page.keyboard.press("r")
    assert svg.evaluate("element => getComputedStyle(element).visibility") == "hidden"
    page.get_by_role("button", name="English").click()
    assert page.get_by_role("button", name="Accept").is_visible()
    fits(page)
    accessible(page)


def test_another_site_cannot_decide(visit, address, tmp_path):
    """A form that another page sends is refused, and so is that page's frame around ours."""
    elsewhere = tmp_path / "elsewhere.html"
    elsewhere.write_text(
        f'<form method="post" action="{address}decide"><input name="item" value="b113-003">'
        '<input name="action" value="keep"><input name="seen" value="0"><button>win</button></form>',
        encoding="utf-8",
    )
    context = visit(address).context
    page = context.new_page()
    page.goto(elsewhere.as_uri())
    with page.expect_navigation() as found:
        page.get_by_role("button").click()
    assert found.value.status == 403
    page.goto(address + "?show=kept")
    assert page.locator("#items").count() == 0
