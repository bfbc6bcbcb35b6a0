"""Every number on every page of a board against the rows it was made from, counted here by other means.

Nothing of the product is used for it: the rows come from the test's own tables, the pages are read as HTML, the
intervals, tests, ranks and correlations are written out below.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter, defaultdict
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

Z = 1.959963984540054
READINGS = {
    "box": ("correct", "lenient_correct", "wrote_box", "parsed"),
    "board": ("ok∧boxp", "ok", None, "boxp"),
}


class Page(HTMLParser):
    """A page's tables as rows of cell texts, and its text; of the two languages only the English one."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.text = ""
        self._cell: list[str] | None = None
        self._skip = 0
        self._spans: list[bool] = []
        self._hidden = 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        if tag == "span":
            self._spans.append(said.get("lang") == "zh-Hant")
            self._skip += self._spans[-1]
        elif tag in ("style", "script", "svg"):
            self._hidden += 1
        elif tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self._cell = []
        elif tag == "small" and self._cell is not None:
            self._cell.append(" | ")

    def handle_endtag(self, tag: str) -> None:
        if tag == "span":
            self._skip -= self._spans.pop()
        elif tag in ("style", "script", "svg"):
            self._hidden -= 1
        elif tag in ("td", "th") and self._cell is not None:
            self.tables[-1][-1].append(" ".join("".join(self._cell).split()))
            self._cell = None

    def handle_data(self, data: str) -> None:
        if self._skip or self._hidden:
            return
        self.text += data
        if self._cell is not None:
            self._cell.append(data)

    def said(self) -> str:
        return " ".join(self.text.split())


