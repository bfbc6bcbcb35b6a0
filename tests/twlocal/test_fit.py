"""The arithmetic of fitting."""

from __future__ import annotations

import pytest

from twlocal import fit
from twlocal.hardware import GIB, Gpu


def test_the_context_of_a_run_is_what_it_needs() -> None:
    # Case P10-4: 32,768 tokens of native context, of which 7,344 fit the cache; the run needs 900 + 2,048.
    length, wanted = fit.context(900, 2048, 32768)
    assert length == wanted == 2960
    assert 2948 <= length <= 7344


@pytest.mark.parametrize(
    ("longest", "budget", "native", "told"),
    [
        (None, 4096, None, (8192, 8192)),  # the runners' 8,192 …
        (None, 16384, 131072, (20480, 20480)),  # … and 20,480
        (None, 16384, 8192, (8192, 20480)),
        (1, 15, None, (16, 16)),
        (1, 16, None, (32, 32)),
        (0, 16, None, (16, 16)),
        (900, 2048, 2950, (2950, 2960)),
    ],
)
def test_context(longest: int | None, budget: int, native: int | None, told: tuple[int, int]) -> None:
    assert fit.context(longest, budget, native) == told


@pytest.mark.parametrize(
    ("heads", "cards", "sizes"),
    [
        ({"attention": 32, "kv": 8}, 8, [1, 2, 4, 8]),
        ({"attention": 28, "kv": 4}, 8, [1, 2, 4]),  # Qwen2.5 7B
        ({"attention": 24, "kv": 8}, 8, [1, 2, 4, 8]),
        ({"attention": 24, "kv": 6, "vision": 12}, 8, [1, 2, 3, 6]),
        ({"attention": 9, "kv": 3}, 8, [1, 3]),  # SmolLM2 135M
        ({"attention": 32, "kv": 2, "mamba": 128}, 8, [1, 2]),  # Nemotron 3 Super
        ({"attention": 32, "kv": 8, "mamba": 20}, 8, [1, 2, 4]),
        ({"attention": 4, "kv": 1}, 8, [1]),
        ({"attention": 32, "kv": 8}, 3, [1, 2]),
        ({"attention": 32, "kv": 8}, 1, [1]),
        ({}, 8, [1, 2, 4, 8]),
        ({}, 3, [1, 2]),
    ],
)
def test_parallel_sizes(heads: dict[str, int], cards: int, sizes: list[int]) -> None:
    assert fit.parallel_sizes(heads, cards) == sizes


@pytest.mark.parametrize(
    ("weights", "sizes", "size", "ok"),
    [
        (70, [1, 2, 4], 1, True),
        (71, [1, 2, 4], 2, True),  # tight on one, so another one
        (71, [1], 1, False),
        (85, [1], 1, False),
        (150, [1, 2], 2, False),
        (150, [1, 2, 4], 4, True),
    ],
)
def test_smallest(weights: int, sizes: list[int], size: int, ok: bool) -> None:
    found = fit.smallest(weights, 100, sizes)
    assert found is not None
    assert (found.size, found.ok, found.fits, found.memory) == (size, ok, True, 100 * size)
    assert found.share == pytest.approx(weights / (100 * size))


def test_smallest_has_an_end() -> None:
    assert fit.smallest(86, 100, [1]) is None
    assert fit.smallest(171, 100, [1, 2]) is None


def test_thresholds_are_the_cuda_runners() -> None:
    assert (fit.OK_SHARE, fit.TIGHT_SHARE) == (0.70, 0.85)
    assert fit.into(70, 100).ok and not fit.into(701, 1000).ok
    assert fit.into(85, 100).fits and not fit.into(851, 1000).fits


def test_cards_group_by_kind_and_the_largest_group_comes_first() -> None:
    cards = [Gpu(0, "3090", 24 * GIB), Gpu(1, "A100", 80 * GIB), Gpu(2, "3090", 24 * GIB), Gpu(3, "A100", 40 * GIB)]
    assert [[gpu.index for gpu in group] for group in fit.groups(cards)] == [[1], [0, 2], [3]]
    assert [len(group) for group in fit.groups([Gpu(0, "GB10"), Gpu(1, "GB10")])] == [2]


def test_room_for_keys_and_values() -> None:
    # Llama 3.1 8B on an RTX 3090: 0.9 × 25.77 GB − 16.06 GB, at 131,072 bytes a token.
    assert fit.kv_tokens(fit.into(16_060_522_496, 24 * GIB), 16_060_522_496, 131_072) == 54_415
    assert fit.kv_tokens(fit.into(95, 100), 95, 1) == 0


def test_an_idle_card_is_one_that_gives_as_much_as_vllm_takes() -> None:
    def card(memory: float, free: float | None) -> Gpu:
        return Gpu(0, "card", int(memory * GIB), free=None if free is None else int(free * GIB))

    assert fit.is_idle(card(24, None)), "nobody has told otherwise"
    assert fit.is_idle(card(24, 23.6)) and fit.is_idle(card(8, 7.7)) and fit.is_idle(card(140, 139.1))
    assert not fit.is_idle(card(24, 20)) and not fit.is_idle(card(8, 6.9)) and not fit.is_idle(card(24, 0))
    assert fit.free_share([card(24, 23.6), card(24, 12)]) == 0.46, "the fuller one decides"
    assert fit.free_share([card(24, None), card(24, 12)]) is None
    assert fit.free_share([]) is None
