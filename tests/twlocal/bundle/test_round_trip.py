"""Run → bundle → verify → import: the same run comes out, and nothing that must not leave went in."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from twlocal.bundle import unpack, verify
from twlocal.bundle.importing import Wanted, import_
from twlocal.bundle.stored import opened
from twlocal.dataset import Dataset
from twlocal.errors import UsageError

AT = "2026-02-03T04:05:06.000000Z"
Make = Callable[..., str]
Pack = Callable[..., Path]


def _import(path: Path, db: Path, at: str = AT, **wanted: Any) -> list[Any]:
    with opened(db, create=True) as (runs, stored):
        return import_(path, runs, stored, Wanted(**wanted), at=at)


def _texts(path: Path) -> dict[str, str]:
    return {
        one.relative_to(path).as_posix(): one.read_text(encoding="utf-8") for one in path.rglob("*") if one.is_file()
    }


@pytest.mark.parametrize("to", ["out", "out.tar.gz", "out.tgz", "out.zip"])
@pytest.mark.parametrize("repeats", [1, 3])
def test_a_full_bundle_comes_back_as_the_same_run(
    make_run: Make, pack: Pack, report: Any, records: Any, tmp_path: Path, to: str, repeats: int
) -> None:
    name = make_run(repeats=repeats)
    path = pack(name, to=to)
    with unpack.opened(path) as folder:
        found = verify.verify(folder)
    assert found.findings == ()
    outcome = _import(path, tmp_path / "new.db")
    assert [(one.name, one.kind, one.rows, one.new) for one in outcome] == [(name, "run", 30 * repeats, True)]
    ours, theirs = report(name, "t.db"), report(name, "new.db")
    assert ours.pop("bench").endswith("/題庫.jsonl")  # a path of this machine
    assert theirs.pop("bench") == "題庫.jsonl"
    assert ours == theirs
    assert records(name, "t.db") == records(name, "new.db")


def test_what_was_imported_bundles_to_the_same_bytes(make_run: Make, pack: Pack, tmp_path: Path) -> None:
    name = make_run(repeats=2)
    first = pack(name, to="a.tar.gz")
    _import(first, tmp_path / "new.db")
    assert pack(name, to="b.tar.gz", db="new.db").read_bytes() == first.read_bytes()


@pytest.mark.parametrize("to", ["out.tar.gz", "out.zip"])
@pytest.mark.parametrize("full", [True, False])
def test_two_bundles_have_the_same_bytes(make_run: Make, pack: Pack, tmp_path: Path, to: str, full: bool) -> None:
    name = make_run()
    one = pack(name, to=f"one-{to}", full=full)
    os.utime(tmp_path / "t.db")
    assert one.read_bytes() == pack(name, to=f"two-{to}", full=full).read_bytes()


def test_a_bundle_holds_what_the_format_says(make_run: Make, pack: Pack) -> None:
    texts = _texts(pack(make_run(repeats=2), full=False))
    assert sorted(texts) == [
        "SHA256SUMS",
        "bundle.json",
        "manifests/scripted/題庫.json",
        "readings/scripted/題庫.jsonl",
        "results/scripted/.done",
        "results/scripted/_provenance/題庫.json",
        "results/scripted/題庫.jsonl",
    ]
    rows = [json.loads(line) for line in texts["results/scripted/題庫.jsonl"].splitlines()]
    assert len(rows) == 30, "the first asking only: the board has one row a question"
    assert all(list(row) == ["qh", "ok", "boxp", "lenp", "ch"] for row in rows)
    assert len({row["qh"] for row in rows}) == 26
    assert len({row["ch"] for row in rows}) == 28, "one row stands twice in a subject, one in two subjects"


def test_sha256sum_can_check_it(make_run: Make, pack: Pack) -> None:
    path = pack(make_run())
    done = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=path, capture_output=True, env={"LC_ALL": "C.UTF-8"})
    assert done.returncode == 0


@pytest.mark.parametrize("private", [True, False])
def test_a_private_bundle_holds_no_word_of_question_or_response(
    make_run: Make, pack: Pack, questions: Path, records: Any, private: bool
) -> None:
    name = make_run(private=private)
    whole = "\n".join(_texts(pack(name, full=False)).values())
    rows = [json.loads(line) for line in questions.read_text(encoding="utf-8").splitlines()]
    words = [row[column] for row in rows for column in ("question", "A", "B", "C", "D", "id")]
    words += [part for record in records(name, "t.db") for part in (record.text, record.reasoning) if part]
    # Over the decoded text of every JSON string, not only over how it is escaped.
    strings = whole + json.dumps(whole, ensure_ascii=False) + whole.encode().decode("unicode_escape", "replace")
    assert [word for word in words if word in strings] == []
    # Nor a letter beside a truth, which would tell the key.
    readings = _texts(pack(name, to="x", full=False))["readings/scripted/題庫.jsonl"].splitlines()
    assert all(not {"answer", "order", "read", "read_source"} & set(json.loads(line)) for line in readings)


@pytest.mark.parametrize("full", [True, False])
def test_no_machine_person_path_or_address_is_in_it(make_run: Make, pack: Pack, tmp_path: Path, full: bool) -> None:
    texts = _texts(pack(make_run(), full=full))
    whole = "\n".join(texts.values())
    for word in ("kitchen-mac", "10.0.0.7", "/home/wang", "/models/", str(tmp_path), '"pid"', "wang"):
        assert word not in whole, word
    sitting = json.loads(texts["results/scripted/_provenance/題庫.json"])["sittings"][0]
    assert sitting["machine"] == {"processor": "M3 Ultra", "cores": 8}
    assert sitting["settings"] == {"slots": 1, "cache": "(removed)"}
    assert sitting["engine_model"] == {"architecture": "gemma3"}


def test_a_private_bundle_becomes_a_result_and_never_a_run(make_run: Make, pack: Pack, tmp_path: Path) -> None:
    name = make_run(repeats=2)
    path, db = pack(name, full=False), tmp_path / "new.db"
    assert [(one.kind, one.new) for one in _import(path, db)] == [("bundle", True)]
    assert [(one.kind, one.new) for one in _import(path, db, at="2027-01-01T00:00:00Z")] == [("bundle", False)]
    with opened(db, create=False) as (runs, stored):
        assert runs.all() == []
        (result,) = stored.results()
        assert (result.n, result.complete, result.quantised, result.protocol) == (60, True, False, "box")
        assert sum(row.qh is not None for row in stored.rows(result.id)) == 30


def test_importing_twice_is_importing_once_and_own_runs_stay_own(make_run: Make, pack: Pack, tmp_path: Path) -> None:
    name = make_run()
    path = pack(name)
    assert [one.new for one in _import(path, tmp_path / "new.db")] == [True]
    assert [one.new for one in _import(path, tmp_path / "new.db")] == [False]
    (own,) = _import(path, tmp_path / "t.db")
    assert (own.new, own.notes) == (False, ("it is a run of this database",))


def test_nobody_goes_on_with_somebody_elses_answers(make_run: Make, pack: Pack, tmp_path: Path) -> None:
    name = make_run()
    _import(pack(name), tmp_path / "new.db")
    # The very same call, in the database that holds the imported run, asks everything itself.
    assert make_run(db="new.db") == f"{name}-2"
    with opened(tmp_path / "new.db", create=False) as (runs, stored):
        assert len(runs.all()) == 2
        assert set(stored.imported_runs()) == {runs.get(name).id}


def test_several_runs_go_into_one_bundle(make_run: Make, pack: Pack, tmp_path: Path) -> None:
    one, two = make_run(), make_run(bench="demo", limit=10, info=_info())
    path = pack(one, two)
    assert len(verify.verify(path).runs) == 2
    assert verify.verify(path).clean
    assert {outcome.name for outcome in _import(path, tmp_path / "new.db")} == {one, two}


def test_two_results_of_one_model_on_one_dataset_do_not_fit(make_run: Make, pack: Pack, tmp_path: Path) -> None:
    one, two = make_run(), make_run(max_tokens=99, info=_info(sent={}))
    with pytest.raises(UsageError, match="both scripted/題庫"):
        pack(one, two)
    assert not (tmp_path / "out").exists()


def _info(**changes: Any) -> Any:
    from twlocal.backend import EngineInfo

    return EngineInfo(**({"engine": "scripted", "version": "1", "quantised": False} | changes))


@pytest.mark.parametrize(
    ("wish", "says", "allow", "mark"),
    [
        ({"info": _info(quantised=True)}, "--allow-quantised", "quantised", "quantised"),
        ({"protocol": "twinkle"}, "--allow-unpublishable", "unpublishable", "protocol"),
        ({"flags": ("temperature_not_honoured",)}, "--allow-deviations", "deviations", "deviations"),
        ({"info": _info(sent={"temperature": 0.01})}, "sent as 0.01, not 0.0", "deviations", "deviations"),
        ({"info": _info(sent={"repeat_penalty": 1.1})}, "sent as 1.1, not 1", "deviations", "deviations"),
        ({"private": True}, "--allow-private-text", "private_text", "private_text"),
    ],
)
def test_what_is_not_bundled_unless_told_and_how_it_is_marked(
    make_run: Make, pack: Pack, tmp_path: Path, wish: dict[str, Any], says: str, allow: str, mark: str
) -> None:
    name = make_run(**wish)
    with pytest.raises(UsageError) as refused:
        pack(name)
    assert says in str(refused.value)
    assert mark in str(refused.value), "it says what the bundle would be marked with"
    assert list(tmp_path.glob("*out*")) == []
    path = pack(name, allow=allow)
    found = verify.verify(path)
    assert found.clean, found.findings
    assert found.runs[0].entry["marks"] == [mark]
    (outcome,) = _import(path, tmp_path / "new.db")
    assert outcome.marks == (mark,)


def test_every_bar_is_told_at_once(make_run: Make, pack: Pack) -> None:
    name = make_run(info=_info(quantised=True), protocol="twinkle", fail_on="第7題")
    with pytest.raises(UsageError) as refused:
        pack(name)
    for said in ("lacks 1 of 30 responses (1 failed)", "twlocal resume", "quantised", "protocol"):
        assert said in str(refused.value)
    with pytest.raises(UsageError, match="incomplete"):
        pack(name, allow="quantised unpublishable deviations private_text")


def test_an_unknown_precision_is_marked_and_not_refused(make_run: Make, pack: Pack) -> None:
    found = verify.verify(pack(make_run(info=_info(quantised=None))))
    assert (found.clean, found.runs[0].entry["marks"]) == (True, ["precision_unknown"])


def test_a_protocol_that_was_changed_is_not_the_published_one(make_run: Make, pack: Pack, tmp_path: Path) -> None:
    own = tmp_path / "box.toml"
    own.write_text('publishable = true\nbody = "{question}{A}{B}{C}{D}"\n[decoding]\n', encoding="utf-8")
    name = make_run(protocol=str(own))
    with pytest.raises(UsageError, match="a text or a value was changed"):
        pack(name)


def test_a_dataset_that_changed_since_is_refused(make_run: Make, pack: Pack, questions: Path, loaded: Dataset) -> None:
    from twlocal import dataset

    name = make_run()
    lines = questions.read_text(encoding="utf-8").splitlines(keepends=True)
    questions.write_text("".join([*lines[1:], lines[5].replace("第5題", "第五題")]), encoding="utf-8")
    with pytest.raises(UsageError, match=r"1 missing .* 1 that it does not hold .*\n.*--bench"):
        pack(name, load=lambda wish: dataset.load(wish.bench))
    assert pack(name, load=lambda wish: loaded).exists()
    assert pack(name, to="unreachable", load=lambda wish: None).exists()


def test_a_dataset_that_grew_beside_the_sample_is_no_bar(make_run: Make, pack: Pack, questions: Path) -> None:
    from twlocal import dataset

    name = make_run(ids=_manifest(questions))
    with questions.open("a", encoding="utf-8") as file:
        file.write('{"subject":"民法","question":"新題","A":"1","B":"2","C":"3","D":"4","answer":"A"}\n')
    assert pack(name, load=lambda wish: dataset.load(wish.bench)).exists()


def _manifest(questions: Path) -> str:
    from twlocal import dataset, sample

    loaded = dataset.load(str(questions))
    path = questions.with_name("ids.json")
    path.write_text(json.dumps(sample.manifest(loaded, loaded.items[:9], None)), encoding="utf-8")
    return str(path)


def test_an_existing_target_is_left_alone(make_run: Make, pack: Pack, tmp_path: Path) -> None:
    name = make_run()
    (tmp_path / "out.zip").write_bytes(b"mine")
    with pytest.raises(UsageError, match="is there already"):
        pack(name, to="out.zip")
    assert (tmp_path / "out.zip").read_bytes() == b"mine"


@pytest.mark.parametrize("to", ["out", "out.tar.gz", "out.zip"])
def test_killed_while_writing_it_leaves_no_half_bundle(make_run: Make, pack: Pack, tmp_path: Path, to: str) -> None:
    name = make_run()
    # Killed at the latest moment: everything is written, and only the last step is missing.
    script = f"""
