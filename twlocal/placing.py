"""Where the model of a run runs: what MODEL names, this machine and its engines → an engine, settings, the weights.

What names its engine by itself (a server, a .gguf file, --backend) goes there. A model of the registry, a checkpoint or
a Hub repository goes where `route.decide` sends it. Whatever can be known without the weights is looked at before they
are fetched: whether an engine knows the architecture, memory, the gate, room on the disk.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twlocal import hub_models, models
from twlocal.errors import ModelError, NoEngine

if TYPE_CHECKING:
    from twlocal.engines import EngineFacts
    from twlocal.hardware import Hardware
    from twlocal.hub_models import Repository
    from twlocal.models import Model
    from twlocal.registry import KnownModel, Registry
    from twlocal.route import Route
    from twlocal.verdict import Wishes

# A setting of the engines that can run a model's own code. Only a person gives it; nothing here and no registry does.
TRUST = "trust_remote_code"
Look = Callable[["Registry"], tuple["Hardware", Sequence["EngineFacts"]]]
Decided = Callable[["Route", "Hardware"], None]
# What is left free on the disk beside the weights.
DISK_RESERVE = 1 << 30
# Engines measure by themselves how much context their prompts need, up to the model's; the route's is a plan's. vLLM is
# told where to start (max_model_len).
_MEASURED_THERE = ("context",)


@dataclass(frozen=True)
class Placed:
    """A model on its way to an engine; nothing large is fetched yet.

    model: its name in a run. fetch: gets the weights, as far as they are not there, and gives the model. absent: bytes
    still to fetch, None where that is not known. repository and names: what is fetched, of a Hub model. on: the same
    decision for another machine, where one was made.
    """

    backend: str
    model: str
    fetch: Callable[[], Model]
    route: Route | None = None
    machine: Hardware | None = None
    absent: int | None = 0
    repository: Repository | None = None
    names: tuple[str, ...] = ()
    on: Callable[[Hardware], Route] | None = None

    def as_json(self) -> dict[str, Any]:
        """The decision for a run's record: codes, no sentences. Empty where nothing was decided."""
        if self.route is None:
            return {}
        return {
            "engine": self.backend,
            "device": self.route.verdicts[0].device,
            "source": self.route.source if "/" in self.route.source and not Path(self.route.source).exists() else "",
            "settings": applied(self.route),
            "reasons": {one.engine: [reason.code for reason in one.reasons] for one in self.route.verdicts},
        }


@dataclass(frozen=True)
class Asked:
    """What a run asks of placing.

    model: MODEL as given. backend: as given, or None. settings: the person's own. max_tokens: new tokens an answer may
    have. quantised: whether a quantised file may stand in. earlier: the engine on which the same call began, "" where
    it did not; it goes on there as long as that can run it. gpus: at most so many cards.
    """

    model: str
    backend: str | None
    settings: Mapping[str, Any]
    max_tokens: int | None = None
    quantised: bool = False
    earlier: str = ""
    gpus: int | None = None


@dataclass(frozen=True)
class Outside:
    """What placing knows of its surroundings: the environment, the Hub token, and how to look at the machine.

    memory: bytes that the machine has beside its cards, None where that is not known; asked without looking further.
    """

    environ: Mapping[str, str]
    token: str | None
    look: Look
    decided: Decided = lambda route, machine: None
    note: Callable[[str], None] = lambda line: None
    memory: Callable[[], int | None] = field(default_factory=lambda: _physical_memory)


def this_machine(registry: Registry, environ: Mapping[str, str]) -> tuple[Hardware, tuple[EngineFacts, ...]]:
    """The hardware of this machine and the engines in this environment."""
    from twlocal import doctor, engines, hardware

    here = hardware.from_recording(hardware.probe(doctor.nearest(doctor.model_cache(environ)), environ))
    return here, engines.installed(registry.models.values(), metal=here.apple is not None)


def place(asked: Asked, outside: Outside) -> Placed:
    """Decide where the model runs. Raises NoEngine with the reasons where it cannot, ModelError, UsageError."""
    name = asked.model
    path = Path(name).expanduser()
    if "://" in name or name == models.DEMO_MODEL:
        return _as_named(asked, outside)
    if path.exists():
        bare = asked.backend is None and models.is_bare_checkpoint(path)
        return _local(asked, outside, path) if bare else _as_named(asked, outside)
    if name.endswith(".gguf") and ":" not in name:
        return _as_named(asked, outside)
    return _of_the_hub(asked, outside)


