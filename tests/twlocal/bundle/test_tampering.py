"""Whatever is changed in a bundle is found: a byte by its checksum, a number by making it again."""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from twlocal.bundle import sums, unpack, verify

Mutable = list[Any] | dict[str, Any]
SETTINGS = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)


@pytest.fixture
def bundle(make_run: Callable[..., str], pack: Callable[..., Path]) -> Path:
    return pack(make_run(repeats=2))


@pytest.fixture
def private(make_run: Callable[..., str], pack: Callable[..., Path]) -> Path:
    return pack(make_run(), to="private", full=False)


def _files(folder: Path) -> list[str]:
    return [*sums.names(folder), sums.NAME]


@SETTINGS
@given(data=st.data())
def test_a_changed_byte_is_found(bundle: Path, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(_files(bundle)))
    whole = (bundle / name).read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    how = data.draw(st.sampled_from(["flip", "drop", "double", "cut"]))
    if how == "flip":
        changed = whole[:at] + bytes([whole[at] ^ (1 << data.draw(st.integers(0, 7)))]) + whole[at + 1 :]
    else:
        changed = {"drop": whole[:at] + whole[at + 1 :], "double": whole[:at] + whole[at:] * 2, "cut": whole[:at]}[how]
    try:
        (bundle / name).write_bytes(changed)
        assert not verify.verify(bundle).clean
    finally:
        (bundle / name).write_bytes(whole)


