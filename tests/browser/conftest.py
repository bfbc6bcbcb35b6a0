"""A real headless Chromium for the tests of pages (`make test-browser`).

Playwright's synchronous interface keeps an event loop in this thread: a test that needs a server starts it in a process
or a thread of its own. `wait_for_function` cannot be used, because the pages' security policy refuses to evaluate text:
wait for a selector or with `expect`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser, started once: the system's own, or the one that TWLOCAL_CHROMIUM names, or Playwright's."""
    api = pytest.importorskip("playwright.sync_api", reason="needs the extra browser-test")
    path = os.environ.get("TWLOCAL_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
    with api.sync_playwright() as playwright:
        if path is None and not Path(playwright.chromium.executable_path).exists():
            pytest.skip("needs a Chromium: apt install chromium, or playwright install chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Open a file or an address of this machine; what comes back is Playwright's page.

    `visit(path, width=360, height=800, dark=True, storage=False, script="…")`: `storage=False` makes localStorage
    raise, as it may for files; `script` runs before any of the page's; `refused=True` lets the browser say that the
    page's security policy refused something; `until="commit"` comes back before all has arrived. The test fails where a
    page writes an error to the console, raises, or asks for anything that is not a file or on this machine.
    """
    contexts, faults = [], []

    def look(request: Any) -> None:
        address = urlsplit(request.url)
        if address.scheme not in {"file", "data", "blob"} and address.hostname not in _LOOPBACK:
            faults.append(f"asked for {request.url}")

    def listen(refused: bool, said: Any) -> None:
        if said.type == "error" and not (refused and "Content Security Policy" in said.text):
            faults.append(f"console: {said.text}")

    def open_page(
        target: Path | str,
        *,
        width: int = 1100,
        height: int = 900,
        dark: bool = False,
        storage: bool = True,
        script: str = "",
        refused: bool = False,
        until: str = "load",
    ) -> Any:
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", locale="zh-TW"
        )
        contexts.append(context)
        context.set_default_timeout(15_000)
        if not storage:
            context.add_init_script(
                "Object.defineProperty(window, 'localStorage', "
                "{get() { throw new DOMException('no', 'SecurityError') }})"
            )
        if script:
            context.add_init_script(script)
        context.on("request", look)
        page = context.new_page()
        page.on("console", partial(listen, refused))
        page.on("pageerror", lambda error: faults.append(f"raised: {error}"))
        page.goto(target.as_uri() if isinstance(target, Path) else target, wait_until=until)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not faults, "\n".join(faults)


@pytest.fixture
def accessible() -> Callable[..., None]:
    """Fail where axe-core finds a serious or critical issue on a page as it stands now."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs the extra browser-test").Axe()

    def check(page: Any) -> None:
        found = axe.run(page).response["violations"]
        serious = [
            f"{one['id']}: {one['help']}\n  " + "\n  ".join(str(node["html"])[:300] for node in one["nodes"][:5])
            for one in found
            if one["impact"] in {"serious", "critical"}
        ]
        assert not serious, "\n".join(serious)

    return check


@pytest.fixture
def fits() -> Callable[[Any], None]:
    """Fail where a page is wider than its window, so that it scrolls sideways."""

    def check(page: Any) -> None:
        widths = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert widths[0] <= widths[1], f"the page is {widths[0]} pixels wide in a window of {widths[1]}"

    return check
