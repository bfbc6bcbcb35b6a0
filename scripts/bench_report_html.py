"""A run's page: how long it takes to write, how large it is, and how it opens, scrolls and searches in a real Chromium.

    python scripts/bench_report_html.py
    python scripts/bench_report_html.py --rows 250000 --characters 400

The run is made up (`--rows` responses of about `--characters` characters in 60 subjects) and stored as a real one is.
`first row`, `all rows` and `first item` are from the navigation's start to the first row on the screen, to the whole
list being there to filter, and to the first item being there to read; `slowest frame` is the longest time between two
frames while the list is scrolled from end to end.
Needs the extras html and browser-test, and a Chromium (TWLOCAL_CHROMIUM names another one).
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import _bench

from twlocal import protocol
from twlocal.backend import Completion, EngineInfo
from twlocal.item import Item
from twlocal.models import Model
from twlocal.plan import Plan, Wish, plan_order
from twlocal.report.page import write
from twlocal.responses import Answered
from twlocal.runs import RunRow, Runs
from twlocal.store import open_store

AT = "2026-01-02T03:04:05.000000Z"
GOAL = 2.0  # seconds until 22,000 items are open
BATCH = 500
WORDS = "契約當事人損害賠償請求權善意第三人登記效力撤銷無效承認抗辯時效推定舉證責任分配原則例外規定適用範圍"
WATCH = """
window.seen = {};
new MutationObserver(() => {
  if (!seen.row && document.querySelector('.row')) seen.row = performance.now();
  if (!seen.item && document.querySelector('#item h3')) seen.item = performance.now();
  if (!seen.all && document.documentElement.dataset.ready) seen.all = performance.now();
}).observe(document, {childList: true, subtree: true, attributes: true});
"""
SCROLL = """async () => {
  const list = document.getElementById('item-list'), frames = [];
  let last = await new Promise(requestAnimationFrame);
  for (let step = 0; step <= 120; step += 1) {
    list.scrollTop = (list.scrollHeight - list.clientHeight) * step / 120;
    const now = await new Promise(requestAnimationFrame);
    frames.push(now - last);
    last = now;
  }
  return frames;
}"""
SEARCH = """async ([word, scope]) => {
  document.getElementById('item-scope').value = scope;
  const box = document.getElementById('item-search'), count = document.getElementById('item-count');
  const begun = performance.now();
  box.value = word;
  document.getElementById('item-filters').requestSubmit();
  await new Promise(requestAnimationFrame);
  while (count.textContent.includes('…')) await new Promise(requestAnimationFrame);
  return [performance.now() - begun, count.textContent];
}"""


def stored(runs: Runs, rows: int, characters: int) -> RunRow:
    """A run with all its answers."""
    dice = random.Random(8)

    def text(length: int) -> str:
        return "".join(dice.choices(WORDS, k=length))

    subjects = [f"{text(4)}{number}" for number in range(60)]
    items = [
        Item(
            f"第{no}題：{text(60)}，下列敘述何者正確？",
            (text(15), text(15), text(15), text(15)),
            dice.choice("ABCD"),
            subjects[no % 60],
            f"q{no}",
        )
        for no in range(rows)
    ]
    box = protocol.load("box")
    kept = {
        "identity": {"model": {"id": "m", "revision": "", "fingerprint": ""}},
        "protocol": {
            **{name: getattr(box, name) for name in ("name", "title", "title_zh", "system", "body", "reader")},
            **{name: getattr(box, name) for name in ("shuffle", "publishable", "why_not", "why_not_zh", "sha256")},
            "examples": [],
        },
        "decoding": {"max_tokens": 4096, "temperature": 0.0, "top_p": 0.9},
        "bench": {"name": "bench", "revision": ""},
        "sample": {"rows": rows},
    }
    wish = Wish("m.gguf", "bench", "box")
    plan = Plan("k" * 64, "bench-run", wish, Model("m", "m.gguf", "x"), "x", box, tuple(plan_order(items)), kept)
    run = runs.ensure(plan, at=AT)
    sitting = runs.begin_sitting(run.id, EngineInfo("scripted", "1"), {}, pid=1, host="here", at=AT)
    for start in range(0, rows, BATCH):
        batch = []
        for no in range(start, min(start + BATCH, rows)):
            length = max(20, round(dice.gauss(characters, characters / 3)))
            letter = dice.choice("ABCD")
            said = f"{text(length)}\n\\boxed{{{letter}}}" if dice.random() < 0.97 else text(length)
            finish = "length" if dice.random() < 0.02 else "stop"
            done = Completion(f"{no}.0", said, finish=finish, prompt_tokens=300, completion_tokens=length)
            batch.append(Answered(no, 0, "CADB", done, AT))
        runs.add(run.id, sitting, batch)
    runs.mark_complete(run.id, at=AT)
    return runs.get("bench-run")


def look(page_file: Path, times: int) -> list[list[str]]:
    """What a Chromium takes for the page."""
    from playwright.sync_api import sync_playwright

    path = os.environ.get("TWLOCAL_CHROMIUM") or shutil.which("chromium")
    times_to: dict[str, list[float]] = {"row": [], "all": [], "item": []}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for _ in range(times):
            page: Any = browser.new_context(locale="zh-TW").new_page()
            page.add_init_script(WATCH)
            page.goto(page_file.as_uri(), wait_until="commit", timeout=120_000)
            page.wait_for_selector("html[data-ready]", timeout=120_000)
            page.wait_for_selector("#item h3", timeout=120_000)
            page.wait_for_load_state("load")
            for name, found in times_to.items():
                found.append(page.evaluate("seen")[name] / 1000)
        frames = page.evaluate(SCROLL)
        searches = [
            [f"search {scope}, {turn}", f"{took / 1000:.2f} s, {said}"]
            for scope, name in (("questions", "q"), ("responses too", "r"))
            for turn in ("first", "again")
            for took, said in [page.evaluate(SEARCH, ["第12 契約", name])]
        ]
        browser.close()
    return [
        ["first row", f"{statistics.median(times_to['row']):.2f} s"],
        ["all rows", f"{statistics.median(times_to['all']):.2f} s (goal for 22,000: {GOAL} s)"],
        ["first item", f"{statistics.median(times_to['item']):.2f} s"],
        ["frame while scrolling, median", f"{statistics.median(frames):.0f} ms"],
        ["slowest frame", f"{max(frames):.0f} ms"],
        *searches,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=22_000)
    parser.add_argument("--characters", type=int, default=600)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="leave the page there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "bench.db"
        runs = Runs(open_store(database), database)
        run = stored(runs, options.rows, options.characters)
        page_file = options.keep or Path(folder) / "report.html"
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        begun = time.perf_counter()
        write(runs, run, page_file)
        took = time.perf_counter() - begun
        more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        runs.close()
        table = [
            ["written in", f"{took:.1f} s"],
            ["peak memory beyond making the run", f"{more / 1024:.0f} MB"],
            ["size", f"{page_file.stat().st_size / 1e6:.1f} MB"],
            *look(page_file, options.times),
        ]
    for name, value in _bench.machine().items():
        print(f"{name}: {value}")
    print()
    print(_bench.table([f"{options.rows:,} responses of about {options.characters} characters", ""], table))


if __name__ == "__main__":
    main()
