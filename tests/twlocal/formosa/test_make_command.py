"""From a small corpus to a published dataset with scripted models: killed anywhere, the bytes are the same."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from twlocal import dataset, publishing
from twlocal.formosa.band import Member
from twlocal.formosa.curate import Candidate, Choice, freeze
from twlocal.formosa.curated import Curations
from twlocal.formosa.publish import check
from twlocal.formosa.stored import Builds
from twlocal.store import open_store

CORPUS = Path(__file__).parents[2] / "data" / "formosa"
Call = Callable[..., Any]  # see the fixture `command`
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture(autouse=True)
def models(tmp_path: Path) -> None:
    for name in ("writer", "honest", "stamp"):
        (tmp_path / f"{name}.gguf").write_bytes(f"GGUF {name}".encode())


def done(call: Any) -> Any:
    assert call.returncode == 0, call.stderr
    return call


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


DRAFT = ("formosa", "draft", "writer.gguf", "--backend", "scripted_writer", "--no-schema", "-q")
GROUND = ("formosa", "ground", "honest.gguf", "--backend", "scripted_judges", "--uncalibrated", "-q")


def made(command: Call, database: str, *more: str) -> dict[str, Any]:
    """All stages one after the other; the accounting."""
    at = ("--db", database)
    done(command("formosa", "windows", CORPUS, "--target", "200", *at))
    done(command(*DRAFT, *more, *at))
    done(command("formosa", "screen", *at))
    done(command("formosa", "permute", *at))
    done(command(*GROUND, *at))
    found: dict[str, Any] = json.loads(done(command("formosa", "build", database + ".out", "--json", *at)).stdout)
    return found


def test_a_corpus_becomes_a_dataset_whose_numbers_add_up(command: Call, tmp_path: Path) -> None:
    counts = made(command, "a.db")
    assert counts["windows"] == counts["drafted"] == 6 and counts["undrafted"] == 0 and not counts["waiting"]
    assert counts["malformed"] and counts["published"] > 1
    assert counts["drafted"] == sum(counts["malformed"].values()) + counts["well_formed"]
    out = tmp_path / "a.db.out"
    assert check(out) == []
    assert done(command("formosa", "check", out)).stdout.endswith("follows from the list of items\n")

    loaded = dataset.load(str(out))
    manifest = publishing.read_manifest(out)
    assert len(loaded.items) == counts["published"] and not loaded.rejected
    assert loaded.fingerprint == manifest["dataset_fingerprint"]
    rows = [json.loads(line) for line in (out / "jsonl" / "formosa.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in rows] == [item.content_hash[:16] for item in loaded.items]
    for row, item in zip(rows, loaded.items, strict=True):
        article = (CORPUS / "knowledge" / row["path"]).read_text(encoding="utf-8")
        assert row[row["answer"]] in article[int(row["start"]) : int(row["end"])], "the window says the answer"
        assert item.subject == row["subject"] == row["path"].split("/")[0]
    card = (out / "README.md").read_text(encoding="utf-8")
    assert card.startswith("---\nlicense: cc-by-sa-4.0\n") and "It was not calibrated" in card
    assert all(f"| {row['source'].removeprefix('Taiwan.md：')} | twlocal |" in card for row in rows)
    assert str(tmp_path) not in "".join(text.decode("utf-8", "replace") for text in bytes_of(out).values())
    verdicts = [json.loads(line) for line in (out / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(verdicts) == counts["kept"] and {one["judge"].split("@")[0] for one in verdicts} == {"honest"}


def test_twice_in_other_places_gives_the_same_bytes(command: Call, tmp_path: Path) -> None:
    made(command, "a.db")
    first = bytes_of(tmp_path / "a.db.out")
    done(command("formosa", "build", "a.db.out", "--db", "a.db"))
    assert bytes_of(tmp_path / "a.db.out") == first
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    shutil.move(tmp_path / "writer.gguf", moved / "writer.gguf")
    global_draft = list(DRAFT)
    global_draft[2] = "elsewhere/writer.gguf"
    at = ("--db", "b.db")
    done(command("formosa", "windows", CORPUS, "--target", "200", *at))
    # Windows in two goes: what came first does not show.
    done(command(*global_draft, "--limit", "2", *at))
    done(command("formosa", "screen", *at))
    done(command(*global_draft, *at))
    for stage in ("screen", "permute"):
        done(command("formosa", stage, *at))
    done(command(*GROUND, *at))
    done(command("formosa", "build", "b.db.out", *at))
    assert bytes_of(tmp_path / "b.db.out") == first


@pytest.mark.parametrize("stops", [(1, 3), (2, 5), (4, 1)])
def test_killed_anywhere_and_gone_on_with_gives_the_same_bytes(
    command: Call, start: Start, tmp_path: Path, stops: tuple[int, int]
) -> None:
    good = ("--set", "form=1")
    made(command, "whole.db", *good)
    at = ("--db", "killed.db")

    def killed(words: tuple[str, ...], log: str, lines: int) -> None:
        """The stage, killed once its model was asked so often."""
        process = start(*words, "--set", "delay=0.3", "--set", f"log={log}", *at)
        path = tmp_path / log
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            if path.exists() and len(path.read_text(encoding="utf-8").splitlines()) >= lines:
                break
            time.sleep(0.02)
        assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGKILL)
        process.wait()

    def left(log: str, words: tuple[str, ...]) -> int:
        """How often the model is asked by the stage that goes on."""
        asked = len((tmp_path / log).read_text(encoding="utf-8").splitlines())
        done(command(*words, "--set", f"log={log}", *at))
        return len((tmp_path / log).read_text(encoding="utf-8").splitlines()) - asked

    done(command("formosa", "windows", CORPUS, "--target", "200", *at))
    killed((*DRAFT, *good), "draft.log", stops[0])
    # The last one asked for was not stored, and perhaps the one before it: both are asked again, and no other.
    assert 6 - stops[0] < left("draft.log", (*DRAFT, *good)) + 1 <= 6 - stops[0] + 3
    done(command("formosa", "screen", *at))
    done(command("formosa", "permute", *at))
    killed(GROUND, "ground.log", stops[1])
    assert left("ground.log", GROUND) <= 6 - stops[1] + 2
    done(command("formosa", "build", "killed.db.out", *at))
    assert bytes_of(tmp_path / "killed.db.out") == bytes_of(tmp_path / "whole.db.out")


def test_ctrl_c_stores_what_is_in_flight_and_says_how_to_go_on(command: Call, start: Start, tmp_path: Path) -> None:
    done(command("formosa", "windows", CORPUS, "--target", "200"))
    process = start(*DRAFT, "--set", "form=1", "--set", "delay=0.5", "--set", "log=draft.log")
    log = tmp_path / "draft.log"
    deadline = time.monotonic() + 60
    while not log.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "not answered yet; the same command goes on" in stderr and "well-formed" in stdout
    asked = len(log.read_text(encoding="utf-8").splitlines())
    counts = json.loads(done(command("formosa", "accounting", "--json")).stdout)
    assert counts["well_formed"] == asked < 6 and counts["undrafted"] == 6 - asked


def test_a_build_that_breaks_off_leaves_what_was_there(
    command: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(command, "a.db")
    first = bytes_of(tmp_path / "a.db.out")

    class Killed(Exception):
        pass

    def broken(*args: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(publishing, "write_manifest", broken)
        with pytest.raises(Killed):
            command("formosa", "build", "a.db.out", "--db", "a.db")
    assert bytes_of(tmp_path / "a.db.out") == first and not (tmp_path / "a.db.out.part").exists()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("別動", encoding="utf-8")
    refused = command("formosa", "build", "notes", "--db", "a.db")
    assert refused.returncode == 2 and "no build of twlocal" in refused.stderr


def test_what_was_changed_afterwards_is_found(command: Call, tmp_path: Path) -> None:
    made(command, "a.db")
    out = tmp_path / "a.db.out"
    items = out / "accounting" / "items.csv"
    items.write_text(items.read_text(encoding="utf-8").replace("published", "outside_band", 1), encoding="utf-8")
    (out / "extra.txt").write_text("?", encoding="utf-8")
    (out / "attribution.csv").unlink()
    found = command("formosa", "check", "a.db.out")
    assert found.returncode == 1
    for said in (
        "items.csv is not the file",
        "extra.txt is not listed",
        "attribution.csv is missing",
        "rows, the list",
    ):
        assert said in found.stdout
    (out / "build_manifest.json").write_text('{"files": {}, "format": "twlocal-exam-build/1"}', encoding="utf-8")
    assert "no build of tw-formosa-bench" in command("formosa", "check", "a.db.out").stderr


def test_stages_say_what_they_need_first(command: Call) -> None:
    def refused(*words: str) -> str:
        found = command("formosa", *words)
        assert found.returncode == 2
        return str(found.stderr)

    done(command("formosa", "windows", CORPUS, "--target", "200"))
    assert json.loads(done(command("formosa", "accounting", "--json")).stdout)["undrafted"] == 6
    assert "has no drafts yet" in refused("screen")
    assert "nothing of" in refused("build", "out")
    assert "has no items yet" in refused(*GROUND[1:])
    assert "nobody knows what it would let through" in refused("ground", "honest.gguf", "--backend", "scripted_judges")
    assert "exclude each other" in refused("build", "out", "--band", "x", "--whole")
    assert "there is no build 別的" in refused(*DRAFT[1:], "--build", "別的")


def test_a_generator_that_knows_nothing_leaves_nothing_and_the_accounting_says_so(
    command: Call, tmp_path: Path
) -> None:
    done(command("formosa", "windows", CORPUS, "--target", "200"))
    done(command(*DRAFT, "--set", "form=8"))
    for stage in ("screen", "permute"):
        done(command("formosa", stage))
    done(command(*GROUND))
    refused = command("formosa", "build", "out")
    assert refused.returncode == 2 and "nothing of" in refused.stderr and not (tmp_path / "out").exists()
    counts = json.loads(done(command("formosa", "accounting", "--json")).stdout)
    assert counts["malformed"] == {"no_json": 6} and counts["well_formed"] == counts["published"] == 0
    assert "malformed: no_json" in done(command("formosa", "accounting")).stdout


def test_a_build_waits_for_its_judge(harbours: Path, command: Call) -> None:
    refused = command("formosa", "build", "out")
    assert refused.returncode == 2 and "no judge has looked" in refused.stderr
    counts = json.loads(done(command("formosa", "accounting", "--json")).stdout)
    assert counts["kept"] == 16 and counts["waiting"] == {"ground": 16}


def test_drafts_as_rows_are_taken_from_a_file_too(command: Call, tmp_path: Path) -> None:
    done(command("formosa", "windows", CORPUS, "--target", "200"))
    found = json.loads(done(command(*DRAFT, "-o", "rows.jsonl", "--json")).stdout)
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == found["windows"] == 6
    assert sorted(row["fault"] for row in rows if "fault" in row) == sorted(
        fault for fault, count in found["malformed"].items() for _ in range(count)
    )
    good = [row for row in rows if "fault" not in row]
    assert len(good) == found["well_formed"]
    (tmp_path / "good.jsonl").write_text("".join(json.dumps(row) + "\n" for row in good), encoding="utf-8")
    screened = json.loads(done(command("formosa", "screen", "good.jsonl", "--json")).stdout)
    assert screened["drafted"] == 2 * len(good)
    done(command("formosa", "permute"))
    done(command(*GROUND))
    counts = json.loads(done(command("formosa", "build", "out", "--json")).stdout)
    # The same items by hand: each is published once. A window that was drafted twice is one window.
    assert counts["drafted"] == 6 + len(good) and counts["windows"] == 6
    assert counts["duplicates"] == sum(counts["ungrounded"].values()) + counts["grounded"] > 0


def test_a_judge_must_have_passed_its_calibration(harbours: Path, command: Call, tmp_path: Path) -> None:
    at = ("--backend", "scripted_judges", "-q")
    for judge in ("honest", "stamp"):
        done(command("formosa", "calibrate", f"{judge}.gguf", "--items", "12", *at))
    refused = command("formosa", "ground", "stamp.gguf", *at)
    assert refused.returncode == 2 and "did not pass its calibration" in refused.stderr
    # Under another budget it is another judge.
    other = command("formosa", "ground", "honest.gguf", "--max-tokens", "99", *at)
    assert other.returncode == 2 and "has not been calibrated" in other.stderr
    done(command("formosa", "ground", "honest.gguf", *at))
    done(command("formosa", "build", "out"))
    manifest = publishing.read_manifest(tmp_path / "out")
    calibration = manifest["judge"]["calibration"]
    assert calibration["passed"] and calibration["caught"]["wrong_key"]["k"] == 12
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "12 of 12 wrong_key" in card and "of clean items it rejected 0 of 12." in card

    done(command("formosa", "ground", "stamp.gguf", "--uncalibrated", *at))
    several = command("formosa", "build", "out")
    assert several.returncode == 2 and "several judges" in several.stderr and "stamp@" in several.stderr
    done(command("formosa", "build", "stamped", "--judge", "stamp"))
    assert "did not pass its calibration" in (tmp_path / "stamped" / "README.md").read_text(encoding="utf-8")


def test_a_frozen_band_is_what_is_published(harbours: Path, command: Call, tmp_path: Path) -> None:
    done(command(*GROUND))
    path = tmp_path / "twlocal.db"
    builds = Builds(open_store(path), path)
    build = builds.get(None)
    items = [Candidate(item.content_hash, one.draft.window, one.source) for one, _, item in builds.items(build)]
    right = {one.content_hash: at % 4 != 0 for at, one in enumerate(items)}
    members = [Member("一號", "model-1", right), Member("二號", "model-2", dict.fromkeys(right, True))]
    frozen = freeze(items, Choice("八月", "pool", date(2026, 8, 24), 1, "box", members))
    Curations.beside(builds).freeze(build, frozen)
    builds.close()
    counts = json.loads(done(command("formosa", "build", "out", "--json")).stdout)
    assert (counts["grounded"], counts["outside_band"], counts["published"]) == (16, 12, 4)
    out = tmp_path / "out"
    assert {row.content_hash for row in dataset.load(str(out)).items} == set(frozen.chosen)
    assert (out / "curation.json").read_text(encoding="utf-8") == frozen.manifest
    assert (out / "difficulty.jsonl").read_text(encoding="utf-8") == frozen.difficulty and check(out) == []
    whole = json.loads(done(command("formosa", "build", "whole", "--whole", "--json")).stdout)
    assert whole["published"] == 16 and not (tmp_path / "whole" / "curation.json").exists()
    missing = command("formosa", "build", "none", "--band", "九月")
    assert missing.returncode == 2 and "八月" in missing.stderr
