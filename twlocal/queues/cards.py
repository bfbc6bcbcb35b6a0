"""Which graphics cards a model gets, so that several models work side by side. Pure.

A model that computes on cards gets the fewest that hold it with room to spare, of one kind, as its engine's route says.
What is not known to compute on cards (a server, a CPU, an engine that a person named for a file) gets the machine to
itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from twlocal import fit

if TYPE_CHECKING:
    from twlocal.hardware import Gpu, Hardware
    from twlocal.placing import Placed


def needed(placed: Placed) -> int:
    """How many cards the model wants of its machine; 0: it is not known to compute on cards."""
    machine, route = placed.machine, placed.route
    if machine is None or route is None or route.verdicts[0].device != "cuda":
        return 0
    if any(gpu.mig for gpu in machine.gpus):
        return 0  # a number does not name a slice of a card
    tight = 0
    for size in range(1, len(machine.gpus) + 1):
        for group in fit.groups(machine.gpus):
            state = _state(placed, machine, group[:size]) if len(group) >= size else ""
            if state == "fits":
                return size
            tight = tight or (size if state == "tight" else 0)
    return tight


def assign(placed: Placed, size: int, free: Sequence[Gpu]) -> tuple[Gpu, ...]:
    """`size` of the free cards that hold the model; empty where they do not."""
    assert placed.machine is not None
    for group in fit.groups(free):
        # Those that others use come last: their memory is not the model's.
        group = sorted(group, key=lambda gpu: not fit.is_idle(gpu))
        if len(group) >= size and _state(placed, placed.machine, group[:size]):
            return tuple(group[:size])
    return ()


def visible(cards: Sequence[Gpu]) -> str:
    """CUDA_VISIBLE_DEVICES for a process that gets these cards, counted as nvidia-smi counts them."""
    return ",".join(str(gpu.index) for gpu in cards)


def _state(placed: Placed, machine: Hardware, cards: Sequence[Gpu]) -> str:
    """fits, tight, or "" where the engine cannot run the model on exactly these cards."""
    assert placed.on is not None
    route = placed.on(replace(machine, gpus=tuple(cards)))
    if route.engine is None or route.verdicts[0].device != "cuda":
        return ""
    if route.settings.get("tensor_parallel_size", len(cards)) != len(cards):
        return ""  # it would leave some of them idle
    return "tight" if any(reason.code == "tight" for reason in route.reasons) else "fits"
