"""Which engine answers for a model on a machine, with which settings, and why: a pure decision over facts.

    decide(model, hardware, engines, wishes) → Route

Every engine gets a verdict with its reasons (`twlocal.verdict`). The first in this order that can run the model is
taken: vllm on CUDA, mlx on Metal, llama_cpp on CUDA or Metal; on a CPU vllm, llama_cpp, mlx (in the order of their
measured speed there).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from twlocal import engines as known_engines
from twlocal.engines import EngineFacts
from twlocal.hardware import Hardware
from twlocal.registry import KnownModel
from twlocal.verdict import NO, Reason, Verdict, Wishes, judge

__all__ = ["Reason", "Route", "Verdict", "Wishes", "decide"]

_ORDER = (("vllm", "cuda"), ("mlx", "metal"), ("llama_cpp", "cuda"), ("llama_cpp", "metal"))
_CPU_ORDER = (("vllm", "cpu"), ("llama_cpp", "cpu"), ("mlx", "cpu"))


@dataclass(frozen=True)
class Route:
    """The decision: `engine` is None where none can run it. verdicts: of all engines, the taken one first."""

    model: KnownModel
    engine: str | None
    settings: Mapping[str, Any]
    source: str
    verdicts: tuple[Verdict, ...]

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """The reasons of the engine that was taken."""
        return self.verdicts[0].reasons if self.engine else ()


def decide(model: KnownModel, hardware: Hardware, engines: Sequence[EngineFacts], wishes: Wishes) -> Route:
    """Decide where `model` runs. Pure: the same facts give the same route."""
    verdicts = [judge(model, hardware, engine, wishes) for engine in known_engines.complete(engines)]
    order = {pair: rank for rank, pair in enumerate((*_ORDER, *_CPU_ORDER))}
    able = sorted((one for one in verdicts if one.possible), key=lambda one: order[one.engine, one.device])
    if not able:
        return Route(model, None, {}, "", tuple(verdicts))
    taken = able[0]
    others = [
        one if one is not taken and not one.possible else _second(one, taken) for one in verdicts if one is not taken
    ]
    return Route(model, taken.engine, taken.settings, taken.source, (taken, *others))


def _second(verdict: Verdict, taken: Verdict) -> Verdict:
    why = "slower_device" if verdict.device == "cpu" and taken.device != "cpu" else "later_in_order"
    reason = Reason(why, NO, {"engine": verdict.engine, "taken": taken.engine})
    return Verdict(verdict.engine, verdict.device, {}, verdict.source, (*verdict.reasons, reason))
