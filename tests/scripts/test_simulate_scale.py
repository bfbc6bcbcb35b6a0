"""The simulation behind docs/scale.md: nothing is lost or counted twice, and simple cases come to their arithmetic."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "simulate_scale.py"


@pytest.fixture(scope="module")
def scale() -> ModuleType:
    spec = importlib.util.spec_from_file_location("simulate_scale", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def workers(scale: ModuleType, count: int, slots: int = 64, memory: float = 141e9) -> list[object]:
    gpu = scale.Gpu("test", memory, 4.8e12, 989e12)
    return [scale.Worker(gpu, scale.MODELS[0], scale.Shares(0.6, 0.4), slots) for _ in range(count)]


def test_one_request_takes_its_reading_and_its_steps(scale: ModuleType) -> None:
    model = scale.MODELS[0]
    sat = scale.simulate([1000], workers(scale, 1), pull=True)
    read = 2 * model.parameters * scale.OWN / (989e12 * 0.4)
    mean = scale.SHARED + scale.OWN + 500
    assert sat.seconds == pytest.approx(read + 1000 * (model.weights + mean * model.kv) / (4.8e12 * 0.6))
    assert sat.tokens == 1000


@pytest.mark.parametrize("pull", [True, False])
def test_every_token_is_written_once(scale: ModuleType, pull: bool) -> None:
    lengths = scale.lengths("thinking", 3_000, 1)
    sat = scale.simulate(lengths, workers(scale, 3), pull=pull)
    assert sat.tokens == sum(lengths)
    assert (sat.lost, sat.evicted) == (0, 0)


def test_a_full_gpu_puts_back_and_still_finishes_everything(scale: ModuleType) -> None:
    lengths = scale.lengths("thinking", 600, 2)
    small = workers(scale, 1, slots=256, memory=26e9)
    sat = scale.simulate(lengths, small, pull=True)
    assert sat.evicted > 0
    assert sat.tokens == sum(lengths)
    assert sat.full <= 1


def test_a_lost_gpu_costs_what_it_had_begun_and_no_answer(scale: ModuleType) -> None:
    lengths = scale.lengths("plain", 3_000, 3)
    whole = scale.simulate(lengths, workers(scale, 4), pull=True)
    sat = scale.simulate(lengths, workers(scale, 4), pull=True, lose_at=whole.seconds / 2)
    assert 0 < sat.lost <= 64
    assert sat.tokens >= sum(lengths)
    assert sat.seconds > whole.seconds


def test_asking_for_more_beats_splitting_where_lengths_differ(scale: ModuleType) -> None:
    lengths = scale.lengths("thinking", 2_000, 4)
    asked, split = (scale.simulate(lengths, workers(scale, 8), pull=pull) for pull in (True, False))
    assert asked.seconds < split.seconds