def wilson(k: float, n: int) -> tuple[float, float]:
    p = k / n
    middle = (p + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
    return middle - half, middle + half


def share(k: int, n: int, places: int = 1) -> str:
    return f"{100 * k / n:.{places}f}%"


def places(k: int, n: int) -> int:
    low, high = wilson(k, n)
    return 2 if high - low < 0.01 else 1


def between(k: int, n: int) -> str:
    low, high = wilson(k, n)
    return f"{100 * low:.{places(k, n)}f}–{100 * high:.{places(k, n)}f}"


class Expected:
    """What the rows of all models come to."""

    def __init__(self, tools: Any, reading: str) -> None:
        self.tools, self.reading = tools, reading
        self.slugs = {model: name.replace("/", "_").lower() for model, name in enumerate(tools.NAMES)}
        self.rows = {
            (model, bench): tools.raw_rows(model, bench) for model in self.slugs for bench in ("exam", "formosa")
        }

    def fact(self, row: Any, at: int) -> bool | None:
        name = READINGS[self.reading][at]
        if name is None:
            return None
        return row.facts["ok"] and row.facts["boxp"] if name == "ok∧boxp" else row.facts[name]

    def counts(self, model: int, bench: str, subject: str | None = None) -> list[int | None]:
        """n, strict, lenient, boxes, parsed."""
        rows = [row for row in self.rows[model, bench] if subject in (None, row.subject)]
        told = [[self.fact(row, at) for row in rows] for at in range(4)]
        return [len(rows), *(None if None in one else sum(map(bool, one)) for one in told)]

    def table_row(self, model: int, bench: str, subject: str | None = None) -> list[str]:
        """n, strict, interval, (bar), lenient, box, parsed, as the tables of models and subjects show them."""
        n, strict, lenient, boxes, parsed = self.counts(model, bench, subject)
        digits = places(strict, n)
        return [
            f"{n:,}",
            share(strict, n, digits),
            between(strict, n),
            "",
            share(lenient, n, digits),
            "–" if boxes is None else share(boxes, n),
            share(parsed, n),
        ]

    def right(self, model: int, bench: str) -> dict[str, bool]:
        return {row.ch: bool(self.fact(row, 0)) for row in self.rows[model, bench]}

    def better(self, bench: str) -> dict[tuple[int, int], Fraction]:
        """The one-sided p of McNemar's exact test for each ordered pair."""
        right = {model: self.right(model, bench) for model in self.slugs}
        found = {}
        for one in self.slugs:
            for other in self.slugs:
                if one != other:
                    gained = sum(right[one][ch] and not right[other][ch] for ch in right[one])
                    lost = sum(right[other][ch] and not right[one][ch] for ch in right[one])
                    n = gained + lost
                    tail = sum(math.comb(n, k) for k in range(gained, n + 1)) if n else 1
                    found[one, other] = Fraction(tail, 2**n) if n else Fraction(1)
        return found

    def real(self, bench: str) -> set[tuple[int, int]]:
        """The pairs that hold after Holm at 5%."""
        kept, ordered = set(), sorted(self.better(bench).items(), key=lambda row: row[1])
        for at, (pair, p) in enumerate(ordered):
            if p * (len(ordered) - at) > Fraction(1, 20):
                break
            kept.add(pair)
        return kept

    def ranks(self, bench: str) -> dict[int, tuple[int, int, int]]:
        real, score = self.real(bench), {model: self.counts(model, bench)[1] for model in self.slugs}
        return {
            model: (
                1 + sum(score[other] > score[model] for other in self.slugs),
                1 + sum((other, model) in real for other in self.slugs),
                len(self.slugs) - sum((model, other) in real for other in self.slugs),
            )
            for model in self.slugs
        }


@pytest.fixture(scope="module", params=["box", "board"])
def case(request: pytest.FixtureRequest, tools: Any) -> tuple[Path, Expected]:
    site = request.getfixturevalue("box_site" if request.param == "box" else "exchange_site")
    return site, Expected(tools, request.param)


def rank_text(best: int, worst: int) -> str:
    return f"{best}" if best == worst else f"{best}–{worst}"


def test_the_board_s_table(case):
    site, expected = case
    rows = Page(site / "index.html").tables[0][2:]
    assert len(rows) == len(expected.slugs)
    by_name = {row[0].split(" | ")[0]: row for row in rows}
    for bench, first in (("exam", 1), ("formosa", 7)):
        ranks = expected.ranks(bench)
        for model, name in enumerate(expected.tools.NAMES):
            n, strict, interval, _, lenient, box, parsed = expected.table_row(model, bench)
            cells = by_name[name][first : first + 6]
            assert cells == [rank_text(*ranks[model][1:]), f"{strict} | {interval}", lenient, box, parsed, n], name
    order = [row[0].split(" | ")[0] for row in rows]
    scores = [expected.counts(expected.tools.NAMES.index(name), "exam")[1] for name in order]
    assert scores == sorted(scores, reverse=True)


def test_notes_and_what_the_registry_knows(case):
    site, expected = case
    rows = {row[0]: row for row in Page(site / "index.html").tables[0][2:]}
    assert "openai/gpt-oss-120b | 116.8B" in rows and "org0/model-00" in rows
    tagged = [name for name, row in rows.items() if "self-advantage (formosa)" in row[13]]
    assert tagged == ["openai/gpt-oss-120b | 116.8B"]
    unknown = all("protocol unknown" in row[13] for row in rows.values())
    assert unknown == (expected.reading == "board")
    assert "engine" not in rows["org0/model-00"][14] and "vllm" in rows["org0/model-00"][14]


def test_every_model_s_page(case):
    site, expected = case
    pages = sorted((site / "models").glob("*.html"))
    assert [page.stem for page in pages] == sorted(expected.slugs.values())
    for model, slug in expected.slugs.items():
        page = Page(site / "models" / f"{slug}.html")
        said = page.said()
        for bench in ("exam", "formosa"):
            n, strict, interval, _, lenient, box, parsed = expected.table_row(model, bench)
            best, worst = expected.ranks(bench)[model][1:] if model % 7 == 0 else (None, None)
            assert f"strict{strict}95% {interval} · n = {n} " in said
            assert f"lenient, to compare{lenient}" in said and f"box / parsed{box} / {parsed}" in said
            if best is not None:
                assert f"rank{rank_text(best, worst)}of {len(expected.slugs)} models" in said
        if expected.reading == "board":
            assert page.tables == []  # the exchange format tells no subjects
            continue
        assert len(page.tables) == 2
        for table, bench in zip(page.tables, ("exam", "formosa"), strict=True):
            subjects = sorted({row.subject for row in expected.rows[model, bench]})
            assert table[1:] == [[name, *expected.table_row(model, bench, name)] for name in subjects]


def test_every_subject_s_page(box_site, tools):
    expected = Expected(tools, "box")
    pages = {path.relative_to(box_site / "subjects").as_posix() for path in (box_site / "subjects").rglob("*.html")}
    assert pages == {
        f"{bench}/{name}.html" for (_, bench), rows in expected.rows.items() for name in {r.subject for r in rows}
    }
    listed: dict[str, list[str]] = {}
    for table in Page(box_site / "subjects.html").tables:
        listed |= {row[0]: row for row in table[1:]}
    for name in pages:
        bench, subject = name.removesuffix(".html").split("/")
        page = Page(box_site / "subjects" / name)
        want = {tools.NAMES[model]: expected.table_row(model, bench, subject) for model in expected.slugs}
        assert {row[0]: row[1:] for row in page.tables[0][1:]} == want
        scores = sorted(
            Fraction(expected.counts(model, bench, subject)[1], expected.counts(model, bench, subject)[0])
            for model in expected.slugs
        )
        n = expected.counts(0, bench, subject)[0]
        middle = (scores[10] + scores[11]) / 2
        shown = [f"{100 * float(one):.1f}%" for one in (scores[0], middle, scores[-1])]
        assert listed[subject][1:6] == [f"{n:,}", "22", *shown]
        best = tools.NAMES.index(listed[subject][6])
        assert Fraction(expected.counts(best, bench, subject)[1], n) == scores[-1]


def test_the_ranks_page(case):
    site, expected = case
    page = Page(site / "ranks.html")
    for table, bench in zip(page.tables, ("exam", "formosa"), strict=True):
        ranks, real = expected.ranks(bench), expected.real(bench)
        assert f"22 models, 231 pairs, of which {len(real)} differ for certain." in page.said()
        assert len(table[1:]) == 22
        for name, place, interval, _, strict, ci in table[1:]:
            model = expected.tools.NAMES.index(name)
            assert (int(place), interval) == (ranks[model][0], rank_text(*ranks[model][1:]))
            assert [strict, ci] == expected.table_row(model, bench)[1:3]


def test_every_comparison_that_can_be_downloaded(case):
    site, expected = case
    for bench in ("exam", "formosa"):
        p, real = expected.better(bench), expected.real(bench)
        slugs = {slug: model for model, slug in expected.slugs.items()}
        rows = list(csv.DictReader(io.StringIO((site / f"data/ranks/{bench}.csv").read_text(encoding="utf-8"))))
        assert len(rows) == 231
        for row in rows:
            one, other = slugs[row["better"]], slugs[row["than"]]
            first, second = expected.right(one, bench), expected.right(other, bench)
            gained = sum(first[ch] and not second[ch] for ch in first)
            assert (row["method"], int(row["gained"])) == ("paired", gained)
            assert math.isclose(float(row["p"]), float(p[one, other]), rel_tol=1e-5)
            assert (row["real"] == "1") == ((one, other) in real)
            assert math.isclose(float(row["difference"]), (sum(first.values()) - sum(second.values())) / len(first))


def spearman(first: list[float], second: list[float]) -> tuple[float, list[float], list[float]]:
    def places_of(values: list[float]) -> list[float]:
        return [1 + sum(o > v for o in values) + (sum(o == v for o in values) - 1) / 2 for v in values]

    a, b = places_of(first), places_of(second)
    mean = (len(a) + 1) / 2
    top = sum((x - mean) * (y - mean) for x, y in zip(a, b, strict=True))
    return top / math.sqrt(sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b)), a, b


