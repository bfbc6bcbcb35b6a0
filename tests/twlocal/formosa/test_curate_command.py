"""`formosa curate`, `recut` and `loo` over stored runs of models that know a share of the questions."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from twlocal.formosa.judging import Verdict
from twlocal.formosa.stored import Builds
from twlocal.store import open_store

Call = Callable[..., Any]  # see the fixture `command`

SKILLS = {"big": 0.9, "middle": 0.7, "small": 0.5}


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    rows = [
        {
            "id": f"{at}",
            "question": f"臺灣第{at}題：下列何者正確？",
            **{letter: f"{at}之{letter}說" for letter in "ABCD"},
            "answer": "ABCD"[at % 4],
        }
        for at in range(80)
    ]
    path = tmp_path / "items.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def ask(command: Call, tmp_path: Path) -> Callable[..., str]:
    """Run a model of that name and skill over a bench; the run's name."""

    def run(name: str, bench: Path, *words: str, skill: float | None = None, effect: str = "box") -> str:
        model = tmp_path / f"{name}.gguf"
        model.write_bytes(f"GGUF {name}".encode())
        answers = f"answers={bench}"
        done = command(
            *("run", model, "--bench", bench, "--backend", "scripted_effects", "-q", "--json", *words),
            *("--set", f"skill={SKILLS.get(name, skill)}", "--set", f"salt={name}", "--set", answers),
            *("--set", f"effect={effect}", "--set", "share=1"),
        )
        assert done.returncode == 0, done.stderr
        return str(json.loads(done.stdout)["run"])

    return run


def told(done: Any) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def sidecar(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "difficulty.jsonl").read_text(encoding="utf-8").splitlines()]


def test_a_band_from_runs_frozen_and_cut_again(
    questions: Path, ask: Callable[..., str], command: Call, tmp_path: Path
) -> None:
    runs = {name: ask(name, questions) for name in SKILLS}
    fresh = ask("fresh", questions, skill=0.7)
    words = ["formosa", "curate", *runs.values(), "--items", "items.jsonl", "--date", "2026-08-24", "--scored", fresh]
    done = command(*words, "--pool", "三", "-o", "frozen", "--json")
    manifest = told(done)["manifest"]
    assert (manifest["name"], manifest["date"]) == ("三-2026-08-24", "2026-08-24")
    assert manifest == json.loads((tmp_path / "frozen" / "curation.json").read_text(encoding="utf-8"))
    rows = sidecar(tmp_path / "frozen")
    assert len(rows) == 80 == manifest["items"]["n"]
    assert all(row["in_band"] == (sum(row["right"][run] for run in runs.values()) <= 2) for row in rows)
    assert manifest["chosen"]["n"] == sum(row["in_band"] for row in rows) < 80
    # What is stored is what the report of each run says.
    for member in (*manifest["pool"]["members"], *manifest["scored"]):
        score = told(command("report", member["run"], "--json"))["score"]
        assert member["full"]["accuracy"] == pytest.approx(score["accuracy"])
        assert member["fingerprint"] and member["protocol"] == "box" and not member["generator"]

    # The same call gives the same bytes, and its own printed command does; another band does not take its place.
    before = (tmp_path / "frozen" / "curation.json").read_bytes()
    program, *again = shlex.split(told(command(*words, "--pool", "三", "-o", "frozen", "--json"))["commands"][0])
    assert program == "twlocal" and command(*again).returncode == 0
    assert (tmp_path / "frozen" / "curation.json").read_bytes() == before
    done = command(*words, "--pool", "三", "--at-most", "1", "-o", "frozen")
    assert done.returncode == 2 and "is frozen already" in done.stderr

    # A newer pool: the small one gives way to a new model. The database of the old runs is not needed for them.
    new = ask("new", questions, skill=0.8)
    keep = ["--keep", runs["big"], "--keep", "middle"]
    words = ["formosa", "recut", "frozen", new, *keep, "--date", "2026-10-14", "-o", "newer", "--json"]
    newer = told(command(*words))["manifest"]
    assert [one["model"] for one in newer["pool"]["members"]] == ["big", "middle", "new"]
    assert newer["items"]["cut_from"] == {
        "name": "三-2026-08-24",
        "difficulty": manifest["difficulty"]["sha256"],
    }
    assert newer["items"]["sha256"] == manifest["items"]["sha256"]
    assert newer["chosen"]["sha256"] != manifest["chosen"]["sha256"]
    done = command("formosa", "recut", "frozen", runs["big"], "-o", "twice")
    assert done.returncode == 2 and "is in the pool twice" in done.stderr
    # Straight from the runs it is the same choice.
    words = [
        "formosa",
        "curate",
        runs["big"],
        runs["middle"],
        new,
        "--items",
        "items.jsonl",
        "-o",
        "straight",
        "--json",
    ]
    assert told(command(*words))["manifest"]["chosen"] == newer["chosen"]
    # And without any database, from the files alone.
    (tmp_path / "twlocal.db").unlink()
    alone = told(command("formosa", "recut", "frozen", "--at-most", "1", "-o", "alone", "--json"))["manifest"]
    assert alone["chosen"]["n"] == sum(sum(row["right"][run] for run in runs.values()) <= 1 for row in rows)
    found = told(command("formosa", "loo", "--frozen", "frozen", "--fresh", fresh, "--json"))
    assert len(found["rows"]) == 3 and found["fresh"][0]["run"] == fresh