def _as_named(asked: Asked, outside: Outside, model: str | None = None) -> Placed:
    """What needs no decision. Raises NoEngine for weights that no memory here holds, unless the engine is named."""
    found = models.resolve(model or asked.model, backend=asked.backend)
    if asked.backend is None and found.weights:
        _hold(found, outside)
    return Placed(asked.backend or found.backend, found.id, lambda: found)


def _hold(model: Model, outside: Outside) -> None:
    """Refuse weights that are larger than all memory of this machine, before they are hashed: llama.cpp maps them, and
    would read them from the disk again for every token.
    """
    size, memory = sum(path.stat().st_size for path in model.weights), outside.memory()
    if memory is None or size <= memory:
        return
    from twlocal import registry

    cards = outside.look(registry.load(outside.environ))[0].gpus
    if any(gpu.memory is None for gpu in cards):
        return
    memory += sum(gpu.memory or 0 for gpu in cards)
    if size > memory:
        weights, here = f"{size / (1 << 30):,.1f} GiB", f"{memory / (1 << 30):,.1f} GiB"
        raise NoEngine(
            f"the weights of {model.id} are {weights}, and this machine has {here} of memory: they would be read from "
            "the disk again for every token",
            hint="a smaller model, or one of fewer bits (marked quantised); --backend llama_cpp runs it all the same; "
            "http(s)://host/v1#name asks a server elsewhere",
            chinese=f"{model.id} 的權重有 {weights}，這台機器的記憶體只有 {here}：每個 token 都要從磁碟重讀一次",
        )