def test_the_two_axes(case):
    site, expected = case
    page = Page(site / "axes.html")
    for number in range(2):  # strict, lenient
        score = {
            bench: [expected.counts(m, bench)[1 + number] / expected.counts(m, bench)[0] for m in expected.slugs]
            for bench in ("exam", "formosa")
        }
        rho, first, second = spearman(score["exam"], score["formosa"])
        agreement, families, moved = page.tables[3 * number : 3 * number + 3]
        assert agreement[1][:3] == ["all", "22", f"{rho:.2f}"]
        gains = [a - b for a, b in zip(first, second, strict=True)]
        tuned = [gains[3], gains[4]]
        rest = sorted(gain for at, gain in enumerate(gains) if at not in (3, 4))
        mean, middle = sum(rest) / 20, (rest[9] + rest[10]) / 2
        assert families[1][:4] == ["Taiwan-tuned", "2", f"{sum(tuned) / 2:+.1f}", f"{sum(tuned) / 2:+.1f}"]
        assert families[2][:4] == ["the rest", "20", f"{mean:+.1f}", f"{middle:+.1f}"]
        for name, exam, formosa, gain in moved[1:]:
            at = expected.tools.NAMES.index(name.removesuffix(" Taiwan-tuned"))
            shown = [f"{100 * score[bench][at]:.1f}%" for bench in ("exam", "formosa")]
            assert [exam, formosa, gain] == [*shown, f"{gains[at]:+.1f}"]
        shifts = sorted(f - e for e, f in zip(score["exam"], score["formosa"], strict=True))
        assert f"scores {100 * (shifts[10] + shifts[11]) / 2:+.1f} points on tw-formosa-bench" in page.said()


