"""A protocol: the whole apparatus between an item and its score, except the engine.

Protocols are data (`prompts/*.toml`, texts in `prompts/*.txt`), addressed by name and by the sha256 of what they say.
Nothing but the question and its four options ever enters a prompt.
"""

from __future__ import annotations

import hashlib
import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from string import Formatter
from typing import Any

from twlocal.backend import Decoding, Message
from twlocal.errors import ProtocolError
from twlocal.item import LABELS, Item, permutation

DEFAULT = "box"
_NOT_OURS = "a protocol file that does not ship with twlocal"
_NOT_OURS_ZH = "這份協定檔不是 twlocal 附的"
# What says of a protocol what it is, and changes nothing that it does: outside its hash.
_NOTES = ("name", "title", "title_zh", "publishable", "why_not", "why_not_zh", "own_budget")
_KEYS = {
    "title",
    "title_zh",
    "publishable",
    "why_not",
    "why_not_zh",
    "system",
    "body",
    "shuffle",
    "reader",
    "decoding",
    "examples",
}


@dataclass(frozen=True)
class Example:
    """A worked example: a question as a user turn and the reply that is shown to the model."""

    question: str
    options: tuple[str, str, str, str]
    reply: str


@dataclass(frozen=True)
class Protocol:
    """System prompt, user body, option shuffle, decoding and the reader of the published score.

    `system` is the text itself ("" for none). `body` holds the placeholders {question} {A} {B} {C} {D}.
    `why_not` says why a score under it is not publishable. `title_zh` and `why_not_zh` are the Chinese of
    `title` and `why_not`, "" where nobody wrote it. `own_budget`: its max_tokens is its own and not the bench's.
    """

    name: str
    title: str
    system: str
    body: str
    decoding: Decoding
    reader: str = "box"
    shuffle: bool = True
    publishable: bool = True
    why_not: str = ""
    examples: tuple[Example, ...] = ()
    own_budget: bool = False
    title_zh: str = ""
    why_not_zh: str = ""

    @cached_property
    def sha256(self) -> str:
        """Hash of everything that reaches the model or decides the reading; titles and notes are left out."""
        said = asdict(self)
        for note in _NOTES:
            del said[note]
        return hashlib.sha256(json.dumps(said, ensure_ascii=False, sort_keys=True).encode("utf-8")).hexdigest()

    @cached_property
    def system_sha256(self) -> str:
        """Hash of the system prompt alone, as the paper's appendix prints it."""
        return hashlib.sha256(self.system.encode("utf-8")).hexdigest()

    def order(self, item: Item, repeat: int = 0) -> str:
        """The permutation under which `item` is shown in its repeat number `repeat` (0 is the first)."""
        return permutation(item.question, repeat) if self.shuffle else LABELS

    @cached_property
    def _opening(self) -> tuple[Message, ...]:
        opening = [Message("system", self.system)] if self.system else []
        for example in self.examples:
            opening.append(Message("user", self._user(example.question, example.options)))
            opening.append(Message("assistant", example.reply))
        return tuple(opening)

    def _user(self, question: str, options: tuple[str, ...]) -> str:
        # One pass over the template, so that braces inside a question or an option are text.
        values = {"question": question, **dict(zip(LABELS, options, strict=True))}
        return self.body.format_map(values)

    def messages(self, item: Item, order: str) -> tuple[Message, ...]:
        """The chat for `item` with its options in `order`: system prompt, examples, question."""
        question, *options = item.texts
        shown = tuple(options[LABELS.index(letter)] for letter in order)
        return (*self._opening, Message("user", self._user(question, shown)))

    def with_budget(self, max_tokens: int | None) -> Protocol:
        """The same protocol with another budget of new tokens an answer; None leaves it as it is."""
        return replace(self, decoding=replace(self.decoding, max_tokens=max_tokens)) if max_tokens else self


def names() -> list[str]:
    """Names of the bundled protocols."""
    return sorted(
        entry.name[: -len(".toml")] for entry in files("twlocal.prompts").iterdir() if entry.name.endswith(".toml")
    )


def load(name: str) -> Protocol:
    """The bundled protocol `name`, or the one in a TOML file at that path. Raises ProtocolError."""
    path = Path(name)
    if name.endswith(".toml"):
        try:
            return parse(path.stem, path.read_text(encoding="utf-8"), folder=path.parent)
        except OSError as error:
            raise ProtocolError(f"cannot read the protocol file {name}: {error.strerror}") from error
        except UnicodeError as error:
            raise ProtocolError(f"the protocol file {name} is not UTF-8 text") from error
    if name not in names():
        raise ProtocolError(f"there is no protocol named {name!r}", hint=f"bundled ones: {', '.join(names())}")
    return parse(name, files("twlocal.prompts").joinpath(f"{name}.toml").read_text(encoding="utf-8"))


