"""The stages over a database: the same bytes however often they are stopped, and numbers that add up."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from twlocal.errors import UsageError
from twlocal.formosa import accounting
from twlocal.formosa.build import cut_corpus, permute_items, screen_drafts, screened_rows, window_rows
from twlocal.formosa.drafts import read_drafts
from twlocal.formosa.lexicon import STRICT, Lexicon, Term, shipped
from twlocal.formosa.stored import Builds

NOW = "2026-08-24T00:00:00+00:00"
OpenBuilds = Callable[..., Builds]
WriteDrafts = Callable[[list[str]], Path]


class Killed(Exception):
    pass


def test_windows_are_the_same_twice_and_however_often_killed(corpus: Path, open_builds: OpenBuilds) -> None:
    whole = open_builds("whole.db")
    expected = list(window_rows(whole, cut_corpus(whole, corpus, now=NOW)))
    assert len(expected) >= 5
    for stop in (1, 2, 3):
        builds = open_builds(f"killed-{stop}.db")
        seen: list[str] = []

        def kill(path: str, seen: list[str] = seen, stop: int = stop) -> None:
            seen.append(path)
            if len(seen) == stop:
                raise Killed

        with pytest.raises(Killed):
            cut_corpus(builds, corpus, now=NOW, done=kill)
        again: list[str] = []
        build = cut_corpus(builds, corpus, now="2027-01-01T00:00:00+00:00", done=again.append)
        assert len(seen) + len(again) == 3 and not set(seen) & set(again)
        assert list(window_rows(builds, build)) == expected
    build = cut_corpus(whole, corpus, now=NOW, done=lambda path: pytest.fail(f"{path} was cut again"))
    assert len(whole.all()) == 1 and build.name.startswith("taiwan-md-")


def test_a_changed_corpus_or_target_is_another_build(corpus: Path, open_builds: OpenBuilds) -> None:
    builds = open_builds()
    first = cut_corpus(builds, corpus, now=NOW, name="一")
    kept = {row["window"] for row in window_rows(builds, first)}
    with pytest.raises(UsageError, match="already cut under the name 一"):
        cut_corpus(builds, corpus, now=NOW, name="一", target=500)
    assert cut_corpus(builds, corpus, now=NOW, target=500).id != first.id
    article = corpus / "knowledge" / "Food" / "米粉.md"
    article.write_text(article.read_text(encoding="utf-8") + "\n後來也有玉米粉做的。\n", encoding="utf-8")
    second = cut_corpus(builds, corpus, now=NOW)
    assert second.id != first.id
    # Windows of articles that did not change keep their hash: what was drafted from them can be used again.
    assert len(kept & {row["window"] for row in window_rows(builds, second)}) == len(kept) - 1


def test_windows_account_for_every_file_and_character(corpus: Path, open_builds: OpenBuilds) -> None:
    builds = open_builds()
    build = cut_corpus(builds, corpus, now=NOW)
    counts = accounting.of_windows(build.files, builds.articles(build), builds.windows(build))
    assert sum(counts["files"].values()) == len(list(corpus.rglob("*.md")))
    assert counts["articles"] == counts["files"]["article"] == 3
    assert counts["articles_without_window"] == ["History/虎尾溪的糖.md"]
    assert counts["front_matter_faults"] == ["Food/米粉.md"]
    assert counts["chars"] > counts["prose_chars"] >= counts["window_chars"] > 0
    assert counts["shortest"] <= counts["median_chars"] <= counts["longest"]
    assert counts["left_out"]["table"] == 1
    for row in window_rows(builds, build):
        text = (corpus / "knowledge" / row["path"]).read_bytes().decode("utf-8")
        assert row["text"].split("\n")[0][:20] in text[row["start"] : row["end"]]


def test_a_text_that_stands_twice_is_asked_about_once(corpus: Path, open_builds: OpenBuilds) -> None:
    source = corpus / "knowledge" / "Food" / "米粉.md"
    (source.parent / "米粉二.md").write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    builds = open_builds()
    build = cut_corpus(builds, corpus, now=NOW)
    counts = accounting.of_windows(build.files, builds.articles(build), builds.windows(build))
    assert counts["duplicate_windows"] == 1
    assert len(list(window_rows(builds, build))) == counts["windows"] - 1


def prepared(corpus: Path, builds: Builds, write_drafts: WriteDrafts) -> Any:
    build = cut_corpus(builds, corpus, now=NOW)
    drafts = list(read_drafts(write_drafts([row["window"] for row in window_rows(builds, build)])))
    builds.add_drafts(build, "gen", drafts)
    return build


def test_screening_goes_on_and_another_lexicon_screens_anew(
    corpus: Path, open_builds: OpenBuilds, write_drafts: WriteDrafts, monkeypatch: pytest.MonkeyPatch
) -> None:
    builds = open_builds()
    build = prepared(corpus, builds, write_drafts)
    count = len(builds.drafts(build))
    monkeypatch.setattr("twlocal.formosa.build._BATCH", 2)
    add, calls = builds.add_screened, []

    def dying(rules: str, results: Any) -> None:
        calls.append(len(results))
        if len(calls) == 2:
            raise Killed
        add(rules, results)

    monkeypatch.setattr(builds, "add_screened", dying)
    with pytest.raises(Killed):
        screen_drafts(builds, build, shipped())
    monkeypatch.setattr(builds, "add_screened", add)
    assert screen_drafts(builds, build, shipped()) == count - 2
    assert screen_drafts(builds, build, shipped()) == 0
    rows = list(screened_rows(builds.screened(build)))
    counts = accounting.of_screening(count, builds.screened(build))
    assert (counts["screened"], counts["kept"], counts["rejected"]) == (count, count - 1, 1)
    assert counts["by_rule"] == {"opens_on_pronoun": {"reject": 1}}

    fresh = open_builds("fresh.db")
    other = prepared(corpus, fresh, write_drafts)
    screen_drafts(fresh, other, shipped())
    assert list(screened_rows(fresh.screened(other))) == rows

    permute_items(builds, build)
    assert len(builds.items(build)) == count - 1
    assert screen_drafts(builds, build, Lexicon([Term("淡水", "", STRICT)])) == count
    assert accounting.of_screening(count, builds.screened(build))["kept"] == 0
    # Items of a screening that holds no more are gone with it.
    assert builds.items(build) == []


def test_drafts_are_stored_once_and_must_know_their_window(
    corpus: Path, open_builds: OpenBuilds, write_drafts: WriteDrafts
) -> None:
    builds = open_builds()
    build = prepared(corpus, builds, write_drafts)
    drafts = [stored.draft for stored in builds.drafts(build)]
    assert builds.add_drafts(build, "gen", drafts) == 0
    # Another source may say the same; a second item of a window gets the next number.
    assert builds.add_drafts(build, "other", drafts[:1]) == 1
    more = type(drafts[0])(drafts[0].window, "另一題？", drafts[0].options, "B")
    assert builds.add_drafts(build, "gen", [more]) == 1
    assert [stored.no for stored in builds.drafts(build) if stored.draft == more] == [1]
    with pytest.raises(UsageError, match="draft 1 of x names the window ffff"):
        builds.add_drafts(build, "x", [type(more)("f" * 64, "題", more.options, "A")])


def test_permuting_needs_screening(corpus: Path, open_builds: OpenBuilds) -> None:
    builds = open_builds()
    build = cut_corpus(builds, corpus, now=NOW)
    with pytest.raises(UsageError, match=r"nothing of .* was screened"):
        permute_items(builds, build)
    with pytest.raises(UsageError, match="there is no build x"):
        builds.get("x")
    with pytest.raises(UsageError, match="no build yet"):
        open_builds("empty.db").get(None)


def test_an_article_is_stored_whole_or_not_at_all(corpus: Path, open_builds: OpenBuilds, tmp_path: Path) -> None:
    builds = open_builds()
    blocker = sqlite3.connect(tmp_path / "f.db")
    blocker.execute(
        "CREATE TRIGGER boom BEFORE INSERT ON formosa_windows WHEN NEW.span_start > 200 "
        "BEGIN SELECT RAISE(ABORT, 'boom'); END"
    )
    blocker.commit()
    with pytest.raises(Exception, match="boom"):
        cut_corpus(builds, corpus, now=NOW)
    build = builds.get(None)
    assert {window.path for window in builds.windows(build)} <= builds.cut(build)
    blocker.execute("DROP TRIGGER boom")
    blocker.commit()
    blocker.close()
    whole = open_builds("whole.db")
    assert list(window_rows(builds, cut_corpus(builds, corpus, now=NOW))) == list(
        window_rows(whole, cut_corpus(whole, corpus, now=NOW))
    )


def test_the_command_line_from_corpus_to_items(
    corpus: Path, tmp_path: Path, twlocal: Callable[..., subprocess.CompletedProcess[str]], write_drafts: WriteDrafts
) -> None:
    said = twlocal("formosa", "windows", corpus, "-o", "w.jsonl", "--json")
    assert said.returncode == 0, said.stderr
    counts = json.loads(said.stdout)
    rows = [json.loads(line) for line in (tmp_path / "w.jsonl").read_text(encoding="utf-8").splitlines()]
    assert counts["windows"] == len(rows) and {"window", "path", "start", "end", "text"} <= set(rows[0])
    shown = twlocal("formosa", "windows", corpus, "-o", "again.jsonl")
    assert f"windows: {len(rows)}" in shown.stdout and "the front matter of Food/米粉.md" in shown.stderr
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "w.jsonl").read_bytes()

    drafts = write_drafts([row["window"] for row in rows])
    said = twlocal("formosa", "screen", drafts, "-o", "s.jsonl")
    assert said.returncode == 0 and f"{len(rows)} screened: {len(rows) - 1} kept, 1 rejected" in said.stdout
    assert "opens_on_pronoun: 1 reject" in said.stdout

    said = twlocal("formosa", "permute", "-o", "items.jsonl", "--json")
    told = json.loads(said.stdout)
    assert told["items"] == len(rows) - 1 and told["baselines"]["always A"]["before"]["accuracy"] == 1.0
    items = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text(encoding="utf-8").splitlines()]
    assert all(item["ABCD"["ABCD".index(item["answer"])]] == "一八六三年" for item in items)
    assert "always A" in twlocal("formosa", "permute").stdout
    # The items are a benchmark as any other.
    drawn = twlocal("sample", tmp_path / "items.jsonl", "-o", "-")
    assert drawn.returncode == 0, drawn.stderr


def test_the_lexicon_command(
    corpus: Path, tmp_path: Path, twlocal: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    (tmp_path / "q.csv").write_text("question\n他用的軟件是什麼？\n", encoding="utf-8")
    (tmp_path / "t.txt").write_text("港口\t碼頭\n", encoding="utf-8")
    call = [
        "formosa",
        "lexicon",
        "--articles",
        corpus,
        "--questions",
        "q.csv",
        "--candidates",
        "t.txt",
        "-o",
        "mine.toml",
    ]
    said = twlocal(*call)
    assert said.returncode == 0, said.stderr
    assert "軟件 was proposed as strict and fired 1 time: 他用的軟件是什麼？" in said.stderr
    text = (tmp_path / "mine.toml").read_text(encoding="utf-8")
    assert text.index('term = "視頻"') < text.index("review = [") < text.index('term = "軟件"')
    assert '{ term = "港口", taiwan = "碼頭", fires = ' in text[text.index("dropped = [") :]
    assert twlocal(*call).returncode == 0 and (tmp_path / "mine.toml").read_text(encoding="utf-8") == text
    assert twlocal("formosa", "lexicon").returncode == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["formosa", "windows", "empty"], "no Markdown file"),
        (["formosa", "screen", "none.jsonl"], "cannot read none.jsonl"),
        (["formosa", "permute", "--db", "none.db"], "there is no database"),
        (["formosa", "screen", "d.jsonl", "--lexicon", "none.toml"], "cannot read none.toml"),
    ],
)
def test_wrong_calls(
    tmp_path: Path, words: list[str], said: str, twlocal: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "d.jsonl").write_text("", encoding="utf-8")
    done = twlocal(*words)
    assert done.returncode != 0 and said in done.stderr and "Traceback" not in done.stderr