def test_difficulty(case):
    site, expected = case
    page = Page(site / "difficulty.html")
    for table, bench in zip(page.tables, ("exam", "formosa"), strict=True):
        subject = {row.ch: row.subject for row in expected.rows[0, bench]}
        right = Counter(
            ch for model in expected.slugs for ch, is_right in expected.right(model, bench).items() if is_right
        )
        nobody, everybody = sum(not right[ch] for ch in subject), sum(right[ch] == 22 for ch in subject)
        assert (
            f"22 models, {len(subject)} items: on {nobody} nobody was right, on {everybody} everybody." in page.said()
        )
        rows = csv.DictReader(io.StringIO((site / f"data/difficulty/{bench}.csv").read_text(encoding="utf-8")))
        assert {row["ch"]: round(22 * float(row["right"])) for row in rows} == {ch: right[ch] for ch in subject}
        said = json.loads((site / f"data/difficulty/{bench}.json").read_text(encoding="utf-8"))
        assert said["bins"] == [sum(min(right[ch] * 10 // 22, 9) == at for ch in subject) for at in range(10)]
        if expected.reading == "board":
            assert table[1][1] == f"{len(subject)}"
            continue
        groups = defaultdict(list)
        for ch, name in subject.items():
            groups[name].append(right[ch])
        for name, items, mean, none, every in table[1:]:
            own = groups[name]
            assert [items, mean] == [f"{len(own)}", f"{100 * sum(own) / len(own) / 22:.1f}%"]
            assert [none, every] == [f"{own.count(0)}", f"{own.count(22)}"]


def test_half_life(case):
    site, expected = case
    page = Page(site / "halflife.html")
    score = {m: expected.counts(m, "formosa")[1] / expected.counts(m, "formosa")[0] for m in expected.slugs}

    def counted(models: list[int]) -> list[str]:
        values = sorted(score[m] for m in models)
        below, above = sum(v < 0.469 for v in values), sum(v > 0.746 for v in values)
        middle = (
            values[len(values) // 2]
            if len(values) % 2
            else sum(values[len(values) // 2 - 1 : len(values) // 2 + 1]) / 2
        )
        return [
            *(f"{len(values)}", f"{below}", f"{len(values) - below - above}", f"{above}"),
            *(f"{100 * middle:.1f}%", f"{100 * values[-1]:.1f}%"),
        ]

    days = sorted({expected.tools.day(m) for m in score})
    want = [[one, *counted([m for m in score if expected.tools.day(m) <= one])] for one in days]
    assert page.tables[0][1:] == want
    n, below, within, above, middle, best = counted(list(score))
    assert (
        f"{n} models: {below} below, {within} in the band, {above} above; the best {best}, the median {middle}."
        in page.said()
    )


def test_the_downloads_say_what_the_pages_say(case):
    site, expected = case
    rows = list(csv.DictReader(io.StringIO((site / "data/board.csv").read_text(encoding="utf-8"))))
    said = json.loads((site / "data/board.json").read_text(encoding="utf-8"))
    told = {one["model"]: one["results"] for one in said["models"]}
    assert len(rows) == 44 and len(told) == 22
    ranks = {bench: expected.ranks(bench) for bench in ("exam", "formosa")}
    slugs = {slug: model for model, slug in expected.slugs.items()}
    for row in rows:
        model, bench = slugs[row["model"]], row["bench"]
        n, strict, lenient, boxes, parsed = expected.counts(model, bench)
        one = told[row["model"]][bench]
        assert [int(row[name]) for name in ("n", "correct", "lenient_correct", "parsed")] == [
            n,
            strict,
            lenient,
            parsed,
        ]
        assert [one[name] for name in ("n", "correct", "lenient_correct", "boxes", "parsed")] == [
            n,
            strict,
            lenient,
            boxes,
            parsed,
        ]
        assert row["boxes"] == ("" if boxes is None else str(boxes))
        for k, low, high, interval in (
            (strict, "low", "high", "interval"),
            (lenient, "lenient_low", "lenient_high", "lenient_interval"),
        ):
            want = wilson(k, n)
            assert all(math.isclose(a, b, abs_tol=1e-9) for a, b in zip(one[interval], want, strict=True))
            assert math.isclose(float(row[low]), want[0], abs_tol=1e-9) and math.isclose(
                float(row[high]), want[1], abs_tol=1e-9
            )
        assert math.isclose(one["accuracy"], strict / n) and math.isclose(float(row["accuracy"]), strict / n)
        assert (one["rank"], *one["rank_interval"]) == ranks[bench][model]
        assert (int(row["rank"]), int(row["rank_best"]), int(row["rank_worst"])) == ranks[bench][model]
        own = json.loads((site / f"data/models/{row['model']}.json").read_text(encoding="utf-8"))["results"][bench]
        assert {name: own[name] for name in one} == one


def test_the_rows_are_those_that_came_in(case):
    site, expected = case
    for model, slug in expected.slugs.items():
        for bench in ("exam", "formosa"):
            said = json.loads((site / f"data/rows/{bench}/{slug}.json").read_text(encoding="utf-8"))
            items = list(
                csv.DictReader(io.StringIO((site / f"data/items/{said['items']}.csv").read_text(encoding="utf-8")))
            )
            want = {row.ch: row for row in expected.rows[model, bench]}
            assert len(items) == len(want)
            for at, item in enumerate(items):
                row = want[item["ch"]]
                assert item["qh"] == row.qh
                assert all(one[0][at] == "01"[row.facts[fact]] for fact, one in said["rows"].items())
            facts = set(said["rows"])
            assert facts == ({"ok", "boxp", "lenp"} if expected.reading == "board" else set(row.facts))


def test_no_page_goes_unread(case):
    """The pages with numbers are those that the tests above read."""
    site, expected = case
    top = {path.name for path in site.glob("*.html")}
    read = {"index", "ranks", "axes", "difficulty", "halflife"}
    words_only = {"apparatus", "history", "data"}
    assert top == {
        f"{name}.html" for name in read | words_only | ({"subjects"} if expected.reading == "box" else set())
    }


def test_apparatus_history_and_data_count_right(case):
    site, expected = case
    said = Page(site / "apparatus.html").said()
    assert "44 results" in said and Page(site / "apparatus.html").tables[-1][1:] == [["vllm", "0.13", "44"]]
    text = Page(site / "history.html").said()
    assert "45 changes." in text  # 44 results and the board's own statement
    found = re.findall(r"([0-9a-f]{16}) (\d+)", Page(site / "data.html").said())
    assert sorted(int(n) for _, n in found) == [90, 150]
    if expected.reading == "box":
        from twlocal import protocol

        own = protocol.load("box").with_budget(4096)
        assert own.sha256 in said and " ".join(own.system.split()) in said
