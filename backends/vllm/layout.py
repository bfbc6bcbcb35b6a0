"""How a model lies on a machine: dtype, cards, batch, memory. Pure: what `twlocal.verdict` decides is decided there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from twlocal import fit, route_words
from twlocal.backends.vllm.settings import NATIVE, Settings
from twlocal.engines import EngineFacts
from twlocal.errors import ConfigurationError, ModelError, UsageError
from twlocal.hardware import GIB, Gpu, Hardware
from twlocal.registry import KnownModel
from twlocal.verdict import BFLOAT16_FROM, NO, NOTE, Reason, Verdict, Wishes, bytes_on_card, judge

# Answers at once and tokens a step, by the memory of one card in GiB: more work in a step hides the time that reading
# the weights takes, and a larger card has the room for it. vLLM's own defaults lie among these.
_BATCHES: Sequence[tuple[int, int, int]] = ((12, 64, 2048), (32, 128, 4096), (100, 256, 8192), (10_000, 512, 16_384))
_CPU_BATCH = (32, 2048)
# Of a CPU's memory, for keys and values: the rest is the weights', the activations' and everybody else's.
_CPU_CACHE = 4
# These say how much room there would be; vLLM measures it, and the context is shrunk to it.
_MEASURED_LATER = frozenset({"kv_short"})


@dataclass(frozen=True)
class Layout:
    """device: cuda or cpu. dtype: "" for the model's own. cards: what CUDA_VISIBLE_DEVICES must be, None to leave it.

    slots: answers at once. batched_tokens: tokens a step. cache_bytes: for keys and values on a CPU, None on cards.
    gpu_memory: share of a card. notes: what was decided that one should know, in sentences.
    """

    device: str
    dtype: str
    tensor_parallel_size: int
    slots: int
    batched_tokens: int
    gpu_memory: float
    eager: bool
    cache_bytes: int | None = None
    cards: str | None = None
    card_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def decide(
    model: KnownModel, machine: Hardware, engine: EngineFacts, settings: Settings, *, budget: int, context: int
) -> Layout:
    """Lay `model` on `machine`. budget: new tokens of an answer; context: tokens the engine is to be started for.

    Raises ModelError with routing's reasons where it cannot run, UsageError for a setting that cannot be.
    """
    on_cards = "cuda" in engine.devices and bool(machine.gpus)
    if settings.dtype and settings.dtype != NATIVE:
        _check_dtype(model, machine if on_cards else replace(machine, gpus=()), settings.dtype)
        model = replace(
            model,
            dtype=settings.dtype,
            computes_in=settings.dtype if model.computes_in else "",
            weight_bytes=bytes_on_card(model, settings.dtype),
        )
    if settings.tensor_parallel_size is not None and on_cards:
        _check_size(model, machine, settings.tensor_parallel_size)
    group, verdict = _verdict(model, machine, engine, settings, budget, on_cards=on_cards)
    if refusals := [reason for reason in verdict.reasons if reason.level == NO and reason.code not in _MEASURED_LATER]:
        raise ModelError(
            f"{model.id} cannot run on vLLM here: {'; '.join(_say(reason) for reason in refusals)}",
            hint="twlocal route says which engine can, and why",
        )
    notes = tuple(_say(reason) for reason in verdict.reasons if reason.level == NOTE and reason.code in _TOLD)
    size = settings.tensor_parallel_size or int(verdict.settings.get("tensor_parallel_size", 1))
    group = _idlest(group, size)
    share = settings.gpu_memory or fit.VLLM_SHARE
    if settings.gpu_memory is None and (room := fit.free_share(group)) is not None and room < share:
        share = room
        _check_room(model, group, str(verdict.settings.get("dtype", "")), share)
        notes = (*notes, f"other processes hold memory of {group[0].name}: vLLM takes {share:.0%} of it, not 90%")
    seqs, tokens = _batch(group[0]) if group else _CPU_BATCH
    slots = settings.slots or seqs
    return Layout(
        device=verdict.device,
        dtype=str(verdict.settings.get("dtype", "")) or model.dtype,
        tensor_parallel_size=size,
        slots=slots,
        batched_tokens=max(settings.batched_tokens or tokens, slots),
        gpu_memory=share,
        # On a CPU compiling takes longer than a run of some hundred items saves.
        eager=settings.eager if settings.eager is not None else verdict.device == "cpu",
        cache_bytes=_cache(model, machine, settings, slots * context, context) if verdict.device == "cpu" else None,
        cards=_visible(machine, group),
        card_names=tuple(gpu.name for gpu in group[:size]),
        notes=notes,
    )


_TOLD = frozenset({"float16", "float32", "fp8_emulated", "tight", "heads_unchecked", "remote_code_trusted"})


def _verdict(
    model: KnownModel, machine: Hardware, engine: EngineFacts, settings: Settings, budget: int, *, on_cards: bool
) -> tuple[list[Gpu], Verdict]:
    """Routing's verdict, one group of equal cards after the other, so that it is known which of them was meant."""
    wishes = Wishes(
        max_tokens=budget, token=True, trust_remote_code=settings.trust_remote_code, gpus=settings.tensor_parallel_size
    )
    groups = fit.groups(machine.gpus) if on_cards else []
    if not groups:
        return [], judge(model, machine, engine, wishes)
    verdicts = [(group, judge(model, replace(machine, gpus=tuple(group)), engine, wishes)) for group in groups]
    able = [pair for pair in verdicts if all(r.level != NO or r.code in _MEASURED_LATER for r in pair[1].reasons)]
    return (able or verdicts)[0]


