"""What each engine can do with a model on a machine, and every reason for and against it. Pure.

A reason is a code and facts; `twlocal.route_words` says it in English and Chinese.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from twlocal import engines as known_engines
from twlocal import fit
from twlocal.engines import EngineFacts
from twlocal.hardware import Gpu, Hardware
from twlocal.registry import NATIVE, KnownModel, Source

OK, NOTE, NO = "ok", "note", "no"
BFLOAT16_FROM = (8, 0)  # Ampere
FP8_FROM = (8, 9)  # Ada, Hopper; Ampere runs FP8 weights through 16-bit kernels


@dataclass(frozen=True)
class Wishes:
    """What the person and the run ask for.

    longest_prompt: tokens of the longest prompt, None while it is not measured. max_tokens: new tokens an answer may
    have; None: the model's own cap, else 4,096. token: whether there is a Hub token. quantised: whether somebody's
    later quantisation may run where the released precision does not fit. trust_remote_code: said by the person for this
    model. gpus: at most so many cards.
    """

    engine: str | None = None
    longest_prompt: int | None = None
    max_tokens: int | None = None
    token: bool = False
    quantised: bool = False
    trust_remote_code: bool = False
    gpus: int | None = None


@dataclass(frozen=True)
class Reason:
    """Why, or why not: a code, how much it weighs (ok, note, no), and the facts that its sentence names."""

    code: str
    level: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """What one engine can do with the model: on which device, with which settings, and the reasons."""

    engine: str
    device: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    reasons: tuple[Reason, ...] = ()

    @property
    def possible(self) -> bool:
        """Whether nothing speaks against it."""
        return all(reason.level != NO for reason in self.reasons)


def judge(model: KnownModel, hardware: Hardware, engine: EngineFacts, wishes: Wishes) -> Verdict:
    """What `engine` can do with `model` on this machine."""
    if wishes.engine and wishes.engine != engine.name:
        return _refuse(engine, "not_wished", wished=wishes.engine)
    if engine.name == "vllm" and hardware.apple:
        return _refuse(engine, "wrong_machine", needs="NVIDIA")
    if engine.name == "mlx" and not hardware.apple and not engine.present:
        return _refuse(engine, "wrong_machine", needs="Apple")
    if engine.name == "mlx" and hardware.translated:
        return _refuse(engine, "translated")
    if engine.name == "vllm" and not hardware.gpus and not ("cpu" in engine.devices and engine.present):
        return _refuse(engine, "no_gpu", hidden=hardware.hidden, problem=hardware.problem)
    if not engine.present:
        return _refuse(engine, "engine_missing", extra=engine.extra)
    return {"vllm": _vllm, "mlx": _mlx, "llama_cpp": _llama_cpp}[engine.name](model, hardware, engine, wishes)


def _refuse(engine: EngineFacts, code: str, **facts: Any) -> Verdict:
    return Verdict(engine.name, reasons=(Reason(code, NO, {"engine": engine.name} | facts),))


# ── what holds for every engine ───────────────────────────────────────────────────────────────────────────────────


def _access(model: KnownModel, gated: bool | None, repo: str, wishes: Wishes) -> list[Reason]:
    if "/" not in repo:
        return []  # a package or something on this disk: there is no gate
    if gated is None and not wishes.token:
        return [Reason("gate_unknown", NOTE, {"repo": repo})]
    if gated and not wishes.token:
        return [Reason("gated", NO, {"repo": repo, "licence": model.licence})]
    return []


def _architecture(model: KnownModel, engine: EngineFacts) -> list[Reason]:
    known = known_engines.knows(engine, model)
    if known is None:
        return [Reason("architecture_unchecked", NOTE, {"engine": engine.name})]
    if known:
        return []
    name = {"mlx": model.mlx, "llama_cpp": model.gguf}.get(engine.name) or ", ".join(model.classes) or model.family
    code = "architecture_unknown_since" if engine.name == "vllm" and model.vllm_since else "architecture_unknown"
    facts = {"engine": engine.name, "version": engine.version, "name": name, "since": model.vllm_since}
    return [Reason(code, NO, facts)]


def _checkpoint(model: KnownModel, wishes: Wishes) -> list[Reason]:
    """What speaks about loading the released checkpoint itself (vllm, mlx)."""
    if model.prepare == "gguf":
        return [Reason("gguf_only", NO)]
    reasons = []
    if model.prepare == "vision_tower":
        reasons.append(Reason("vision_tower", NO, {"repo": model.id}))
    if (model.trust_remote_code or model.remote_code) and not wishes.trust_remote_code:
        reasons.append(Reason("remote_code", NO, {"repo": model.id, "files": model.remote_code or "*.py"}))
    elif wishes.trust_remote_code:
        reasons.append(Reason("remote_code_trusted", NOTE, {"repo": model.id, "files": model.remote_code or "*.py"}))
    return reasons


def _context(model: KnownModel, wishes: Wishes) -> tuple[int, list[Reason]]:
    budget = wishes.max_tokens or model.max_tokens or fit.DEFAULT_MAX_TOKENS
    length, wanted = fit.context(wishes.longest_prompt, budget, model.context)
    facts = {"context": length, "wanted": wanted, "budget": budget, "prompt": wishes.longest_prompt or 0}
    more = []
    if model.max_tokens and budget < model.max_tokens:
        # A thought that is cut leaves no answer, and the score is then the budget's and not the model's.
        more = [Reason("budget_short", NOTE, {"budget": budget, "cap": model.max_tokens})]
    if length >= wanted:
        return length, [Reason("context_measured" if wishes.longest_prompt else "context", OK, facts), *more]
    if wishes.longest_prompt is None:
        # Nothing is refused for a prompt whose length is a guess.
        return length, [Reason("context_shared", NOTE, facts), *more]
    room = length - wishes.longest_prompt
    if room < 1:
        return length, [Reason("context_too_short", NO, facts)]
    return length, [Reason("context_short", NOTE, facts | {"room": room}), *more]


def _fitting(weights: int | None, memory: int | None, place: str) -> list[Reason]:
    """The reason that weights (bytes) do or do not fit one memory (bytes)."""
    if weights is None or memory is None:
        return [Reason("fit_unchecked", NOTE, {"place": place})]
    return [_fit_reason(fit.into(weights, memory), weights, place)]


def _fit_reason(found: fit.Fit, weights: int, place: str) -> Reason:
    facts = {"weights_bytes": weights, "memory_bytes": found.memory, "share": found.share, "place": place}
    if found.ok:
        return Reason("fits", OK, facts)
    return Reason("tight", NOTE, facts) if found.fits else Reason("too_big", NO, facts)


def _disk(weights: int | None, hardware: Hardware) -> list[Reason]:
    if weights is None or hardware.disk_free is None or weights <= hardware.disk_free:
        return []
    # Only a note: the weights may already lie there.
    return [Reason("disk_short", NOTE, {"weights_bytes": weights, "disk_bytes": hardware.disk_free})]


# ── vLLM ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _vllm(model: KnownModel, hardware: Hardware, engine: EngineFacts, wishes: Wishes) -> Verdict:
    reasons = [
        *_checkpoint(model, wishes),
        *_access(model, model.gated, model.id, wishes),
        *_architecture(model, engine),
    ]
    length, told = _context(model, wishes)
    settings: dict[str, Any] = {"max_model_len": length}
    if wishes.trust_remote_code:
        settings["trust_remote_code"] = True
    if "cuda" not in engine.devices:
        weights = model.bytes_in()
        reasons += [Reason("cpu_build", NOTE, {"engine": engine.name}), *_fitting(weights, hardware.memory, "ram")]
        reasons += [*told, *_disk(weights, hardware)]
        return Verdict(engine.name, "cpu", settings, model.id, tuple(reasons))
    reasons += [*_driver(hardware, engine), *_newer(reasons, hardware)]
    group, found, more, chosen = _cards(model, hardware, engine, wishes)
    reasons += more
    settings |= chosen
    weights = bytes_on_card(model, settings.get("dtype", ""))
    if found is not None and weights is not None and model.kv_bytes is not None and group:
        # Keys and values are kept in the dtype of the sums.
        wide = 2 if settings.get("dtype") == "float32" else 1
        room = fit.kv_tokens(found, weights, model.kv_bytes * wide)
        if room < length:
            reasons.append(Reason("kv_short", NO, {"tokens": room, "context": length}))
        else:
            reasons.append(Reason("kv", OK, {"tokens": room, "sequences": room // length}))
    reasons += [*told, *_disk(model.bytes_in(), hardware)]
    return Verdict(engine.name, "cuda", settings, model.id, tuple(reasons))


def _newer(reasons: Sequence[Reason], hardware: Hardware) -> list[Reason]:
    """Where only a newer vLLM knows the model and this driver does not start that: what the driver must become."""
    build = known_engines.build_for(hardware.driver)
    if build is known_engines.VLLM_BUILDS[0] or hardware.driver is None:
        return []
    since = next((reason.facts["since"] for reason in reasons if reason.code == "architecture_unknown_since"), None)
    if since is None:
        return []
    needed = known_engines.VLLM_BUILDS[0].driver
    return [Reason("newer_needs_driver", NOTE, {"since": since, "needed": needed, "driver": _shown(hardware.driver)})]


def _shown(driver: tuple[int, ...]) -> str:
    return ".".join(str(part).zfill(2) if place else str(part) for place, part in enumerate(driver))


def _driver(hardware: Hardware, engine: EngineFacts) -> list[Reason]:
    least = engine.cuda_min_driver
    if least is None or hardware.driver is None:
        return [Reason("driver_unchecked", NOTE, {"needed": least or "?"})]
    facts = {"driver": _shown(hardware.driver), "needed": least, "cuda": engine.cuda, "version": engine.version}
    if hardware.driver[0] >= least:
        return [Reason("driver", OK, facts)]
    older = known_engines.build_for(hardware.driver)
    if older is None or engine.cuda == older.cuda:
        return [Reason("driver_too_old", NO, facts)]
    return [Reason("driver_too_old_for_build", NO, facts | {"install": older.install, "toolkit": older.toolkit})]


def _cards(
    model: KnownModel, hardware: Hardware, engine: EngineFacts, wishes: Wishes
) -> tuple[list[Gpu], fit.Fit | None, list[Reason], dict[str, Any]]:
    """The group of cards that takes the model, how it fits, the reasons, and the settings that follow.

    Groups are tried from the one with the most memory; where none takes it, the first one's reasons are told.
    """
    first: tuple[list[Gpu], fit.Fit | None, list[Reason], dict[str, Any]] | None = None
    for group in fit.groups(hardware.gpus):
        settings: dict[str, Any] = {}
        dtype, reasons = _dtype(model, group[0], engine)
        if dtype:
            settings["dtype"] = dtype
        weights, memory = bytes_on_card(model, dtype), group[0].memory
        cards = min(len(group), wishes.gpus or len(group))
        sizes = fit.parallel_sizes(model.heads, cards)
        found = None
        if weights is None or memory is None:
            reasons.append(Reason("fit_unchecked", NOTE, {"place": group[0].name}))
        else:
            found = fit.smallest(weights, memory, sizes)
            told = found or fit.into(weights, memory, sizes[-1])
            reasons.append(_fit_reason(told, weights, f"{told.size} × {group[0].name}"))
            settings["tensor_parallel_size"] = told.size
            if found is None and fit.into(weights, memory, cards).fits:
                heads = ", ".join(f"{kind} {count}" for kind, count in sorted(model.heads.items()))
                reasons.append(Reason("heads", NO, {"heads": heads, "cards": cards, "size": told.size}))
            if told.size > 1 and not model.heads:
                reasons.append(Reason("heads_unchecked", NOTE, {"size": told.size}))
        reasons += _busy(group)
        candidate = (group, found, reasons, settings)
        if all(reason.level != NO for reason in reasons):
            return candidate
        first = first or candidate
    assert first is not None  # the caller has cards
    return first


def _busy(group: Sequence[Gpu]) -> list[Reason]:
    """The reason that others hold memory of these cards, where they hold more than vLLM leaves by default."""
    busy = [gpu for gpu in group if not fit.is_idle(gpu)]
    held = sum((gpu.memory or 0) - (gpu.free or 0) for gpu in busy)
    names = ", ".join(f"{gpu.name} {gpu.index}" for gpu in busy)
    return [Reason("busy", NOTE, {"gpu": names, "held_bytes": held})] if busy else []


def bytes_on_card(model: KnownModel, dtype: str) -> int | None:
    """Bytes of the weights computed in `dtype`; quantised ones stay as they are."""
    return model.weight_bytes if model.computes_in else model.bytes_in(dtype)


def _dtype(model: KnownModel, gpu: Gpu, engine: EngineFacts) -> tuple[str, list[Reason]]:
    """The dtype to compute in on this card ("" for the model's own), and why."""
    facts = {"gpu": gpu.name, "dtype": model.dtype or "?"}
    if gpu.capability is None:
        return "", [Reason("capability_unchecked", NOTE, facts)]
    facts["capability"] = f"{gpu.capability[0]}.{gpu.capability[1]}"
    least = engine.cuda_min_capability
    if least is not None and gpu.capability < least:
        needed = f"{least[0]}.{least[1]}"
        return "", [Reason("capability_too_old", NO, facts | {"needed": needed, "cuda": engine.cuda})]
    if model.dtype in ("fp8", "mxfp4") and gpu.capability < BFLOAT16_FROM:
        return "", [Reason("format_too_new", NO, facts)]
    if model.dtype == "fp8" and gpu.capability < FP8_FROM:
        return "", [Reason("fp8_emulated", NOTE, facts)]
    computed = model.computes_in or model.dtype
    if computed != "bfloat16" or gpu.capability >= BFLOAT16_FROM:
        return "", []
    if model.float16:
        return "float16", [Reason("float16", NOTE, facts)]
    if model.computes_in:
        # Kernels for quantised weights compute in 16 bits.
        return "", [Reason("no_dtype", NO, facts | {"family": model.family})]
    return "float32", [Reason("float32", NOTE, facts | {"family": model.family})]


# ── MLX ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _mlx(model: KnownModel, hardware: Hardware, engine: EngineFacts, wishes: Wishes) -> Verdict:
    own = model.sources_for("mlx")
    usable = [source for source in own if wishes.quantised or not source.quantised]
    source = usable[0] if usable else None
    reasons = [] if source else _checkpoint(model, wishes)
    place, gated = (source.repo, source.gated) if source else (model.id, model.gated)
    reasons += [*_access(model, gated, place, wishes), *_architecture(model, engine)]
    if (source.dtype if source else model.dtype) == "fp8":
        reasons.append(Reason("mlx_fp8", NO, {"repo": model.id}))
    if source and source.quantised:
        reasons.append(Reason("quantised", NOTE, {"file": source.name}))
    weights = _source_bytes(model, source)
    length, told = _context(model, wishes)
    if hardware.apple and "metal" in engine.devices:
        reasons += _metal(weights, hardware)
        device = "metal"
    else:
        reasons += [Reason("mlx_cpu", NOTE, {}), *_fitting(weights, hardware.memory, "ram")]
        device = "cpu"
    reasons += [*told, *_disk(weights, hardware)]
    return Verdict(engine.name, device, {"context": length}, place, tuple(reasons))


def _metal(weights: int | None, hardware: Hardware) -> list[Reason]:
    """How weights fit what Metal may hold, and the limit to set where that would help."""
    limit, raised = hardware.metal, hardware.raised_limit_mb
    reasons = _fitting(weights, limit, "metal")
    if weights is None or limit is None or raised is None or reasons[0].code == "fits":
        return reasons
    higher = raised * (1 << 20)
    better = fit.into(weights, higher)
    if higher > limit and (better.ok or (better.fits and reasons[0].level == NO)):
        reasons.append(Reason("raise_wired_limit", NOTE, {"limit_mb": raised, "share": better.share}))
    return reasons


# ── llama.cpp ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _llama_cpp(model: KnownModel, hardware: Hardware, engine: EngineFacts, wishes: Wishes) -> Verdict:
    sources, refusal = _gguf(model, wishes)
    verdicts = [_with_gguf(model, source, hardware, engine, wishes) for source in sources]
    if not verdicts:
        verdict = _with_gguf(model, None, hardware, engine, wishes)
        return Verdict(engine.name, verdict.device, {}, "", (*refusal, *verdict.reasons))
    return next((one for one in verdicts if one.possible), verdicts[-1])


def _with_gguf(
    model: KnownModel, source: Source | None, hardware: Hardware, engine: EngineFacts, wishes: Wishes
) -> Verdict:
    reasons = [Reason("quantised", NOTE, {"file": source.name})] if source and source.quantised else []
    if source:
        reasons += _access(model, source.gated if source.repo else False, source.repo, wishes)
    reasons += _architecture(model, engine)
    weights = _source_bytes(model, source)
    length, told = _context(model, wishes)
    settings: dict[str, Any] = {"context": length}
    device = "cpu"
    if hardware.apple and "metal" in engine.devices:
        reasons += _metal(weights, hardware)
        device, settings["gpu_layers"] = "metal", -1
    elif hardware.gpus and "cuda" in engine.devices:
        device = _llama_cards(weights, hardware, wishes, reasons)
        settings["gpu_layers"] = -1 if device == "cuda" else 0
    else:
        if hardware.gpus or hardware.apple:
            reasons.append(Reason("cpu_build", NOTE, {"engine": engine.name}))
        reasons += _fitting(weights, hardware.memory, "ram")
    reasons += [*told, *_disk(weights, hardware)]
    return Verdict(engine.name, device, settings, source.name if source else "", tuple(reasons))


def _llama_cards(weights: int | None, hardware: Hardware, wishes: Wishes, reasons: list[Reason]) -> str:
    """Where llama.cpp computes on a machine with cards: on all of them where they hold the weights, else on the CPU.

    Its reasons are added to `reasons`.
    """
    cards = hardware.gpus[: wishes.gpus] if wishes.gpus else hardware.gpus
    sizes = [gpu.memory for gpu in cards]
    total = sum(size for size in sizes if size is not None) if all(size is not None for size in sizes) else None
    names = " + ".join(gpu.name for gpu in cards)
    told = _fitting(weights, total, names)
    if told[0].level != NO:
        reasons += told
        return "cuda"
    fallback = _fitting(weights, hardware.memory, "ram")
    if fallback[0].level == NO:
        reasons += told
        return "cuda"
    reasons += [Reason("cards_too_small", NOTE, told[0].facts), *fallback]
    return "cpu"


def _gguf(model: KnownModel, wishes: Wishes) -> tuple[list[Source], list[Reason]]:
    """The GGUF files to try, in this order, or why there is none: unquantised ones, then the others if they may run."""
    sources = model.sources_for("llama_cpp")
    named = [source for source in sources if source.file or source.package]
    # A model that is nothing but a quantised file is asked for by its name.
    only = bool(model.dtype) and model.dtype not in NATIVE
    fitting = [source for source in named if not source.quantised or wishes.quantised or only]
    if fitting:
        return fitting, []
    if named:
        return [], [Reason("only_quantised", NO, {"file": named[0].name})]
    if sources:
        return [], [Reason("gguf_unnamed", NO, {"repo": sources[0].repo})]
    return [], [Reason("no_gguf", NO, {"repo": model.id})]


def _source_bytes(model: KnownModel, source: Source | None) -> int | None:
    if source is None:
        return model.bytes_in()
    if source.bytes is not None:
        return source.bytes
    return None if source.quantised and source.dtype != model.dtype else model.bytes_in(source.dtype)
