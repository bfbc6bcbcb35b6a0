"""Which rows are asked."""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twlocal import sample
from twlocal.dataset import Dataset, load
from twlocal.errors import DatasetError
from twlocal.item import Item


def item(subject: str, number: int, ident: str = "") -> Item:
    return Item(f"題{number}", ("1", "2", "3", "4"), "ABCD"[number % 4], subject=subject, id=ident)


items_of = st.lists(
    st.builds(item, st.sampled_from(["民法", "刑法", "會計", ""]), st.integers(0, 12), st.sampled_from(["", "1", "2"])),
    max_size=60,
)


@given(items_of, st.integers(1, 20), st.randoms(use_true_random=False))
def test_draw_is_the_first_of_each_subject_by_hash(items, k, rng):
    drawn = sample.draw(items, k)
    for subject in {one.subject for one in items}:
        hashes = sorted(one.content_hash for one in items if one.subject == subject)
        assert [one.content_hash for one in drawn if one.subject == subject] == hashes[:k]
    assert [one.subject for one in drawn] == sorted(one.subject for one in drawn)
    shuffled = items[:]
    rng.shuffle(shuffled)
    assert sample.draw(shuffled, k) == drawn
    assert Counter(sample.draw(items, None)) == Counter(items), "nothing is lost, copies neither"


@given(items_of, st.integers(1, 70), st.randoms(use_true_random=False))
def test_limit_is_spread_evenly(items, n, rng):
    drawn = sample.limit(items, n)
    assert len(drawn) == min(n, len(items))
    there, got = Counter(one.subject for one in items), Counter(one.subject for one in drawn)
    highest = max(got.values(), default=0)
    assert all(got[subject] in (there[subject], highest, highest - 1) for subject in there)
    assert not Counter(drawn) - Counter(items)
    shuffled = items[:]
    rng.shuffle(shuffled)
    assert sample.limit(shuffled, n) == drawn
    assert sample.limit(items, n + 1)[: len(drawn)] == drawn, "a larger limit adds, it never exchanges"


def test_the_papers_sample_size():
    items = [item(subject, number) for subject, count in (("大", 400), ("小", 90)) for number in range(count)]
    assert Counter(one.subject for one in sample.draw(items, 150)) == {"大": 150, "小": 90}


def test_no_limit_takes_all():
    items = [item("甲", number) for number in range(5)]
    assert len(sample.limit(items, None)) == 5 and sample.limit([], 3) == []


@pytest.mark.parametrize("call", [sample.draw, sample.limit])
@pytest.mark.parametrize("number", [0, -1])
def test_numbers_below_one(call, number):
    with pytest.raises(DatasetError, match="1 or more"):
        call([item("甲", 0)], number)


def dataset(items: list[Item]) -> Dataset:
    return Dataset("x.csv", "", tuple(items))


def through_json(items: list[Item], drawn: list[Item]) -> sample.Manifest:
    return sample.parse_manifest(json.dumps(sample.manifest(dataset(items), drawn, 3)), "m.json")


@given(items_of, st.integers(1, 6), st.randoms(use_true_random=False))
def test_a_manifest_selects_what_it_was_written_for(items, k, rng):
    drawn = sample.draw(items, k)
    read = through_json(items, drawn)
    shuffled = items[:]
    rng.shuffle(shuffled)
    assert sample.select(shuffled, read) == drawn


def test_what_a_manifest_says():
    items = [item("乙", 1, "a"), item("甲", 2, "b"), item("甲", 3, "c")]
    written = sample.manifest(dataset(items), items[:2], 150, 2)
    assert (
        written["subjects"] == {"乙": 1, "甲": 1}
        and written["n"] == 2
        and written["k"] == 150
        and written["limit"] == 2
    )
    assert written["dataset"] == {
        "name": "x.csv",
        "revision": "",
        "fingerprint": dataset(items).fingerprint,
        "items": 3,
    }
    assert written["rows"][0] == {"ch": items[0].content_hash, "subject": "乙", "id": "a"}
    assert "題" not in json.dumps(written, ensure_ascii=False), "no text of a question"


def test_equal_rows_prefer_their_own_subject_and_id_and_are_used_once():
    items = [item("甲", 1, "x"), item("乙", 1, "x"), item("甲", 1, "y")]
    read = through_json(items, [items[2], items[1], items[0]])
    assert sample.select(items, read) == [items[2], items[1], items[0]]
    moved = [item("丙", 1, "z"), item("甲", 1, "q"), item("甲", 1, "x")]
    assert [one.id for one in sample.select(moved, read)] == ["q", "z", "x"]


