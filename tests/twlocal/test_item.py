"""Identity of an item and the order in which its options are shown."""

from __future__ import annotations

import dataclasses
import hashlib
import pickle
import random
import unicodedata
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twlocal.item import LABELS, Item, clean, content_hash, permutation, set_hash, shown_letter, source_letter

texts = st.text(st.characters(exclude_categories=["Cs"]))


@given(texts)
def test_clean_is_idempotent_and_composed(text):
    once = clean(text)
    assert clean(once) == once and unicodedata.is_normalized("NFC", once) and "\r" not in once and once == once.strip()


@pytest.mark.parametrize("variant", ["é\r\n甲 ", "  e\u0301\n甲", "é\r甲\n", "\u3000é\n甲"])
def test_equal_prompts_equal_hashes(variant):
    parts = ("1", "2", "3", "4")
    assert content_hash(variant, parts, "A") == content_hash("é\n甲", parts, "A")


def test_content_hash_recomputed_independently():
    item = Item("下列何者正確？", ("甲", "乙", "丙", "丁"), "C", subject="民法", id="7")
    by_hand = hashlib.sha256(
        b"\x1f".join(p.encode() for p in ("下列何者正確？", "甲", "乙", "丙", "丁", "C"))
    ).hexdigest()
    assert item.content_hash == by_hand == "f9debaedb941e105545416ce9246659868d4b8286aea7268c2fee108bf3d7a88"
    assert item.stem_hash == hashlib.sha256("下列何者正確？".encode()).hexdigest()


def test_content_hash_sees_every_part_but_not_subject_or_id():
    base = Item("q", ("1", "2", "3", "4"), "A")
    others = [
        Item("p", ("1", "2", "3", "4"), "A"),
        Item("q", ("2", "1", "3", "4"), "A"),
        Item("q", ("1", "2", "3", "4"), "B"),
        Item("q", ("1", "2", "34", ""), "A"),
    ]
    assert len({base.content_hash, *(item.content_hash for item in others)}) == 5
    assert Item("q", ("1", "2", "3", "4"), "A", subject="s", id="9").content_hash == base.content_hash


@given(texts, st.integers(0, 5))
def test_permutation_is_a_deterministic_permutation(question, repeat):
    order = permutation(question, repeat)
    assert sorted(order) == list(LABELS) and permutation(question, repeat) == order
    for letter in LABELS:
        assert source_letter(shown_letter(letter, order), order) == letter
        assert order[LABELS.index(shown_letter(letter, order))] == letter


@pytest.mark.parametrize(
    ("question", "repeat", "golden"),
    [("下列何者正確？", 0, "CABD"), ("下列何者正確？", 1, "ACDB"), ("1+1=?", 0, "ACDB")],
)
def test_permutation_recomputed_independently(question, repeat, golden):
    mixed = question + (f"\x1f{repeat}" if repeat else "")
    order = list("ABCD")
    random.Random(int(hashlib.sha256(mixed.encode()).hexdigest()[:16], 16)).shuffle(order)
    assert permutation(question, repeat) == "".join(order) == golden


def test_permutations_are_about_equally_frequent():
    counts = Counter(permutation(f"第{number}題") for number in range(2400))
    assert len(counts) == 24 and min(counts.values()) > 60


def test_items_travel_between_processes():
    item = Item("q", ("1", "2", "3", "4"), "A", meta={"year": "113"})
    digest = item.content_hash
    again = pickle.loads(pickle.dumps(item))
    assert again == item and again.content_hash == digest and again.meta == {"year": "113"}


@given(texts, st.tuples(texts, texts, texts, texts), st.sampled_from(LABELS))
def test_an_item_gives_back_the_texts_that_it_was_made_of(question, options, answer):
    item = Item(question, options, answer, "科目", "7", {"year": "113"})
    assert (item.question, item.options, item.texts) == (question, options, (question, *options))
    assert (item.answer, item.subject, item.id, item.meta) == (answer, "科目", "7", {"year": "113"})
    assert item == Item(question, options, answer, "科目", "7") and item != Item(question, options, answer)


@pytest.mark.parametrize(
    "texts", [("\x1f", "", "", "", ""), ("題", "甲\x1f", "乙", "丙", "丁"), ("", "", "", "", "\x1f\x1f")]
)
def test_a_separator_inside_a_text_moves_nothing(texts):
    question, *options = texts
    item = Item(question, tuple(options), "A")
    assert item.texts == texts and pickle.loads(pickle.dumps(item)).texts == texts
    assert item.content_hash == content_hash(question, tuple(options), "A")


def test_an_item_of_joined_texts_is_the_item():
    item = Item("題", ("甲", "乙", "丙", "丁"), "B", "科目", "7", {"year": "113"})
    joined = Item.joined("題\x1f甲\x1f乙\x1f丙\x1f丁", "B", "科目", "7", {"year": "113"}, item.content_hash)
    assert joined == item and joined.options == item.options and joined.content_hash == item.content_hash
    with pytest.raises(dataclasses.FrozenInstanceError):
        joined.answer = "C"


def test_the_hash_of_a_set_is_of_its_sorted_lines():
    items = [Item(f"題{no}", ("1", "2", "3", "4"), "A", subject) for no in range(20) for subject in ("乙", "甲")]
    lines = sorted(f"{item.content_hash} {item.subject}" for item in items)
    expected = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    assert set_hash(items, " ") == set_hash(reversed(items), " ") == expected
    assert set_hash([], " ") == hashlib.sha256(b"").hexdigest()