def test_leaving_one_out_of_stored_runs(
    questions: Path, ask: Callable[..., str], command: Call, tmp_path: Path
) -> None:
    runs = [ask(name, questions) for name in SKILLS]
    fresh = ask("fresh", questions, skill=0.7)
    words = ["formosa", "loo", *runs, "--items", "items.jsonl", "--fresh", fresh]
    found = told(command(*words, "--json"))
    assert (found["items"], found["at_most"], found["of"]) == (80, 1, 2)
    assert [row["model"] for row in found["rows"]] == ["big", "middle", "small"]
    for row in found["rows"]:
        assert row["gap"] == pytest.approx(row["held_out"]["accuracy"] - row["in_pool_mean"])
    assert found["ranking"]["preserved"] and found["ranking"]["spearman"] == 1
    assert found["fresh"][0]["model"] == "fresh"
    program, *again = shlex.split(found["commands"][-1])
    assert program == "twlocal" and told(command(*again, "--json")) == found
    text = " ".join(command(*words).stdout.split())
    assert "Each row cuts the band pass ≤ 1 of 2" in text and "No two models change places" in text
    pytest.importorskip("vl_convert")
    done = command(*words, "--html", "loo.html", "--lang", "zh-TW")
    assert "沒有任何兩個模型換位" in done.stdout and "留出的模型" in done.stdout
    page = (tmp_path / "loo.html").read_text(encoding="utf-8")
    assert "<svg" in page and "池內平均" in page and "in-pool mean" in page and "left out" in page


def test_a_model_that_writes_no_box_passes_under_the_lenient_reader_only(
    questions: Path, ask: Callable[..., str], command: Call
) -> None:
    runs = [ask("big", questions), ask("plain", questions, skill=0.9, effect="plain")]
    words = ["formosa", "curate", *runs, "--items", "items.jsonl", "--date", "2026-08-24", "--json"]
    strict = told(command(*words, "-o", "strict"))
    lenient = told(command(*words, "--reader", "lenient", "-o", "lenient"))
    assert [one["manifest"]["pool"]["members"][1]["full"]["accuracy"] for one in (strict, lenient)] == [
        0.0,
        pytest.approx(0.9, abs=0.1),
    ]
    assert strict["manifest"]["chosen"]["n"] == 80 > lenient["manifest"]["chosen"]["n"]
    program, *again = shlex.split(lenient["commands"][0])
    assert program == "twlocal" and told(command(*again, "--json")) == lenient
    # A band is cut again under the reader that it was frozen with.
    again = told(command("formosa", "recut", "lenient", "-o", "again", "--json"))["manifest"]
    assert (again["reader"], again["chosen"]) == ("lenient", lenient["manifest"]["chosen"])


def test_a_pool_that_is_not_whole_is_refused(
    questions: Path, ask: Callable[..., str], command: Call, tmp_path: Path
) -> None:
    whole = ask("big", questions)
    part = ask("middle", questions, "--limit", "70")
    words = ["--items", "items.jsonl", "-o", "frozen"]
    done = command("formosa", "curate", whole, part, "nobody", *words)
    assert done.returncode == 2
    assert "there is no run 'nobody'" in done.stderr and f"{part} was not asked 10 of 80 items: " in done.stderr
    assert "and 5 more" in done.stderr and not (tmp_path / "frozen").exists()
    assert "is in the pool twice" in command("formosa", "curate", whole, whole, *words).stderr
    assert "named twice" in command("formosa", "curate", whole, "--scored", whole, *words).stderr
    # An incomplete run: it was stopped by a server that refuses.
    model = tmp_path / "stopped.gguf"
    model.write_bytes(b"GGUF stopped")
    stopped = command(
        *("run", model, "--bench", questions, "--backend", "scripted", "--set", "refuse_after=20", "-q", "--json")
    )
    assert stopped.returncode != 0
    done = command("formosa", "curate", whole, "stopped", *words)
    assert done.returncode == 2 and "is incomplete: it has 20 of 80 responses" in done.stderr
    for words, said in (
        (["curate", whole, "--items", "items.jsonl"], "is kept in a folder"),
        (["curate", whole, "--items", "items.jsonl", "-o", "f", "--date", "later"], "not 'later'"),
        (["curate", whole, "--items", "items.jsonl", "-o", "f", "--at-most", "2"], "is no band"),
        (["curate", whole, "--items", "items.jsonl", "-o", "f", "--build", "x"], "instead of a build"),
        (["curate", whole], "there is no build yet"),
        (["loo", whole, "--items", "items.jsonl"], "at least 3 models"),
        (["recut", "nowhere", "-o", "f"], "cannot read"),
    ):
        done = command("formosa", *words)
        assert done.returncode == 2 and said in done.stderr, (words, done.stderr)


