"""Building: the same bytes for the same results, only what changed is written, who is shown and who is ranked."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from twlocal import registry
from twlocal.board.build import Wish, build
from twlocal.board.check import check
from twlocal.board.gather import Allowed
from twlocal.errors import UsageError


def contents(site: Path) -> dict[str, bytes]:
    return {path.relative_to(site).as_posix(): path.read_bytes() for path in site.rglob("*") if path.is_file()}


def entries(built: Any, bench: str = "exam") -> dict[str, Any]:
    found = built.board.bench(bench)
    return {entry.facts.name: entry for entry in found.entries}


@pytest.fixture
def small(tools, tmp_path):
    """A database of five models on a few rows, and a build of it."""

    def make(results=None, name="board.db", **wish):
        found = results if results is not None else few(tools)
        return Wish(tools.database(tmp_path / name, found), **wish)

    return make


def few(tools, models=5, benches=("exam",)):
    return [
        tools.result(model, bench, tools.raw_rows(model, bench, 40)) for model in range(models) for bench in benches
    ]


def test_the_same_results_give_the_same_bytes(tools, small, tmp_path, known_models):
    one = build(tmp_path / "one", small(few(tools)), known_models)
    other = build(tmp_path / "other", small(list(reversed(few(tools))), name="other.db"), known_models)
    assert contents(tmp_path / "one") == contents(tmp_path / "other")
    assert one.entries == other.entries and check(tmp_path / "one") == []


def test_a_second_build_writes_nothing(small, tmp_path, known_models):
    site, wish = tmp_path / "site", small()
    first = build(site, wish, known_models)
    times = {path: path.stat().st_mtime_ns for path in site.rglob("*") if path.is_file()}
    second = build(site, wish, known_models)
    assert second.written.written == () and not second.added
    assert len(second.written.kept) == len(first.written.written)
    assert {path: path.stat().st_mtime_ns for path in times} == times


def test_only_pages_whose_inputs_changed_are_made_again(tools, small, tmp_path, known_models):
    site = tmp_path / "site"
    build(site, small(few(tools)), known_models)
    law = [row for row in tools.raw_rows(6, "exam", 60) if row.subject == "民法"]
    wish = small([*few(tools), tools.result(6, "exam", law)], name="more.db")
    written = set(build(site, wish, known_models).written.written)
    pages = {name for name in written if name.endswith(".html")}
    assert {"index.html", "models/org1_model-01.html", "subjects/exam/民法.html", "history.html"} <= pages
    assert not {"subjects/exam/會計學.html", "subjects/exam/藥理學.html"} & pages
    # What was left alone is what would have been made.
    kept = contents(site)
    for path in site.rglob("*.html"):
        path.unlink()
    build(site, wish, known_models)
    assert contents(site) == kept


def test_what_goes_needs_a_reason_and_its_pages_go_too(tools, small, tmp_path, known_models):
    site = tmp_path / "site"
    build(site, small(few(tools, 5)), known_models)
    less = small(few(tools, 4), name="less.db")
    before = contents(site)
    with pytest.raises(UsageError, match="would disappear"):
        build(site, less, known_models)
    assert contents(site) == before
    (site / "CNAME").write_text("board.example\n", encoding="utf-8")
    built = build(site, replace(less, reason="Withdrawn by its sender.", day="2026-10-14"), known_models)
    slug = "taide_llama-3.1-taide-lx-8b-chat"
    assert not (site / f"models/{slug}.html").exists() and f"models/{slug}.html" in built.written.removed
    assert (site / "CNAME").exists() and check(site) == []
    page = (site / "history.html").read_text(encoding="utf-8")
    assert "Withdrawn by its sender." in page and "2026-10-14" in page


def test_a_changed_number_needs_a_reason_and_keeps_the_old_one(tools, small, tmp_path, known_models):
    site = tmp_path / "site"
    build(site, small(few(tools)), known_models)
    results = few(tools)
    rows = [row for row in results[0].rows if row.correct]
    results[0] = replace(
        results[0],
        rows=[
            replace(
                row,
                correct=False,
                parsed=False,
                lenient_correct=False,
                ok=False,
                boxp=False,
                lenp=False,
                lenient_parsed=False,
                wrote_box=False,
            )
            if row is rows[0]
            else row
            for row in results[0].rows
        ],
    )
    wish = small(results, name="changed.db")
    with pytest.raises(UsageError, match=r"google_gemma-3-27b-it exam: accuracy \d+\.\d\d% → \d+\.\d\d%"):
        build(site, wish, known_models)
    built = build(site, replace(wish, reason="A fault of the reader.", day="2026-10-14"), known_models)
    change = built.entries[1].changes[0]
    assert (change.key, change.before["correct"] - change.now["correct"]) == ("google_gemma-3-27b-it exam", 1)
    assert check(site) == []


def test_a_damaged_or_missing_history_stops_the_build(small, tmp_path, known_models):
    site, wish = tmp_path / "site", small()
    build(site, wish, known_models)
    text = (site / "history.jsonl").read_text(encoding="utf-8")
    (site / "history.jsonl").write_text(text.replace("exam", "mexa"), encoding="utf-8")
    with pytest.raises(Exception, match="history"):
        build(site, wish, known_models)
    (site / "history.jsonl").unlink()
    with pytest.raises(Exception, match="is missing"):
        build(site, wish, known_models)


def test_a_tampered_page_is_made_again_and_tampered_rows_are_read_again(small, tmp_path, known_models):
    site, wish = tmp_path / "site", small()
    build(site, wish, known_models)
    good = contents(site)
    (site / "index.html").write_text("<p>nothing", encoding="utf-8")
    rows = site / "data/rows/exam/openai_gpt-oss-120b.json"
    rows.write_text(rows.read_text(encoding="utf-8").replace("1", "0"), encoding="utf-8")
    build(site, wish, known_models)
    assert contents(site) == good


@pytest.mark.parametrize("after", [1, 30])
def test_a_build_that_was_killed_is_done_again(small, tmp_path, known_models, monkeypatch, after):
    from twlocal.board import site as writer

    site, wish, put, done = tmp_path / "site", small(), writer._put, []

    def until(folder, name, *rest):
        if len(done) > after:
            raise KeyboardInterrupt
        done.append(name)
        return put(folder, name, *rest)

    monkeypatch.setattr(writer, "_put", until)
    with pytest.raises(KeyboardInterrupt):
        build(site, wish, known_models)
    assert check(site) != []
    monkeypatch.undo()
    build(site, wish, known_models)
    build(tmp_path / "whole", wish, known_models)
    assert contents(site) == contents(tmp_path / "whole") and check(site) == []


def test_a_folder_of_something_else_is_left_alone(small, tmp_path, known_models):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="no board that twlocal built"):
        build(tmp_path / "site", small(), known_models)
    assert (tmp_path / "site" / "index.html").read_text(encoding="utf-8") == "mine"


def test_quantised_results_are_left_out_or_shown_without_a_rank(tools, small, tmp_path, known_models):
    results = few(tools)
    results[1] = replace(results[1], quantised=True, marks=("quantised",))
    wish = small(results)
    built = build(tmp_path / "one", wish, known_models)
    assert "openai/gpt-oss-120b" not in entries(built)
    assert [name for name, why in built.left_out if "--allow-quantised" in why] == ["model-01-exam"]
    built = build(tmp_path / "two", replace(wish, allowed=Allowed(frozenset({"quantised"}))), known_models)
    shown = entries(built)["openai/gpt-oss-120b (bfloat16)"]
    assert not shown.ranked and "quantised" in shown.notes and len(built.board.benches[0].ranked) == 4
    assert check(tmp_path / "two") == []


def test_an_incomplete_result_has_no_rank(tools, small, tmp_path, known_models):
    results = few(tools)
    rows = results[2].rows[:-3]
    results[2] = replace(results[2], rows=rows, complete=False, provenance={}, protocol="", kind="runner")
    shown = entries(build(tmp_path / "site", small(results), known_models))["meta-llama/Llama-3.3-70B-Instruct"]
    assert not shown.ranked and "incomplete" in shown.notes
    assert (shown.numbers.n, shown.planned) == (37, 40)
    assert "37<small>/ 40</small>" in (tmp_path / "site/index.html").read_text(encoding="utf-8")


def test_a_result_without_its_marker_that_has_every_row_is_ranked(tools, small, tmp_path, known_models):
    results = few(tools)
    results[2] = replace(results[2], complete=False, provenance={}, kind="runner")
    shown = entries(build(tmp_path / "site", small(results), known_models))["meta-llama/Llama-3.3-70B-Instruct"]
    assert shown.ranked and "incomplete" not in shown.notes


def test_other_items_are_said_to_be_others(tools, small, tmp_path, known_models):
    results = few(tools)
    results[0] = tools.result(0, "exam", tools.raw_rows(0, "exam", 55))
    built = build(tmp_path / "site", small(results), known_models)
    assert "other_items" in entries(built)["google/gemma-3-27b-it"].notes
    assert "openai/gpt-oss-120b" in entries(built) and "other_items" not in entries(built)["openai/gpt-oss-120b"].notes
    text = (tmp_path / "site/data/ranks/exam.csv").read_text(encoding="utf-8")
    assert text.count("unpaired") == 4 and text.count(",paired") == 6


def test_results_that_tell_another_reading_are_shown_without_a_rank(tools, small, tmp_path, known_models):
    folder = tools.exchange_folder(tmp_path / "results", 2, benches=("exam",))
    full = [tools.result(model, "exam") for model in range(2, 6)]
    built = build(tmp_path / "site", small(full, sources=(folder,)), known_models)
    assert built.board.site.reader == "box"
    shown = entries(built)["google/gemma-3-27b-it"]
    assert not shown.ranked and "other_reading" in shown.notes and shown.reader == "board"
    built = build(tmp_path / "two", small(full, name="b.db", sources=(folder,), reader="board"), known_models)
    assert all(entry.ranked and entry.reader == "board" for entry in entries(built).values())
    # Rows with content hashes and rows of a bundle are the same rows.
    assert "unpaired" not in (tmp_path / "two/data/ranks/exam.csv").read_text(encoding="utf-8")


def test_rows_without_content_hashes_are_paired_by_their_stems(tools, small, tmp_path, known_models):
    plain = tools.exchange_folder(tmp_path / "plain", 3, hashes=False, benches=("exam",))
    full = [tools.result(model, "exam") for model in range(3, 5)]
    built = build(tmp_path / "site", small(full, sources=(plain,), reader="board"), known_models)
    assert bool(built.board.benches[0].pairs.paired[0, 1])
    assert "unpaired" not in (tmp_path / "site/data/ranks/exam.csv").read_text(encoding="utf-8")
    assert check(tmp_path / "site") == []


def test_twinkles_own_reading_is_not_taken_for_the_boards(tools, small, tmp_path, known_models):
    bare = tools.result(0, "exam")
    rows = [replace(row, correct=None, parsed=None) for row in bare.rows]
    wish = small([*few(tools), replace(bare, name="t", kind="twinkle", rows=rows, provenance={})])
    built = build(tmp_path / "site", wish, known_models)
    assert ("t", "its rows tell neither twlocal's readings nor the public board's") in built.left_out


def test_of_several_results_the_newest_that_can_be_ranked_counts(tools, small, tmp_path, known_models):
    old, new = tools.result(0, "exam"), tools.result(0, "exam", tools.raw_rows(9, "exam"), name="newer")
    told = json.loads(json.dumps(new.provenance).replace("2026-09-01", "2026-10-20"))
    built = build(tmp_path / "site", small([replace(new, provenance=told), old]), known_models)
    assert entries(built)["google/gemma-3-27b-it"].cell.meta.name == "newer"
    assert built.superseded == (("model-00-exam", "newer"),)


def test_withdrawn_rows_are_left_out_counted_and_published(tools, small, tmp_path, known_models):
    gone = sorted(row.ch for row in tools.raw_rows(0, "exam", 40))[:3]
    lines = [
        json.dumps({"ch": ch, "rule": "figure", "reason": "題幹：下圖是心電圖"}, ensure_ascii=False) for ch in gone
    ]
    (tmp_path / "withdrawn.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    own = tmp_path / "board.toml"
    own.write_text('title = "X"\n[benches.exam]\nwithdrawn = "withdrawn.jsonl"\n', encoding="utf-8")
    site, wish = tmp_path / "site", small()
    build(site, wish, known_models)
    with pytest.raises(UsageError, match="n 40 → 37"):
        build(site, replace(wish, own=own), known_models)
    built = build(site, replace(wish, own=own, reason="They need a figure.", day="2026-10-14"), known_models)
    shown = entries(built)["google/gemma-3-27b-it"]
    assert (shown.numbers.n, shown.planned, shown.cell.meta.withdrawn) == (37, 37, 3) and shown.ranked
    listed = (site / "data/withdrawn/exam.csv").read_text(encoding="utf-8")
    assert listed.splitlines() == ["ch,rule", *(f"{ch},figure" for ch in gone)]
    assert not any("心電圖" in path.read_text(encoding="utf-8") for path in site.rglob("*") if path.is_file())
    assert check(site) == []


def test_manifests_are_published_but_for_what_may_not_be(small, tmp_path, known_models):
    own = tmp_path / "board.toml"
    own.write_text('[benches.exam]\nmanifests = ["build.json"]\n', encoding="utf-8")
    made = tmp_path / "build.json"
    made.write_text('{"rows": 40, "disjoint_from": "hf://owner/name"}', encoding="utf-8")
    build(tmp_path / "site", small(own=own), known_models)
    assert (tmp_path / "site/data/manifests/exam/build.json").read_bytes() == made.read_bytes()
    for text, says in (
        ('{"a": "/home/wang/x"}', "a path"),
        ('{"rows": [{"question": "臺灣"}]}', "questions"),
        ("{", "cannot"),
    ):
        made.write_text(text, encoding="utf-8")
        with pytest.raises(UsageError, match=says):
            build(tmp_path / "other", small(own=own, name=f"{says}.db".replace(" ", "")), known_models)


def test_who_drafted_a_band_is_annotated_by_its_curation_manifest(small, tmp_path, known_models):
    own = tmp_path / "board.toml"
    own.write_text('[benches.exam]\nmanifests = ["curation.json"]\n', encoding="utf-8")
    manifest = tmp_path / "curation.json"
    manifest.write_text('{"generators": {"names": ["gpt-oss-120b"], "measured": []}}', encoding="utf-8")
    built = build(tmp_path / "site", small(own=own), known_models)
    tagged = [name for name, entry in entries(built).items() if "self_advantage" in entry.notes]
    assert len(tagged) == 1 and tagged[0].startswith("openai/gpt-oss-120b") and check(tmp_path / "site") == []
    manifest.write_text('{"generators": [{"name": "gpt-oss-120b"}]}', encoding="utf-8")
    built = build(tmp_path / "other", small(own=own, name="other.db"), known_models)
    assert not [name for name, entry in entries(built).items() if "self_advantage" in entry.notes]


def test_scores_closer_than_the_noise_of_the_keys_are_marked(tools, small, tmp_path, known_models):
    own = tmp_path / "board.toml"
    own.write_text('[benches.exam]\nkeys = "1/20"\n', encoding="utf-8")
    built = build(tmp_path / "site", small(own=own), known_models)
    ranked = built.board.bench("exam").ranked
    for entry in ranked:
        score = entry.numbers.correct / entry.numbers.n
        want = {
            other.slug for other in ranked if 0 < abs(other.numbers.correct / other.numbers.n - score) <= 0.05 + 1e-12
        }
        assert set(entry.close) == want
    assert any(entry.close for entry in ranked)
    page = (tmp_path / "site/ranks.html").read_text(encoding="utf-8")
    assert "Of 20 groups of re-printed questions, 1 have official keys that disagree, 5.0000%" in page


def test_no_word_of_a_question_and_no_path_reaches_the_site(twlocal, questions, model_file, tmp_path, known_models):
    done = twlocal("run", model_file, "--bench", questions, "--protocol", "box", "--backend", "scripted")
    assert done.returncode == 0, done.stderr
    allowed = Allowed(frozenset({"quantised", "protocol", "deviations"}))
    built = build(tmp_path / "site", Wish(tmp_path / "twlocal.db", allowed=allowed), known_models)
    (entry,) = built.board.benches[0].entries
    assert (
        entry.numbers.n == 40
        and entry.cell.meta.kind == "run"
        and {name for name, _ in entry.subjects} == {"民法", "刑法", "會計"}
    )
    text = "\n".join(path.read_text(encoding="utf-8") for path in (tmp_path / "site").rglob("*") if path.is_file())
    assert "下列何者正確" not in text and str(tmp_path) not in text
    assert "題目：{question}" in text  # the protocol's text is there in full
    assert check(tmp_path / "site") == []
    again = build(tmp_path / "site", Wish(tmp_path / "twlocal.db", allowed=allowed), known_models)
    assert again.written.written == ()


def test_a_run_its_full_bundle_and_its_bare_bundle_give_the_same_numbers(
    twlocal, questions, model_file, tmp_path, known_models
):
    run = twlocal("run", model_file, "--bench", questions, "--backend", "scripted")
    assert run.returncode == 0, run.stderr
    name = json.loads(twlocal("runs", "--json").stdout)[0]["name"]
    allowed = ("--allow-deviations", "--allow-unpublishable", "--allow-quantised")
    for kind in ("--full", "--private"):
        done = twlocal("bundle", name, kind, "-o", f"bundle{kind}.tar.gz", *allowed)
        assert done.returncode == 0, done.stderr
    (tmp_path / "all").mkdir()
    for path in tmp_path.glob("*.tar.gz"):
        shutil.copy(path, tmp_path / "all")
    shown = []
    for wish in (
        Wish(tmp_path / "twlocal.db"),
        Wish(None, (tmp_path / "bundle--full.tar.gz",)),
        Wish(None, (tmp_path / "bundle--private.tar.gz",)),
    ):
        site = tmp_path / f"site{len(shown)}"
        every = Allowed(frozenset({"quantised", "protocol", "deviations"}))
        (bench,) = build(site, replace(wish, allowed=every), known_models).board.benches
        assert check(site) == []
        entry = bench.entries[0]
        rows = json.loads((site / f"data/rows/{bench.name}/{entry.slug}.json").read_text(encoding="utf-8"))
        meta = {key: rows["meta"][key] for key in ("protocol", "protocol_sha256", "engine", "date", "planned", "marks")}
        shown.append((entry.numbers, entry.subjects, rows["items"], rows["rows"], meta))
    assert shown[0] == shown[1] == shown[2]
    # A folder of bundles is each of them.
    built = build(tmp_path / "site-all", Wish(None, (tmp_path / "all",), allowed=every), known_models)
    assert len(built.board.benches[0].entries) == 1 and len(built.superseded) == 1


def test_another_reader_s_numbers_are_not_called_strict(twlocal, questions, model_file, tmp_path, known_models):
    (tmp_path / "own.toml").write_text(
        'body = "{question} {A} {B} {C} {D}"\nreader = "twinkle_box"\n', encoding="utf-8"
    )
    run = twlocal("run", model_file, "--bench", questions, "--backend", "scripted", "--protocol", "own.toml")
    assert run.returncode == 0, run.stderr
    name = json.loads(twlocal("runs", "--json").stdout)[0]["name"]
    bundled = twlocal("bundle", name, "--private", "-o", "own.tar.gz", "--allow-deviations", "--allow-unpublishable")
    assert bundled.returncode == 0, bundled.stderr
    with pytest.raises(UsageError, match="--allow-unpublishable") as refused:
        build(tmp_path / "none", Wish(None, (tmp_path / "own.tar.gz",)), known_models)
    assert refused.value.hint == f"looked in {tmp_path / 'own.tar.gz'}", "no database was asked"
    every = Allowed(frozenset({"quantised", "protocol", "deviations"}))
    built = build(tmp_path / "site", Wish(tmp_path / "twlocal.db", allowed=every), known_models)
    (entry,) = built.board.benches[0].entries
    assert {"other_reading", "protocol"} <= set(entry.notes) and not entry.ranked
    page = next((tmp_path / "site/models").iterdir()).read_text(encoding="utf-8")
    assert "<dd>twinkle_box</dd>" in page and check(tmp_path / "site") == []


def test_a_name_that_is_markup_is_text(tools, small, tmp_path, known_models):
    hostile = '<script>alert("x")</script>'
    results = [*few(tools), replace(tools.result(5, "exam"), model=hostile, bench="exam")]
    built = build(tmp_path / "site", small(results), known_models)
    page = (tmp_path / "site/index.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page and "&lt;script&gt;alert" in page
    assert hostile in entries(built) and check(tmp_path / "site") == []


def test_nothing_to_show_says_why(tools, small, tmp_path, known_models):
    quantised = [replace(one, quantised=True, marks=("quantised",)) for one in few(tools, 1)]
    with pytest.raises(UsageError, match="no result to show\n  model-00-exam: the weights are quantised"):
        build(tmp_path / "site", small(quantised), known_models)
    assert not (tmp_path / "site").exists()


def test_every_reason_is_told_at_once_and_the_hint_names_where_was_looked(tools, small, tmp_path, known_models):
    marked = [replace(one, quantised=True, marks=("quantised", "protocol")) for one in few(tools, 1)]
    with pytest.raises(UsageError, match=r"--allow-quantised --allow-unpublishable show it") as caught:
        build(tmp_path / "site", small(marked), known_models)
    assert caught.value.hint == "twlocal runs lists what the database holds"


def test_facts_of_the_registry_and_unknown_ones(small, tools, tmp_path):
    own = registry.load({})
    built = build(tmp_path / "site", small(), own)
    facts = {one.name: one for one in built.board.site.models}
    assert (
        facts["twinkle-ai/gemma-3-4B-T1-it"].taiwan_tuned is True
        and facts["google/gemma-3-27b-it"].taiwan_tuned is False
    )
    unknown = build(tmp_path / "more", small(few(tools, 7), name="more.db"), own)
    (one,) = [one for one in unknown.board.site.models if one.name == "org1/model-01"]
    assert (one.family, one.parameters, one.licence, one.taiwan_tuned) == ("", None, "", None)
    page = (tmp_path / "more/models/org1_model-01.html").read_text(encoding="utf-8")
    assert page.count("unknown</span>") >= 4


def test_repeats_are_averaged_and_paired_by_their_mean(tools, small, tmp_path, known_models):
    results = few(tools)
    rows = [
        replace(row, repeat=repeat, **({"qh": None, "ok": None, "boxp": None, "lenp": None} if repeat else {}))
        for repeat in (0, 1)
        for row in results[0].rows
    ]
    told = json.loads(json.dumps(results[0].provenance).replace('"repeats": 1', '"repeats": 2'))
    results[0] = replace(results[0], rows=rows, provenance=told)
    shown = entries(build(tmp_path / "site", small(results), known_models))["google/gemma-3-27b-it"]
    assert (shown.numbers.n, shown.numbers.items, shown.planned) == (80, 40, 80)
    assert shown.ranked and "repeats" in shown.notes and check(tmp_path / "site") == []


def test_the_command_builds_from_a_database_and_from_a_folder(tools, small, twlocal, tmp_path):
    small(few(tools), name="twlocal.db")
    done = twlocal("board", "build", "site")
    assert done.returncode == 0, done.stderr
    assert (
        "5 models (exam: 5 results, 5 ranked), read with box" in done.stdout
        and "history: entry 1, 6 changes" in done.stdout
    )
    shutil.rmtree(tmp_path / "site")
    small(few(tools, 1), name="one.db")
    alone = twlocal("board", "build", "site", "--db", "one.db")
    assert "1 model (exam: 1 result, 1 ranked)" in alone.stdout
    shutil.rmtree(tmp_path / "site")
    tools.exchange_folder(tmp_path / "results", 2)
    done = twlocal("board", "build", "site", "--from", "results")
    assert "2 models" in done.stdout and "read with board" in done.stdout  # not the database that lies there too
