"""The documentation site as `make docs` builds it: both languages, search, nothing from another host."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly: a link or an anchor that leads nowhere fails here."""
    pytest.importorskip("mkdocs_static_i18n", reason="needs the extra docs")
    pytest.importorskip("material", reason="needs the extra docs")
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=110,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """The site on this machine, as a file server shows it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def _found(page: Any, words: str) -> list[str]:
    """The titles that the search lists for words."""
    box = page.locator("input.md-search__input")
    box.click()
    box.fill(words)
    box.press("End")  # it listens to keys going up, which a text that is put in at once does not send
    page.locator(".md-search-result__item").first.wait_for()
    titles = page.locator(".md-search-result__item :is(h1, h2)").all_inner_texts()
    return [title.replace("\u200b", "") for title in titles if title.strip()]


def test_every_page_opens_and_asks_nobody_else(site: Path, address: str, visit: Any) -> None:
    pages = [path.relative_to(site).as_posix() for path in site.rglob("*.html") if path.name != "404.html"]
    chinese = {page for page in pages if not page.startswith("en/")}
    assert len(chinese) > 15 and {f"en/{page}" for page in chinese} == set(pages) - chinese
    page = visit(f"{address}/index.html")
    for name in pages:
        page.goto(f"{address}/{name}")
        assert page.locator("h1").count() == 1, name
        assert page.locator("html").get_attribute("lang") == ("en" if name.startswith("en/") else "zh-TW")


def test_nothing_names_another_host_to_load_from(site: Path) -> None:
    loads = re.compile(r"""<(?:script|img|iframe|link)\b[^>]*?(?:src|href)=["']?(https?:)?//[^>]*>""")
    for path in site.rglob("*.html"):
        assert not loads.search(path.read_text(encoding="utf-8")), path


def test_the_other_language_is_the_same_page(address: str, visit: Any) -> None:
    page = visit(f"{address}/scores.html")
    assert "嚴格讀法" in page.locator("article").inner_text()
    with page.expect_navigation():
        page.locator("header .md-select").hover()
        page.locator("header a[hreflang=en]").click()
    assert page.url.endswith("/en/scores.html")
    assert "strict" in page.locator("article").inner_text()


@pytest.mark.parametrize(
    ("start", "words", "title"),
    [
        ("index.html", "寬鬆讀法", "分數怎麼看"),
        ("index.html", "信賴區間", "分數怎麼看"),
        ("index.html", "中斷", "中斷與續跑"),
        ("index.html", "過夜佇列", "Mac Studio"),
        ("tutorials/cuda.html", "顯示卡", "引擎與選擇"),
        ("en/index.html", "lenient", "How a score is read"),
        ("en/tutorials/cuda.html", "resume", "Interrupted runs"),
        ("en/index.html", "trust-remote-code", "twlocal run"),
    ],
)
def test_search(start: str, words: str, title: str, address: str, visit: Any) -> None:
    page = visit(f"{address}/{start}")
    found = _found(page, words)
    assert any(title in one for one in found), found
    links = [link.get_attribute("href") for link in page.locator(".md-search-result__link").all()]
    assert links and all(link.startswith(f"{address}/en/") == start.startswith("en/") for link in links), links
    with page.expect_navigation():
        page.locator(".md-search-result__link").first.click()
    assert page.locator("h1").first.inner_text().strip("¶")  # a page, not the file server's list of a folder
    assert page.locator("article").count() == 1


def test_search_works_from_disk(site: Path, visit: Any) -> None:
    found = _found(visit(site / "index.html"), "寬鬆讀法")
    assert any("分數怎麼看" in one for one in found), found


@pytest.mark.parametrize(
    ("name", "dark"),
    [("index.html", False), ("index.html", True), ("scores.html", True), ("en/tutorials/cuda.html", False)],
)
def test_a_page_is_accessible_and_fits_a_phone(
    name: str, dark: bool, address: str, visit: Any, accessible: Any, fits: Any
) -> None:
    page = visit(f"{address}/{name}", width=360, height=780, dark=dark)
    fits(page)
    accessible(page)
