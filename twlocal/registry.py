"""What is known of models before anything is fetched: `data/models.toml`, and the user's own file over it.

A fact that is not in the registry is None (or empty) here, never a guess; routing then says that it did not check.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from twlocal.errors import ModelError, UsageError

BUNDLED = "models.toml"
ENVIRONMENT = "TWLOCAL_MODELS"

# Bytes that one parameter takes as it is released. Mixed formats (mxfp4, GGUF quantisations) are told as weight_bytes.
WIDTHS = {"float32": 4.0, "bfloat16": 2.0, "float16": 2.0, "fp8": 1.0}
# Released precisions; every other dtype is somebody's later quantisation.
NATIVE = frozenset({*WIDTHS, "mxfp4"})
THINKING = ("", "always", "switch")
SYSTEM_ROLES = ("", "native", "merged")
ENGINES = ("llama_cpp", "mlx", "vllm")


@dataclass(frozen=True, slots=True)
class Source:
    """Where one engine gets a model from, when it is not the model's own repository.

    file: of a split GGUF the first part, "" when its name is not known. package: a Python package that carries the
    weights. bytes: of all parts, None where it is the parameters × the width of dtype.
    """

    engine: str
    repo: str = ""
    file: str = ""
    package: str = ""
    dtype: str = ""
    bytes: int | None = None
    gated: bool | None = None

    @property
    def quantised(self) -> bool:
        """Whether its weights are stored otherwise than they were released."""
        return bool(self.dtype) and self.dtype not in NATIVE

    @property
    def name(self) -> str:
        """As the command line names it: owner/name:file."""
        return ":".join(part for part in (self.repo, self.file) if part) or self.package


@dataclass(frozen=True)
class KnownModel:
    """A model's facts. Sizes in bytes, context in tokens, None or "" for what is not known.

    classes: names of the checkpoint's classes (config.json's `architectures`). mlx, gguf: what those engines call the
    architecture. heads: counts that a tensor-parallel size must divide, by kind (attention, kv, mamba, vision, …).
    kv_layers: layers that keep keys and values of the whole context. float16: whether it answers right in float16.
    computes_in: what sums are made in where the weights are quantised, by their configuration.
    thinking: "always", "switch" or "". max_tokens: its cap of new tokens, where it needs more than a benchmark's.
    system_role: "merged" where the template has no role for it. remote_code: what would be run with
    trust_remote_code. prepare: "vision_tower" where that has to be taken away first, "gguf" where there is only a GGUF
    file and no checkpoint. vllm_since: the first vLLM that knows it. taiwan_tuned: made for Taiwan by training.
    """

    id: str
    family: str = ""
    revision: str = ""
    aliases: tuple[str, ...] = ()
    parameters: int | None = None
    weight_bytes: int | None = None
    dtype: str = ""
    context: int | None = None
    licence: str = ""
    gated: bool | None = None
    classes: tuple[str, ...] = ()
    mlx: str = ""
    gguf: str = ""
    vllm_since: str = ""
    heads: Mapping[str, int] = field(default_factory=dict)
    layers: int | None = None
    kv_layers: int | None = None
    head_dim: int | None = None
    float16: bool = True
    computes_in: str = ""
    thinking: str = ""
    thinking_variable: str = ""
    max_tokens: int | None = None
    system_role: str = ""
    trust_remote_code: bool = False
    remote_code: str = ""
    prepare: str = ""
    taiwan_tuned: bool | None = None
    sources: tuple[Source, ...] = ()

    def bytes_in(self, dtype: str = "") -> int | None:
        """Bytes of the weights as released, or held in another `dtype`; None where that is not known."""
        if dtype in ("", self.dtype) and self.weight_bytes is not None:
            return self.weight_bytes
        width, own = WIDTHS.get(dtype or self.dtype), WIDTHS.get(self.dtype)
        if width is None:
            return None
        if self.parameters is not None:
            return round(self.parameters * width)
        # A checkpoint on this disk tells its bytes and not its parameters.
        return round(self.weight_bytes / own * width) if self.weight_bytes is not None and own else None

    @property
    def kv_bytes(self) -> int | None:
        """Bytes that one token of context takes with keys and values in 16 bits; None where that is not known."""
        kv = self.heads.get("kv")
        if kv is None or self.kv_layers is None or self.head_dim is None:
            return None
        return 2 * self.kv_layers * kv * self.head_dim * 2

    def sources_for(self, engine: str) -> tuple[Source, ...]:
        """The places that `engine` can get this model from, unquantised ones first."""
        return tuple(
            sorted((source for source in self.sources if source.engine == engine), key=lambda source: source.quantised)
        )


@dataclass(frozen=True)
class Registry:
    """Known models by id."""

    models: Mapping[str, KnownModel]

    def find(self, name: str) -> KnownModel | None:
        """The model that `name` means: an id (with or without @revision or :file), an alias, or a source's repository.

        Case does not matter. A bare name without its owner is enough where only one model has it.
        """
        wanted = re.split(r"[@:]", name.strip(), maxsplit=1)[0].casefold()
        if not wanted:
            return None
        for model in self.models.values():
            if wanted in (model.id.casefold(), *(alias.casefold() for alias in model.aliases)):
                return model
        for model in self.models.values():
            if any(source.repo.casefold() == wanted for source in model.sources if source.repo):
                return model
        bare = [model for model in self.models.values() if model.id.split("/")[-1].casefold() == wanted]
        return bare[0] if len(bare) == 1 else None

    def get(self, name: str) -> KnownModel:
        """As `find`. Raises ModelError for a model that is not known, with the nearest names."""
        found = self.find(name)
        if found is not None:
            return found
        near = self.near(name)
        hint = f"did you mean {', '.join(near)}? " if near else ""
        raise ModelError(
            f"the registry does not know {name!r}",
            hint=hint + f"your own models go into a file like the bundled one, named by ${ENVIRONMENT}",
        )

    def near(self, name: str) -> list[str]:
        """Ids that look like `name`, the nearest first."""
        lower = {model.id.split("/")[-1].casefold(): model.id for model in self.models.values()}
        found = difflib.get_close_matches(name.split("/")[-1].casefold(), lower, n=3, cutoff=0.5)
        return [lower[one] for one in found]


def load(environ: Mapping[str, str]) -> Registry:
    """The bundled registry with the user's file over it. Raises UsageError, naming file and entry."""
    text = files("twlocal.data").joinpath(BUNDLED).read_text(encoding="utf-8")
    tables = [(BUNDLED, _parse(text, BUNDLED))]
    if path := user_file(environ):
        try:
            own = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(
                f"the model registry {path} cannot be read: {error}", hint=f"see ${ENVIRONMENT}"
            ) from error
        tables.append((str(path), _parse(own, str(path))))
    return merge(tables)