import os, signal, pathlib
from twlocal.bundle import pack, write
from twlocal.bundle.eligible import Allowed
from twlocal.bundle.stored import opened
pathlib.Path.rename = lambda self, target: os.kill(os.getpid(), signal.SIGKILL)
with opened(pathlib.Path("t.db"), create=False) as (runs, stored):
    write.bundle(runs, stored, runs.all() and [runs.get()], pathlib.Path({to!r}), full=True, allowed=Allowed(),
                 load=lambda wish: None)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / to).exists()
    assert list(tmp_path.glob(".out*.part*")) != []
    assert verify.verify(_folder(pack(name, to=to), tmp_path)).clean
    assert list(tmp_path.glob(".out*.part*")) == [], "the next attempt clears it away"


def _folder(path: Path, tmp_path: Path) -> Path:
    if path.is_dir():
        return path
    (tmp_path / "unpacked").mkdir()
    unpack.unpack(path, tmp_path / "unpacked")
    return tmp_path / "unpacked"


def test_an_error_while_writing_leaves_nothing(
    make_run: Make, pack: Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from twlocal.bundle import sums

    name = make_run()

    def full(folder: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sums, "write", full)
    with pytest.raises(OSError, match="No space"):
        pack(name, to="out.tar.gz")
    assert list(tmp_path.glob("*out*")) + list(tmp_path.glob(".out*")) == []


def test_archives_hold_plain_files_without_an_owner(make_run: Make, pack: Pack) -> None:
    name = make_run()
    with tarfile.open(pack(name, to="out.tar.gz")) as archive:
        members = archive.getmembers()
    assert [member.name for member in members] == sorted(member.name for member in members)
    assert {(m.uid, m.gid, m.uname, m.gname, m.mtime, m.mode) for m in members} == {(0, 0, "", "", 0, 0o644)}
    with zipfile.ZipFile(pack(name, to="out.zip")) as zipped:
        assert {info.date_time for info in zipped.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_the_item_set_is_compared_and_withdrawn_rows_are_counted(
    make_run: Make, pack: Pack, questions: Path, loaded: Dataset
) -> None:
    from twlocal import dataset

    path = pack(make_run())
    assert verify.verify(path, dataset=loaded).clean
    lines = questions.read_text(encoding="utf-8").splitlines(keepends=True)
    questions.write_text("".join(lines[:-1]), encoding="utf-8")
    less = dataset.load(str(questions))
    gone = loaded.items[-1].content_hash
    found = verify.verify(path, dataset=less)
    assert [finding.what for finding in found.findings] == [
        f"against {less.name}: 1 that it does not hold (content hashes {gone[:12]})"
    ]
    found = verify.verify(path, dataset=less, withdrawn=frozenset({gone}))
    assert found.clean
    assert found.runs[0].compared is not None
    assert found.runs[0].compared.withdrawn == (gone,)
    short = pack(make_run(limit=29, db="u.db"), db="u.db", to="short")
    assert verify.verify(short, dataset=loaded).clean, "what its own sample gives"
