"""Where tokens end: what is packed comes back, and a cut is what an engine that stops there gives."""

from __future__ import annotations

import pytest

from twlocal.decode import text_of
from twlocal.token_sizes import first, pack, unpack

# A Han character in three tokens, one of two bytes, a marker without text, an emoji in four.
PIECES = [
    b"A",
    "法".encode()[:1],
    "法".encode()[1:2],
    "法".encode()[2:],
    "é".encode(),
    b"",
    "🍵".encode()[:3],
    "🍵".encode()[3:],
]


@pytest.mark.parametrize("cap", range(len(PIECES) + 1))
def test_a_cut_is_the_text_of_the_first_tokens(cap: int) -> None:
    sizes = tuple(map(len, PIECES))
    packed = pack(text_of(PIECES), sizes)
    assert packed is not None and unpack(packed) == sizes
    assert first(text_of(PIECES), unpack(packed), cap) == text_of(PIECES[:cap])


def test_a_text_that_the_budget_cut_within_a_character() -> None:
    for end in range(len(PIECES) + 1):
        whole = PIECES[:end]
        packed = pack(text_of(whole), tuple(map(len, whole)))
        assert packed is not None or end == 0
        for cap in range(end + 1) if packed else ():
            assert first(text_of(whole), unpack(packed), cap) == text_of(whole[:cap])


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("", ()),
        ("甲", ()),
        ("甲", (1, 1)),
        ("甲\ufffd", (3, 4)),
        ("甲\ufffd", (3,)),
        ("\ufffd甲\ufffd", (1, 3, 3)),
        ("x" * 70_000, (70_000,)),
    ],
)
def test_sizes_that_are_not_of_the_text_are_not_kept(text: str, sizes: tuple[int, ...]) -> None:
    assert pack(text, sizes) is None


def test_long_answers_take_little_room() -> None:
    sizes = tuple(1 + at * at % 9 for at in range(16_384))
    packed = pack("x" * sum(sizes), sizes)
    assert packed is not None and len(packed) < len(sizes) * 0.7