def test_an_imported_run_is_a_member(questions: Path, ask: Callable[..., str], command: Call, tmp_path: Path) -> None:
    """With all its responses, and with its readings alone."""
    runs = {name: ask(name, questions) for name in SKILLS}
    words = ["--items", "items.jsonl", "--date", "2026-08-24", "--json"]
    here = told(command("formosa", "curate", *runs.values(), *words, "-o", "here"))["manifest"]
    for kind, more in (("full", ["--full"]), ("slim", [])):
        done = command("bundle", runs["small"], "-o", f"{kind}.zip", *more)
        assert done.returncode == 0, done.stderr
    for kind in ("full", "slim"):
        database = f"{kind}.db"
        done = command("import", f"{kind}.zip", "--db", database)
        assert done.returncode == 0, done.stderr
        ask("big", questions, "--db", database)
        ask("middle", questions, "--db", database)
        done = command("formosa", "curate", *runs.values(), *words, "--db", database, "-o", kind)
        manifest = told(done)["manifest"]
        assert manifest["chosen"] == here["chosen"] and manifest["scores"] == here["scores"]
        assert manifest["pool"]["members"][2]["imported"]


def test_a_build_its_judge_and_its_generator(
    harbours: Path, ask: Callable[..., str], command: Call, tmp_path: Path
) -> None:
    """The grounded items of a build; the model that drafted them is in the pool."""
    runs = [ask(name, harbours) for name in SKILLS]
    done = command("formosa", "curate", *runs)
    assert done.returncode == 2 and "no judge has looked at the items of 港" in done.stderr
    frozen = ["formosa", "curate", *runs, "--ungrounded", "--at-most", "2", "--date", "2026-08-24", "--json"]
    assert told(command(*frozen))["manifest"]["items"]["n"] == 16
    judge = tmp_path / "honest.gguf"
    judge.write_bytes(b"GGUF honest")
    asked = ["--backend", "scripted_judges", "-q"]
    assert command("formosa", "calibrate", judge, *asked).returncode == 0
    database = tmp_path / "twlocal.db"
    builds = Builds(open_store(database), database)
    build = builds.get(None)
    (row,) = builds.askers(build, "judge")
    items = [(stored.id, item.content_hash) for stored, _, item in builds.items(build)]

    def judged(verdicts: list[Verdict]) -> None:
        builds.put_verdicts(row.asker, [(*item, "p", said) for item, said in zip(items, verdicts, strict=False)])

    judged([Verdict(True, True)] * 15)
    done = command("formosa", "curate", *runs)
    assert done.returncode == 2 and "has not judged 1 of 16 items" in done.stderr
    judged([Verdict(True, False)] + [Verdict(True, True)] * 14 + [Verdict(None, None, "", "no_json")])
    builds.close()
    more = [one if one != "--ungrounded" else "--judge=honest" for one in frozen]
    done = command(*more)
    assert done.returncode == 2 and "is frozen already" in done.stderr
    assert "is none of the judges" in command(*more, "--judge", "nobody").stderr
    found = told(command(*more, "--name", "grounded", "--generator", "big"))
    manifest = found["manifest"]
    assert manifest["items"]["n"] == 14 and manifest["items"]["judge"].startswith("honest")
    assert [one["generator"] for one in manifest["pool"]["members"]] == [True, False, False]
    (measured,) = manifest["generators"]["measured"]
    assert measured["model"] == "big" and measured["own_items"] is None
    # What is built is the band, and from what is built it can be cut again.
    done = command("formosa", "build", "out", "--band", "grounded")
    assert done.returncode == 0, done.stderr
    rows = (tmp_path / "out" / "jsonl" / "formosa.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(rows) == manifest["chosen"]["n"]
    again = told(
        command("formosa", "recut", "out", "--name", "grounded", "--date", "2026-08-24", "-o", "cut", "--json")
    )
    assert again["manifest"]["chosen"] == manifest["chosen"]
    assert "has no band named x" in command("formosa", "build", "out", "--band", "x").stderr
    text = command(*more[:-1], "--name", "grounded", "--generator", "big").stdout
    assert "†" in text and "self-advantage" in text
    pytest.importorskip("vl_convert")
    done = command(*more[:-1], "--name", "grounded", "--generator", "big", "--lang", "zh-TW", "--html", "band.html")
    assert "出題者的優勢" in done.stdout
    page = (tmp_path / "band.html").read_text(encoding="utf-8")
    assert "<svg" in page and "難度區間內的正確率" in page