def _physical_memory() -> int | None:
    """Bytes of memory of this machine; None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # Windows
        return None


# ── a checkpoint on this disk ─────────────────────────────────────────────────────────────────────────────────────


def _local(asked: Asked, outside: Outside, path: Path) -> Placed:
    from twlocal import checkpoint, registry

    known = registry.load(outside.environ)
    decision = _Decision(asked, outside, known)
    route = decision.of(checkpoint.read(path, known))
    outside.decided(route, decision.machine)
    engine = str(route.engine)
    found = models.checkpoint_in(path, engine)
    fetch = partial(replace, found, settings=applied(route))
    return Placed(engine, found.id, fetch, route, decision.machine, on=partial(decision.on, route))


# ── a model of the Hub ────────────────────────────────────────────────────────────────────────────────────────────


def _of_the_hub(asked: Asked, outside: Outside) -> Placed:
    from twlocal import registry

    known = registry.load(outside.environ)
    base, revision, file = models.name_parts(asked.model)
    model = known.find(base)
    if model is None and not models.is_hub_id(asked.model):
        near = known.near(base)
        raise ModelError(
            f"{asked.model!r} names no model",
            hint=(f"did you mean {', '.join(near)}? " if near else "")
            + f"a .gguf file, a Hub id (owner/name), http(s)://host/v1#name, or {models.DEMO_MODEL}",
        )
    if model is not None and model.sources and all(source.package for source in model.sources):
        return _as_named(asked, outside, models.DEMO_MODEL)
    elsewhere = [one for one in model.sources if one.repo.casefold() == base.casefold()] if model is not None else []
    own = model is None or not elsewhere or base.casefold() == model.id.casefold()
    repo = base if model is None or not own else model.id
    if asked.backend not in (None, *registry.ENGINES) or (
        file is not None and asked.backend not in (None, "llama_cpp")
    ):
        return _for_another(asked, outside, repo, revision, file)
    decision = _Decision(asked, outside, known)
    if model is not None and not own:
        # The repository of one engine's files was named: that one is meant, quantised or not.
        source = elsewhere[0]
        model = replace(model, sources=(source,))
        if source.engine != "llama_cpp":
            return decision.checkpoint(model, source.repo, revision, engine=source.engine, named=True)
        return decision.gguf(model, source.repo, revision, file or source.file or None, named=True)
    if file is not None:
        return decision.gguf(model, repo, revision, file, named=True)
    if model is not None:
        return decision.known(model, revision)
    return decision.unknown(repo, revision)


def _for_another(asked: Asked, outside: Outside, repo: str, revision: str | None, file: str | None) -> Placed:
    """A Hub model for an engine that a person named and that routing knows nothing of."""
    backend = str(asked.backend)
    if backend == models.SERVERS:
        raise ModelError(f"{backend} asks a server, and {asked.model} is none", hint="http(s)://host/v1#name")
    held = hub_models.look(repo, revision, outside.token)
    names: Sequence[str]
    if models.reads_checkpoint(held, backend, file):
        names, name = held.checkpoint, held.name
        fetch = partial(models.checkpoint_of, held, backend, outside.token, outside.note)
    else:
        names = hub_models.choose_gguf(held.name, held.ggufs, file)
        name = models.gguf_id(held.name, names)
        fetch = partial(models.gguf_of, held, names, outside.token, outside.note)
    absent = held.bytes_of(hub_models.absent(held, names))
    return Placed(backend, name, fetch, absent=absent, repository=held, names=tuple(names))


class _Decision:
    """One model, this machine and its engines."""

    def __init__(self, asked: Asked, outside: Outside, registry: Registry) -> None:
        from twlocal import doctor

        self._asked, self._outside, self._registry = asked, outside, registry
        self.machine, self._engines = outside.look(registry)
        # The Hub's own library finds this one by itself.
        self._stored_token = doctor.hub_token(outside.environ)

    def on(self, route: Route, machine: Hardware) -> Route:
        """The model of a decision on another machine, on the engine that was chosen."""
        from twlocal.route import decide

        wishes = self._wishes(route.model, engine=route.engine, quantised=True)
        return decide(route.model, machine, self._engines, wishes)

    def _wishes(self, model: KnownModel, *, engine: str | None = None, quantised: bool = False) -> Wishes:
        from twlocal.verdict import Wishes

        asked = self._asked
        return Wishes(
            engine=engine or asked.backend,
            max_tokens=asked.max_tokens,
            token=bool(self._outside.token or self._stored_token) or hub_models.is_cached(model.id),
            quantised=quantised or asked.quantised,
            trust_remote_code=trusts(asked.settings),
            gpus=asked.gpus,
        )

    def of(self, model: KnownModel, *, engine: str | None = None, quantised: bool = False) -> Route:
        """The route of a model. Raises NoEngine with the reasons where nothing can run it."""
        from twlocal.route import decide

        asked = self._asked
        wishes = self._wishes(model, engine=engine, quantised=quantised)
        if wishes.engine is None and asked.earlier:
            route = decide(model, self.machine, self._engines, replace(wishes, engine=asked.earlier))
            if route.engine is not None:
                return route
        route = decide(model, self.machine, self._engines, wishes)
        if route.engine is None:
            raise refusal(asked.model, route, self._if_installed(model, wishes))
        return route

    def _if_installed(self, model: KnownModel, wishes: Wishes) -> str:
        """The engine that could run it if it were installed, "" for none."""
        from twlocal.engines import planned
        from twlocal.route import decide

        there = {engine.name: engine for engine in self._engines if engine.present}
        wider = [there.get(one.name, one) for one in planned(self.machine)]
        return decide(model, self.machine, wider, wishes).engine or ""

    def known(self, model: KnownModel, revision: str | None) -> Placed:
        """A model of the registry: decided on its facts first, which costs no network, then on what the Hub tells."""
        route = self.of(model)
        if route.engine == "llama_cpp":
            repo, _, file = route.source.partition(":")
            return self.gguf(model, repo, None, file)
        revision = (revision or model.revision or None) if route.source == model.id else None
        return self.checkpoint(model, route.source, revision, engine=str(route.engine))

    def unknown(self, repo: str, revision: str | None) -> Placed:
        """A Hub repository that the registry does not know. One that holds GGUF files is meant for llama.cpp."""
        from twlocal import checkpoint

        held = hub_models.look(repo, revision, self._outside.token)
        wants_file = self._asked.backend == "llama_cpp" or (self._asked.backend is None and bool(held.ggufs))
        if wants_file or not held.checkpoint:
            return self.gguf(None, repo, revision, None, named=True, held=held)
        facts = checkpoint.from_config(repo, held.config or {}, held.bytes_of(held.weights), self._registry)
        return self._decided(self.of(facts), held)

    def gguf(
        self,
        model: KnownModel | None,
        repo: str,
        revision: str | None,
        file: str | None,
        *,
        named: bool = False,
        held: Repository | None = None,
    ) -> Placed:
        """A GGUF file of a repository; `named` by the person, who then knows what it is."""
        from twlocal.registry import KnownModel, Source

        held = held or hub_models.look(repo, revision, self._outside.token)
        names = hub_models.choose_gguf(held.name, held.ggufs, file)
        size = held.bytes_of(names)
        listed = next((one for one in model.sources if one.repo.casefold() == repo.casefold()), None) if model else None
        source = Source("llama_cpp", held.name, names[0], dtype=listed.dtype if listed else "", bytes=size, gated=False)
        facts = model or KnownModel(id=held.name, weight_bytes=size, gated=False, prepare="gguf")
        return self._decided(
            self.of(replace(facts, sources=(source,)), engine="llama_cpp", quantised=named), held, names
        )

    def checkpoint(
        self, model: KnownModel, repo: str, revision: str | None, *, engine: str, named: bool = False
    ) -> Placed:
        """A checkpoint of a repository: the model's own, or one that is an engine's source."""
        from twlocal import checkpoint

        held = hub_models.look(repo, revision, self._outside.token)
        size = held.bytes_of(held.weights) or None
        told = checkpoint.from_config(repo, held.config or {}, size, self._registry)
        if repo == model.id:
            # It could be read, so there is no gate any more.
            model = replace(
                model,
                weight_bytes=size or model.weight_bytes,
                gated=False,
                classes=told.classes or model.classes,
                heads=told.heads or model.heads,
                context=told.context or model.context,
                remote_code=told.remote_code or model.remote_code,
            )
        else:
            sources = (replace(one, bytes=size or one.bytes, gated=False) for one in model.sources if one.repo == repo)
            model = replace(model, sources=tuple(sources))
        return self._decided(self.of(model, engine=engine, quantised=named), held)

    def _decided(self, route: Route, held: Repository, names: Sequence[str] | None = None) -> Placed:
        engine, token, note = str(route.engine), self._outside.token, self._outside.note
        needed = held.checkpoint if names is None else names
        absent = held.bytes_of(hub_models.absent(held, needed))
        self._room(absent)
        self._outside.decided(route, self.machine)

        def fetch() -> Model:
            if names is None:
                model = models.checkpoint_of(held, engine, token, note)
            else:
                model = models.gguf_of(held, names, token, note)
            return replace(model, settings=applied(route))

        name = held.name if names is None else models.gguf_id(held.name, names)
        return Placed(engine, name, fetch, route, self.machine, absent, held, tuple(needed), on=partial(self.on, route))

    def _room(self, absent: int | None) -> None:
        """Refuse where the disk has no room for what is still to be fetched."""
        free = hub_models.free_bytes()
        if absent and free is not None and absent + DISK_RESERVE > free:
            gib = 1 << 30
            raise ModelError(
                f"{self._asked.model}: {absent / gib:,.1f} GiB are to be fetched, and {free / gib:,.1f} GiB are free "
                f"under {hub_models.cache_folder()}",
                hint="free some space, or set HF_HOME to a larger disk",
            )


def trusts(settings: Mapping[str, Any]) -> bool:
    """Whether the person's settings let a model's own Python code run."""
    from twlocal.setting_values import switch

    return switch(TRUST, settings.get(TRUST, False))


def applied(route: Route) -> dict[str, Any]:
    """The settings of a route that a run is given."""
    return {name: value for name, value in route.settings.items() if name not in _MEASURED_THERE}


def refusal(name: str, route: Route, if_installed: str) -> NoEngine:
    """Why no engine can run the model, an engine a line, and the ways out."""
    from twlocal.engines import EXTRAS
    from twlocal.route_words import say

    told = [
        one
        for one in route.verdicts
        if any(reason.level == "no" and reason.code != "not_wished" for reason in one.reasons)
    ]
    lines = [
        f"  not {one.engine}: {'; '.join(say(reason, 'en') for reason in one.reasons if reason.level == 'no')}"
        for one in told
    ]
    ways = (
        [f"pip install 'twlocal[{EXTRAS[if_installed]}]' brings {if_installed}, which could run it"]
        if if_installed
        else []
    )
    ways += [f"twlocal route {name} says more", "http(s)://host/v1#name asks a server elsewhere"]
    chinese = f"{name} 這裡跑不動：" + "；".join(
        f"不用 {one.engine}：{'；'.join(say(reason, 'zh-TW') for reason in one.reasons if reason.level == 'no')}"
        for one in told
    )
    if if_installed:
        chinese += f"（pip install 'twlocal[{EXTRAS[if_installed]}]' 可裝上 {if_installed}，它跑得動）"
    return NoEngine("\n".join([f"{name} cannot run here:", *lines]), hint="; ".join(ways), chinese=chinese)


def line(route: Route, lang: str = "en") -> str:
    """The decision in one line: engine, device, and how the weights fit."""
    from twlocal.route_words import say, words

    told = [one for one in route.reasons if one.code in _TOLD] or list(route.reasons)
    taken = words(lang)["taken"].format(engine=route.engine, device=route.verdicts[0].device)
    # A budget that cuts thoughts is heard whatever else there is to say.
    told = [*told[:2], *(one for one in told[2:] if one.code == "budget_short")]
    said = words(lang)["list"].join(say(one, lang) for one in told)
    return f"{route.model.id} {taken}{words(lang)['colon']}{said}"


# What of a route's reasons is worth the one line of a run.
_TOLD = frozenset(
    {
        "fits",
        "tight",
        "fit_unchecked",
        "float16",
        "float32",
        "quantised",
        "budget_short",
        "cards_too_small",
        "cpu_build",
        "mlx_cpu",
        "remote_code_trusted",
    }
)