def _check_dtype(model: KnownModel, machine: Hardware, dtype: str) -> None:
    old = next((gpu for gpu in machine.gpus if gpu.capability is not None and gpu.capability < BFLOAT16_FROM), None)
    if dtype == "bfloat16" and old is not None:
        raise UsageError(
            f"{old.name} cannot compute in bfloat16", hint="leave dtype out: what the card can do is chosen, and noted"
        )
    if dtype == "float16" and not model.float16:
        raise ModelError(
            f"{model.family or model.id} overflows in float16, and answers nonsense without an error",
            hint="--set dtype=float32, which takes twice the memory, or a card from compute capability 8.0 on",
        )


def _check_size(model: KnownModel, machine: Hardware, size: int) -> None:
    wrong = {kind: count for kind, count in model.heads.items() if count % size}
    sizes = ", ".join(str(one) for one in fit.parallel_sizes(model.heads, max(size, len(machine.gpus))))
    if wrong:
        counts = ", ".join(f"{kind} {count}" for kind, count in sorted(wrong.items()))
        raise UsageError(
            f"{size} cards cannot share {model.id}: its head counts do not divide ({counts})", hint=f"one of {sizes}"
        )
    if size > max((len(group) for group in fit.groups(machine.gpus)), default=0):
        raise UsageError(
            f"the setting tensor_parallel_size is {size}, and there are not so many equal cards to use",
            hint="leave it out, or look at CUDA_VISIBLE_DEVICES",
        )


def _batch(gpu: Gpu) -> tuple[int, int]:
    memory = (gpu.memory or 24 * GIB) / GIB
    return next((seqs, tokens) for most, seqs, tokens in _BATCHES if memory <= most)


def _cache(model: KnownModel, machine: Hardware, settings: Settings, wanted: int, least: int) -> int:
    """Bytes for keys and values on a CPU: for all slots where there is room, and always for one context."""
    if settings.cache_gib is not None:
        return settings.cache_gib * GIB
    room = (machine.memory or 8 * GIB) // _CPU_CACHE
    if model.kv_bytes is None:
        return room
    token = model.kv_bytes * (2 if model.dtype == "float32" else 1)
    # Two blocks (128 tokens) more: vLLM keeps one back.
    return max(min(room, token * (wanted + 256)), min(room * 2, token * (least + 256)))


def _idlest(group: Sequence[Gpu], size: int) -> list[Gpu]:
    """The group, without the cards that others use where there are enough of it without them, in its order."""
    idle = [gpu for gpu in group if fit.is_idle(gpu)]
    if len(idle) >= size:
        return idle
    chosen = sorted(group, key=lambda gpu: -(gpu.free or 0))[:size]
    return [gpu for gpu in group if gpu in chosen]


def _check_room(model: KnownModel, group: Sequence[Gpu], dtype: str, share: float) -> None:
    """Refuse what has no room beside other processes: vLLM would say it only after minutes of loading."""
    card = min(group, key=lambda gpu: gpu.free or 0)
    weights = bytes_on_card(model, dtype)
    need = weights // len(group) if weights is not None else 0
    if share > 0 and need < share * (card.memory or 0):
        return
    held = ((card.memory or 0) - (card.free or 0)) / GIB
    raise ConfigurationError(
        f"{card.name} {card.index} has no room for {model.id}: other processes hold {held:.1f} of its "
        f"{(card.memory or 0) / GIB:.1f} GiB",
        hint="nvidia-smi shows which; end them, or name another card with CUDA_VISIBLE_DEVICES",
    )


def _visible(machine: Hardware, group: Sequence[Gpu]) -> str | None:
    """CUDA_VISIBLE_DEVICES for a group, where there are other cards beside it; by UUID, which no order changes."""
    if not group or len(group) == len(machine.gpus):
        return None
    return ",".join(gpu.uuid or str(gpu.index) for gpu in group)


def _say(reason: Reason) -> str:
    return route_words.say(reason, "en")


def facts(layout: Layout) -> Mapping[str, object]:
    """What of a layout a manifest holds."""
    told = {
        "device": layout.device,
        "slots": layout.slots,
        "batched_tokens": layout.batched_tokens,
        "tensor_parallel_size": layout.tensor_parallel_size,
        "eager": layout.eager,
        "gpu_memory": layout.gpu_memory if layout.device == "cuda" else None,
        "cache_bytes": layout.cache_bytes,
        "cards": list(layout.card_names) or None,
        "notes": list(layout.notes) or None,
    }
    return {name: value for name, value in told.items() if value is not None}