def test_rows_that_are_gone_are_counted():
    items = [item("甲", number) for number in range(9)]
    read = through_json(items, items)
    with pytest.raises(DatasetError, match=r"5 of the manifest's 9 rows are not in this dataset .*…\)"):
        sample.select(items[:4], read)
    with pytest.raises(DatasetError, match="1 of the manifest's 2 rows"):
        sample.select(items[:1], through_json(items, [items[0], items[0]]))


def test_reading_a_manifest_file(tmp_path):
    items = [item("民法", number) for number in range(3)]
    path = tmp_path / "樣本.json"
    path.write_text("\ufeff" + json.dumps(sample.manifest(dataset(items), items, None)), encoding="utf-8")
    read = sample.read_manifest(path)
    assert sample.select(items, read) == items and read.k is None and read.dataset["items"] == 3
    with pytest.raises(DatasetError, match="cannot read the manifest"):
        sample.read_manifest(tmp_path / "absent.json")
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DatasetError, match="not UTF-8"):
        sample.read_manifest(path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "3",
        "[" * 100_000,
        '{"format": "twlocal-sample/1"}',
        '{"format": "twlocal-sample/1", "n": 1, "rows": [3]}',
    ],
)
def test_what_is_no_manifest(text):
    with pytest.raises(DatasetError, match=r"m\.json is not a manifest") as caught:
        sample.parse_manifest(text, "m.json")
    assert "twlocal sample" in caught.value.hint


def test_a_manifest_of_another_format_or_damaged():
    written = sample.manifest(dataset([item("甲", 1)]), [item("甲", 1)], 1)
    with pytest.raises(DatasetError, match="twlocal-sample/9"):
        sample.parse_manifest(json.dumps(written | {"format": "twlocal-sample/9"}), "m")
    with pytest.raises(DatasetError, match="states 7 rows and holds 1"):
        sample.parse_manifest(json.dumps(written | {"n": 7}), "m")


def test_fingerprint_depends_on_rows_only():
    items = [item(subject, number) for subject in ("甲", "乙") for number in range(5)]
    shuffled = random.Random(1).sample(items, len(items))
    assert dataset(items).fingerprint == dataset(shuffled).fingerprint
    assert dataset(items).fingerprint != dataset(items[1:]).fingerprint
    assert dataset([item("甲", 1)]).fingerprint != dataset([item("乙", 1)]).fingerprint


# The command


def test_the_command_writes_a_manifest_that_selects(twlocal, questions, tmp_path):
    done = twlocal("sample", questions, "--k", 5, "--output", "s.json")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("15 rows written to s.json: twlocal run MODEL ")
    counts = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()[2:6]}
    assert counts == {"刑法": ["5", "13"], "會計": ["5", "13"], "民法": ["5", "14"], "all": ["15", "40"]}
    first = (tmp_path / "s.json").read_bytes()
    again = twlocal("sample", questions, "--k", 5, "--output", "-")
    assert again.stdout.encode() == first, "the same bytes"
    assert "刑法" in again.stderr
    items = load(str(questions)).items
    assert sample.select(items, sample.read_manifest(tmp_path / "s.json")) == sample.draw(items, 5)


def test_the_command_limits(twlocal, questions):
    done = twlocal("sample", questions, "--limit", 7, "-o", "-")
    assert json.loads(done.stdout)["subjects"] == {"刑法": 3, "會計": 2, "民法": 2}


def test_the_command_reads_as_told_and_says_what_is_odd(twlocal, tmp_path):
    rows = "".join(f"題{n},1a,2a,3a,4a,{answer}\n" for n, answer in enumerate([1, 2, 3, "J"]))
    (tmp_path / "x.csv").write_bytes(f"question,A,B,C,D,answer\n{rows}".encode("cp950"))
    words = ["sample", "x.csv", "-o", "-", "--encoding", "cp950"]
    assert "may count from 0" in twlocal(*words).stderr
    done = twlocal(*words, "--answer-base", 1, "--skip-bad", "--subject", "民法")
    assert json.loads(done.stdout)["subjects"] == {"民法": 3}
    assert "rows left out: 1 of 4 (x.csv:5: " in done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nothing.csv"], "no such file"),
        (["demo", "--k", "0"], "0"),
        (["demo", "-o", "no/such/folder.json"], "cannot write"),
    ],
)
def test_the_command_called_wrongly(twlocal, words, says):
    done = twlocal("sample", *words)
    assert done.returncode == 2 and says in done.stderr and "Traceback" not in done.stderr
