"""What must hold for any text at all."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from twlocal import sample
from twlocal.dataset import load
from twlocal.dataset.damage import blank
from twlocal.item import clean, content_hash

# NUL, U+001F and texts of which nothing can be seen are refused (and tested elsewhere); halves of surrogate pairs are
# no text.
chars = st.characters(exclude_categories=["Cs"], exclude_characters="\x00\x1f")
cells = st.text(chars, min_size=1, max_size=20).filter(lambda text: not blank(clean(text)))
rows = st.lists(
    st.fixed_dictionaries(
        {
            "question": cells,
            **dict.fromkeys("ABCD", cells),
            "answer": st.sampled_from(["A", "b", "（Ｃ）", " D. "]),
            "subject": st.sampled_from(["民法", "刑法", "x"]),
            "id": st.sampled_from(["", "1", "007"]),
        }
    ),
    min_size=1,
    max_size=6,
)
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
KEYS = {"A": "A", "b": "B", "（Ｃ）": "C", " D. ": "D"}


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".json", ".jsonl", ".parquet", ".arrow"])
@quick
@given(rows=rows)
def test_any_text_comes_through_every_format(data, suffix, rows):
    loaded = data.load(f"x{suffix}", rows)
    # A row inside a cell looks like a stray quote to the CSV reader; random text does not hit upon one.
    assert not loaded.rejected and len(loaded.items) == len(rows)
    for item, row in zip(loaded.items, rows, strict=True):
        parts = tuple(clean(row[label]) for label in "ABCD")
        assert (item.question, item.options) == (clean(row["question"]), parts)
        assert (item.answer, item.subject, item.id) == (KEYS[row["answer"]], row["subject"], row["id"])
        assert item.content_hash == content_hash(row["question"], parts, item.answer), "the hash set while loading"


@quick
@given(rows=rows, seed=st.integers(0, 99), k=st.integers(1, 4))
def test_order_split_mark_and_line_ends_change_nothing(data, rows, seed, k):
    whole = data.load("x.csv", rows)
    shuffled = random.Random(seed).sample(rows, len(rows))
    cut = seed % len(rows)
    for old in data.folder.glob("halves/*"):
        old.unlink()
    data.put("halves/1.csv", shuffled[:cut] or b"question,A,B,C,D,answer\n")
    data.put("halves/2.jsonl", shuffled[cut:])
    variants = [
        data.load("s.csv", b"\xef\xbb\xbf" + data.formats[".csv"](shuffled)),
        load(str(data.folder / "halves")),
        data.load("k.json", [dict(reversed(one.items())) for one in shuffled]),
    ]
    for variant in variants:
        assert variant.fingerprint == whole.fingerprint
        assert sample.draw(variant.items, k) == sample.draw(whole.items, k)
        assert sample.limit(variant.items, k) == sample.limit(whole.items, k)


@quick
@given(
    content=st.binary(max_size=200), suffix=st.sampled_from([".csv", ".tsv", ".json", ".jsonl", ".parquet", ".arrow"])
)
def test_any_bytes_give_items_or_a_clear_error(data, content, suffix):
    # data.error fails on anything but a DatasetError, and on success: random bytes are no dataset.
    assert data.error(f"x{suffix}", content)


@quick
@given(text=st.text(st.sampled_from('q,"\n\r1 A\t;'), max_size=60))
def test_any_csv_gives_items_or_named_lines(data, text):
    content = "question,A,B,C,D,answer\nq,1,2,3,4,A\n" + text
    loaded = data.load("x.csv", content, skip_bad=True)
    lines = content.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
    assert loaded.items and all(3 <= one.line <= lines for one in loaded.rejected)