def user_file(environ: Mapping[str, str]) -> Path | None:
    """The user's own registry: $TWLOCAL_MODELS, else ~/.config/twlocal/models.toml where it exists."""
    if named := environ.get(ENVIRONMENT):
        return Path(named).expanduser()
    folder = environ.get("XDG_CONFIG_HOME") or (f"{environ['HOME']}/.config" if environ.get("HOME") else "")
    path = Path(folder) / "twlocal" / "models.toml" if folder else None
    return path if path is not None and path.is_file() else None


def merge(tables: Iterable[tuple[str, Mapping[str, Any]]]) -> Registry:
    """A registry from parsed files, later ones over earlier ones, fact by fact. Pure.

    A model in a later file changes the facts that it names and keeps the others; `sources` are replaced as a whole.
    """
    families: dict[str, dict[str, Any]] = {}
    models: dict[str, dict[str, Any]] = {}
    spelt: dict[str, str] = {}
    origins: dict[str, str] = {}
    for origin, table in tables:
        unknown = sorted(set(table) - {"families", "models"})
        if unknown:
            raise UsageError(f"{origin}: there is no section {unknown[0]!r}", hint="it has: families, models")
        for name, facts in _section(table, "families", origin).items():
            families[name] = _over(families.get(name, {}), facts)
        for name, facts in _section(table, "models", origin).items():
            key = spelt.setdefault(name.casefold(), name)
            models[key] = _over(models.get(key, {}), facts)
            origins[key] = origin
    known = {}
    for name, facts in models.items():
        family = facts.get("family", "")
        if family and family not in families:
            raise UsageError(
                f"{origins[name]}: {name} is of the family {family!r}, which is not there",
                hint=f"there are: {', '.join(sorted(families))}",
            )
        known[name] = _model(name, _over(families.get(family, {}), facts), origins[name])
    return Registry(known)