@SETTINGS
@given(data=st.data())
def test_a_changed_byte_of_an_archive_is_found_or_changes_nothing(
    bundle: Path, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    # A gzip header holds a time and a system that nothing depends on.
    here = tmp_path_factory.mktemp("archive")
    path = here / "b.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in _files(bundle):
            archive.add(bundle / name, name)
    whole = bytearray(path.read_bytes())
    whole[data.draw(st.integers(0, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(whole)
    try:
        with unpack.opened(path) as folder:
            same = all(
                (folder / name).is_file() and (folder / name).read_bytes() == (bundle / name).read_bytes()
                for name in _files(bundle)
            )
            assert verify.verify(folder).clean == (same and _files(folder) == _files(bundle))
    except unpack.Refused:
        pass
    finally:
        shutil.rmtree(here)


def _leaves(value: Any) -> Iterator[tuple[Mutable, Any]]:
    """Every place in plain data that holds a value, as (container, key)."""
    for key, one in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(one, dict | list) and one:
            yield from _leaves(one)
        else:
            yield value, key


def _changed(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return value + "x" if isinstance(value, str) else "x"


# What a sender tells and nobody else can know: when it was, how a sitting ended, and what the protocol is called.
_AT_THEIR_WORD = {"created_at", "completed_at", "last_seen_at", "outcome", "publishable", "twlocal"}
_AT_THEIR_WORD |= {"title", "title_zh", "why_not", "why_not_zh"}


def _tamper(folder: Path, name: str, data: st.DataObject) -> tuple[str, bytes]:
    """Change one value of a file and make the checksums right again; what was changed, and the original."""
    whole = (folder / name).read_bytes()
    lines = whole.decode().splitlines(keepends=True)
    parts = [json.loads(line) for line in lines] if name.endswith(".jsonl") else [json.loads(whole)]
    row = data.draw(st.integers(0, len(parts) - 1))
    places = list(_leaves(parts[row]))
    container, key = places[data.draw(st.integers(0, len(places) - 1))]
    container[key] = _changed(container[key])
    if name.endswith(".jsonl"):
        lines[row] = json.dumps(parts[row], ensure_ascii=False) + "\n"
        (folder / name).write_text("".join(lines), encoding="utf-8")
    else:
        (folder / name).write_text(json.dumps(parts[0], ensure_ascii=False), encoding="utf-8")
    sums.write(folder)
    return str(key), whole


@SETTINGS
@given(data=st.data())
def test_a_changed_value_is_found_although_the_checksums_are_right(bundle: Path, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([name for name in sums.names(bundle) if name.endswith((".json", ".jsonl"))]))
    key, whole = _tamper(bundle, name, data)
    try:
        found = verify.verify(bundle)
        free = _AT_THEIR_WORD if name.startswith("manifests/") else {"twlocal"}
        if name.startswith("responses/"):
            # Prose around a box, how long it took, and how many tokens it had: nothing else depends on them.
            free = {"text", "reasoning", "latency", "attempt", "answered_at", "sitting", "id", "prompt_hash", "finish"}
            free |= {"prompt_tokens", "completion_tokens", "reasoning_tokens"}
        assert not found.clean or key in free, (name, key)
    finally:
        (bundle / name).write_bytes(whole)
        sums.write(bundle)


@SETTINGS
@given(data=st.data())
def test_without_responses_every_stated_number_still_comes_from_the_rows(private: Path, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["bundle.json", *(n for n in sums.names(private) if n.endswith(".jsonl"))]))
    key, whole = _tamper(private, name, data)
    try:
        # Alarms need responses; qh is known to nobody who has not the question.
        assert not verify.verify(private).clean or key in {"twlocal", "alarms", "qh"} or key.isdigit(), (name, key)
    finally:
        (private / name).write_bytes(whole)
        sums.write(private)


@SETTINGS
@given(data=st.data())
def test_nothing_that_is_in_a_bundle_makes_the_verification_fall_over(bundle: Path, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([name for name in sums.names(bundle) if name.endswith((".json", ".jsonl"))]))
    whole = (bundle / name).read_bytes()
    text = whole.decode().splitlines()[0] if name.endswith(".jsonl") else whole.decode()
    value = json.loads(text)
    places = list(_leaves(value)) + [(value, key) for key in value]
    container, key = places[data.draw(st.integers(0, len(places) - 1))]
    container[key] = data.draw(
        st.none()
        | st.booleans()
        | st.integers(-5, 2**80)
        | st.floats()
        | st.text(max_size=3)
        | st.just([])
        | st.just({})
        | st.just([[1]])
        | st.just({"a": {"b": None}})
    )
    changed = json.dumps(value, ensure_ascii=True) + "\n"
    rest = whole.decode().split("\n", 1)[1] if name.endswith(".jsonl") else ""
    try:
        (bundle / name).write_text(changed + rest, encoding="utf-8")
        sums.write(bundle)
        verify.verify(bundle)
    finally:
        (bundle / name).write_bytes(whole)
        sums.write(bundle)


def _edit(folder: Path, name: str, change: Callable[[list[Any]], Any]) -> None:
    path = folder / name
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    change(rows)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    sums.write(folder)


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows.append(rows[0]),
        lambda rows: rows.pop(),
        lambda rows: rows.reverse(),
        lambda rows: rows.__setitem__(1, rows[0]),
        lambda rows: rows[0].update(more=1),
    ],
    ids=["doubled", "missing", "reversed", "one for another", "a field too many"],
)
def test_rows_that_are_missing_doubled_or_moved_are_found(
    bundle: Path, private: Path, full: bool, change: Callable[[list[Any]], Any]
) -> None:
    folder = bundle if full else private
    kinds = ["results", "readings", *(["responses"] if full else [])]
    for kind in kinds:
        name = f"{kind}/scripted/題庫.jsonl"
        whole = (folder / name).read_bytes()
        _edit(folder, name, change)
        clean = verify.verify(folder).clean
        # The public runners' format is open: others may add fields to their rows.
        assert not clean or (kind == "results" and b'"more"' in (folder / name).read_bytes()), kind
        (folder / name).write_bytes(whole)


def test_a_better_answer_is_found(bundle: Path) -> None:
    def better(rows: list[Any]) -> None:
        row = next(row for row in rows if not row["correct"])
        row["text"] = f"\\boxed{{{'ABCD'[row['order'].index(row['answer'])]}}}"

    _edit(bundle, "responses/scripted/題庫.jsonl", better)
    said = {str(finding) for finding in verify.verify(bundle).findings}
    assert any("read is stated as" in one for one in said)
    assert any("is not what responses/scripted/題庫.jsonl gives" in one for one in said)


def test_another_key_is_found(bundle: Path) -> None:
    def other(rows: list[Any]) -> None:
        for row in rows:
            if row["read_source"] and not row["correct"]:
                row.update(answer=row["read_source"], correct=True, lenient_correct=True)

    _edit(bundle, "responses/scripted/題庫.jsonl", other)
    assert "do not give the content hash" in " ".join(map(str, verify.verify(bundle).findings))


def test_findings_of_a_kind_are_counted_and_not_all_told(bundle: Path) -> None:
    _edit(bundle, "responses/scripted/題庫.jsonl", lambda rows: [row.update(why="?") for row in rows])
    said = [str(one) for one in verify.verify(bundle).findings if one.where.startswith("responses/")]
    assert len(said) == 6
    assert said[-1].endswith("and 55 more findings of this file")


def test_a_stranger_file_and_a_missing_one_are_found(bundle: Path) -> None:
    (bundle / "results" / "extra.json").write_text("{}", encoding="utf-8")
    (bundle / "results" / "scripted" / ".done").unlink()
    said = {str(finding) for finding in verify.verify(bundle).findings}
    assert {
        "results/extra.json: has no checksum in SHA256SUMS",
        "results/extra.json: belongs to no run of the bundle",
        "results/scripted/.done: is missing, although it has a checksum",
    } <= said


def test_a_hidden_mark_is_found(make_run: Callable[..., str], pack: Callable[..., Path]) -> None:
    from twlocal.backend import EngineInfo

    path = pack(make_run(info=EngineInfo("scripted", "1", quantised=True)), full=False, allow="quantised")
    head = json.loads((path / "bundle.json").read_text(encoding="utf-8"))
    head["runs"][0]["marks"], head["runs"][0]["quantised"] = [], False
    (path / "bundle.json").write_text(json.dumps(head), encoding="utf-8")
    sums.write(path)
    said = " ".join(map(str, verify.verify(path).findings))
    assert "marks is stated as []" in said
    assert "quantised is stated as false" in said


def test_a_path_or_an_address_in_a_manifest_is_found(private: Path) -> None:
    name = "manifests/scripted/題庫.json"
    data = json.loads((private / name).read_text(encoding="utf-8"))
    data["sittings"][0]["machine"]["home"] = "/Users/lin"
    (private / name).write_text(json.dumps(data), encoding="utf-8")
    sums.write(private)
    said = [str(finding) for finding in verify.verify(private).findings]
    assert f"{name}: holds a path, an address or a key at sittings[0].machine.home" in said