def parse(name: str, text: str, *, folder: Path | None = None) -> Protocol:
    """A protocol from TOML text; its `system` names a file in `folder`, or in the bundled prompts.

    Raises ProtocolError, naming the field.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ProtocolError(f"protocol {name}: not valid TOML: {error}") from error
    unknown = sorted(set(data) - _KEYS)
    if unknown:
        raise ProtocolError(f"protocol {name}: unknown field {unknown[0]!r}", hint=f"known: {', '.join(sorted(_KEYS))}")
    _check_kinds(name, data)
    try:
        protocol = Protocol(
            name=name,
            title=str(data.get("title", name)),
            system=_system(name, data.get("system", ""), folder),
            body=data["body"],
            decoding=_decoding(data.get("decoding", {})),
            reader=data.get("reader", "box"),
            shuffle=bool(data.get("shuffle", True)),
            # A file from outside was not published with us: its scores stand apart unless it is one of ours.
            publishable=bool(data.get("publishable", False)) and folder is None,
            why_not=str(data.get("why_not", _NOT_OURS if folder else "")),
            examples=tuple(_example(row) for row in data.get("examples", ())),
            own_budget="max_tokens" in data.get("decoding", {}),
            title_zh=str(data.get("title_zh", "")),
            why_not_zh=str(data.get("why_not_zh", _NOT_OURS_ZH if folder and "why_not" not in data else "")),
        )
    except (KeyError, TypeError) as error:
        raise ProtocolError(f"protocol {name}: {error}") from error
    _check(protocol)
    return protocol


_EXAMPLE = dict.fromkeys(("question", *LABELS, "reply"), "text")
_DECODING = {"temperature": "a number", "top_p": "a number", "max_tokens": "a whole number"}
_KINDS = dict.fromkeys(_KEYS, "text") | {
    "shuffle": "true or false",
    "publishable": "true or false",
    "decoding": "a table",
    "examples": "a list of tables",
}


def _check_kinds(name: str, data: Mapping[str, Any]) -> None:
    """Raises ProtocolError at the first value of another kind: `shuffle = "no"` would otherwise be taken for true."""
    examples = data.get("examples", [])
    parts = [("", data, _KINDS), ("decoding.", data.get("decoding", {}), _DECODING)]
    parts += [("examples.", row, _EXAMPLE) for row in examples] if isinstance(examples, list) else []
    for place, table, kinds in parts:
        if not isinstance(table, Mapping):
            raise ProtocolError(f"protocol {name}: {place.rstrip('.')} must be a table")
        for field, kind in kinds.items():
            if field in table and not _is(table[field], kind):
                raise ProtocolError(f"protocol {name}: {place}{field} must be {kind}, not {table[field]!r}")


def _is(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "true or false"
    match kind:
        case "text":
            return isinstance(value, str)
        case "a whole number":
            return isinstance(value, int)
        case "a number":
            return isinstance(value, int | float) and math.isfinite(value)
        case "a table":
            return isinstance(value, Mapping)
    return kind == "a list of tables" and isinstance(value, list)


def _system(name: str, file: str, folder: Path | None) -> str:
    if not file:
        return ""
    places = [*([folder / file] if folder else []), files("twlocal.prompts").joinpath(file)]
    for place in places:
        if place.is_file():
            try:
                return place.read_text(encoding="utf-8")
            except UnicodeError as error:
                raise ProtocolError(f"protocol {name}: the system prompt {file!r} is not UTF-8 text") from error
    raise ProtocolError(f"protocol {name}: the system prompt {file!r} is not there")


def _decoding(given: Mapping[str, Any]) -> Decoding:
    # 0, 0.0 and -0.0 ask for the same, and must not make two runs.
    said = Decoding(**given)
    return replace(said, temperature=float(said.temperature) + 0.0, top_p=float(said.top_p))


def _example(row: Mapping[str, Any]) -> Example:
    return Example(row["question"], (row["A"], row["B"], row["C"], row["D"]), row["reply"])


def _check(protocol: Protocol) -> None:
    probe = {"question": "\x00q", **{label: f"\x00{label}" for label in LABELS}}
    try:
        if any(spec or conversion for _, _, spec, conversion in Formatter().parse(protocol.body)):
            raise ValueError("no format after a colon or an exclamation mark")
        body = protocol.body.format_map(probe)
    except (KeyError, IndexError, ValueError, AttributeError) as error:
        raise ProtocolError(
            f"protocol {protocol.name}: the body may hold {{question}} and {{A}}–{{D}} only: {error}"
        ) from error
    absent = [key for key, value in probe.items() if body.count(value) != 1]
    if absent:
        raise ProtocolError(f"protocol {protocol.name}: the body must hold {{{absent[0]}}} exactly once")
    decoding = protocol.decoding
    if not (decoding.temperature >= 0 and 0 < decoding.top_p <= 1 and decoding.max_tokens >= 1):
        raise ProtocolError(f"protocol {protocol.name}: decoding out of range: {decoding}")