def _parse(text: str, origin: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{origin} is not TOML: {error}") from error


def _section(table: Mapping[str, Any], name: str, origin: str) -> Mapping[str, Mapping[str, Any]]:
    section = table.get(name, {})
    if not isinstance(section, Mapping) or not all(isinstance(entry, Mapping) for entry in section.values()):
        raise UsageError(f"{origin}: [{name}] holds tables, one an entry", hint=f'[{name}."owner/name"]')
    return section


def _over(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(old) | dict(new)
    if isinstance(old.get("heads"), Mapping) and isinstance(new.get("heads"), Mapping):
        merged["heads"] = dict(old["heads"]) | dict(new["heads"])
    return merged


_TYPES: Mapping[str, tuple[type, ...]] = {
    "aliases": (list,),
    "classes": (list,),
    "heads": (dict,),
    "sources": (list,),
    "float16": (bool,),
    "gated": (bool,),
    "trust_remote_code": (bool,),
    "taiwan_tuned": (bool,),
}
_NUMBERS = frozenset(
    {"parameters", "weight_bytes", "context", "layers", "kv_layers", "head_dim", "max_tokens", "bytes"}
)
_CHOICES = {"thinking": THINKING, "system_role": SYSTEM_ROLES, "prepare": ("", "vision_tower", "gguf")}


def _model(name: str, facts: Mapping[str, Any], origin: str) -> KnownModel:
    place = f"{origin}: {name}"
    _check(facts, {one.name for one in fields(KnownModel)} - {"id"}, place)
    values = dict(facts)
    for heads in (values.get("heads", {}),):
        for kind, count in heads.items():
            if not _is_count(count):
                raise UsageError(f"{place}: heads.{kind} is a count, not {count!r}")
    sources = []
    for source in values.get("sources", ()):
        if not isinstance(source, Mapping):
            raise UsageError(f"{place}: sources holds tables", hint=f'[[models."{name}".sources]]')
        _check(source, {one.name for one in fields(Source)}, f"{place}, a source")
        if source.get("engine") not in ENGINES:
            raise UsageError(f"{place}: a source is for one of {', '.join(ENGINES)}, not {source.get('engine')!r}")
        sources.append(Source(**source))
    for key in ("aliases", "classes"):
        values[key] = tuple(values.get(key, ()))
        if not all(isinstance(one, str) for one in values[key]):
            raise UsageError(f"{place}: {key} is a list of texts")
    return KnownModel(id=name, **(values | {"sources": tuple(sources)}))


def _check(facts: Mapping[str, Any], known: set[str], place: str) -> None:
    for key, value in facts.items():
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            raise UsageError(
                f"{place}: there is no fact {key!r}",
                hint=f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(sorted(known))}",
            )
        if key in _NUMBERS:
            if not _is_count(value):
                raise UsageError(f"{place}: {key} is a whole number above 0, not {value!r}")
        elif not isinstance(value, _TYPES.get(key, (str,))):
            raise UsageError(f"{place}: {key} cannot be {value!r}")
        if key in _CHOICES and value not in _CHOICES[key]:
            raise UsageError(f"{place}: {key} is one of {', '.join(filter(None, _CHOICES[key]))}, not {value!r}")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
