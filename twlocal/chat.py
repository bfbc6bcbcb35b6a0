"""Chat templates: messages → the exact prompt text, with each template's quirks found out instead of assumed.

One renderer for all engines that render here (llama.cpp, MLX, vLLM), so that the same messages give the same prompt
and the same hash. It follows what `transformers` does (sandbox, trimming, `raise_exception`, `tojson`,
`strftime_now`, loop controls, `{% generation %}`), because that is what templates are written for. Pure: no I/O, and
the date that some templates print is a parameter.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from twlocal.backend import Message
from twlocal.errors import ModelError

if TYPE_CHECKING:
    import jinja2
    import jinja2.nodes
    import jinja2.parser

# Some templates print the day. A prompt that changes at midnight would split a run in two, so the day is fixed; this
# one is what Llama 3's own templates fall back to.
FIXED_DAY = datetime(2024, 7, 26)

_TEMPLATE_HINT = "give a template that fits with --chat-template FILE (setting chat_template)"
_SYSTEM_PROBE = "twlocal probe of the system turn"
_USER_PROBE = "twlocal probe of the user turn"
_FILE = "<chat template>"
# What every template gets without being told.
_ALWAYS_GIVEN = frozenset(
    {"messages", "add_generation_prompt", "bos_token", "eos_token", "tools", "documents", "strftime_now"}
)


@dataclass(frozen=True, slots=True)
class Rendered:
    """A prompt as the model gets it.

    sha256: hex digest of `text` as UTF-8. merged_system: the template has no system role, so the system prompt was
    put before the first user turn. notes: what else was unusual, in plain words.
    """

    text: str
    sha256: str
    merged_system: bool = False
    notes: tuple[str, ...] = ()


class ChatTemplate:
    """A chat template, compiled once; rendering 22,000 prompts costs about as much as joining strings.

    `variables` are extra names for the template (`enable_thinking`, `reasoning_effort`, …). Raises ModelError with the
    template's line where it does not compile or render, where it drops the user's text, or where it never reads one of
    `variables`: the record would say that a switch was set which changed nothing.
    """

    def __init__(
        self,
        source: str,
        *,
        bos_token: str = "",
        eos_token: str = "",
        variables: Mapping[str, Any] | None = None,
        now: datetime = FIXED_DAY,
    ) -> None:
        self.source = source
        self.sha256 = hashlib.sha256(source.encode("utf-8")).hexdigest()
        # transformers passes tools and documents as None; templates test them with `is not none`.
        self._names: dict[str, Any] = {
            "tools": None,
            "documents": None,
            **(variables or {}),
            "bos_token": bos_token,
            "eos_token": eos_token,
            "strftime_now": now.strftime,
        }
        self._template = _compile(source)
        if unread := sorted(set(variables or ()) - _read_by(source)):
            reads = ", ".join(sorted(_read_by(source) - _ALWAYS_GIVEN)) or "none of its own"
            raise ModelError(
                f"the chat template never reads {', '.join(unread)}: setting it would change nothing",
                hint=f"leave it out of template_variables; names that this template reads: {reads}",
            )

    @cached_property
    def takes_parts(self) -> bool:
        """Whether the template wants contents as lists of parts: with plain text it would lose them silently."""
        if self._shows_user(parts=False):
            return False
        if self._shows_user(parts=True):
            return True
        raise ModelError("the chat template leaves the user's text out of the prompt", hint=_TEMPLATE_HINT)

    @cached_property
    def takes_system(self) -> bool:
        """Whether a system turn reaches the prompt; some templates refuse it and some drop it."""
        probe = [Message("system", _SYSTEM_PROBE), Message("user", _USER_PROBE)]
        try:
            text = self._render(probe, add_generation_prompt=True, parts=self.takes_parts)
        except ModelError:
            # A template that cannot render at all says so here, without a system turn to blame.
            self._render(probe[1:], add_generation_prompt=True, parts=self.takes_parts)
            return False
        return _SYSTEM_PROBE in text and _USER_PROBE in text

    def render(self, messages: Sequence[Message], *, add_generation_prompt: bool = True) -> Rendered:
        """The prompt for `messages`, ending where the assistant is to speak. Raises ModelError."""
        merged = bool(messages) and messages[0].role == "system" and not self.takes_system
        notes = [note for wanted, note in ((self.takes_parts, "contents passed as lists of parts"),) if wanted]
        if merged:
            messages = merge_system(messages)
            notes.append("no system role in the template: system prompt merged into the first user turn")
        text = self._render(messages, add_generation_prompt=add_generation_prompt, parts=self.takes_parts)
        return Rendered(text, hashlib.sha256(text.encode("utf-8")).hexdigest(), merged, tuple(notes))

    def _shows_user(self, *, parts: bool) -> bool:
        try:
            return _USER_PROBE in self._render([Message("user", _USER_PROBE)], add_generation_prompt=True, parts=parts)
        except ModelError:
            if parts:
                return False
            # Plain text is what nearly all take: its error is the one to show, unless parts work.
            if self._shows_user(parts=True):
                return False
            raise

    def _render(self, messages: Sequence[Message], *, add_generation_prompt: bool, parts: bool) -> str:
        turns = [
            {"role": m.role, "content": [{"type": "text", "text": m.content}] if parts else m.content} for m in messages
        ]
        try:
            return self._template.render(messages=turns, add_generation_prompt=add_generation_prompt, **self._names)
        except Exception as error:  # a template is a program: it may fail in any way
            line = _line_of(error)
            where = f" (line {line})" if line else ""
            raise ModelError(
                f"the chat template cannot render these messages{where}: {error}", hint=_TEMPLATE_HINT
            ) from error


def render(
    template: str,
    messages: Sequence[Message],
    *,
    bos_token: str = "",
    eos_token: str = "",
    add_generation_prompt: bool = True,
    now: datetime = FIXED_DAY,
    **variables: Any,
) -> Rendered:
    """`messages` through `template`, with `variables` (enable_thinking, …) as further names. Raises ModelError.

    The compiled template is kept, so that calling this for each item is cheap.
    """
    frozen = json.dumps(variables, sort_keys=True)
    compiled = _kept(template, bos_token, eos_token, frozen, now)
    return compiled.render(messages, add_generation_prompt=add_generation_prompt)


def choose_template(templates: object) -> str:
    """The template to use out of what a model carries; "" when it carries none.

    A tokenizer's config holds one text, or a list of {"name", "template"}; a GGUF holds names. "default" wins, then
    the only one there is. Raises ModelError where several are named and none is the default.
    """
    if not templates:
        return ""
    if isinstance(templates, str):
        return templates
    if isinstance(templates, Mapping):
        named = {str(name): str(text) for name, text in templates.items()}
    elif isinstance(templates, Iterable):
        named = {str(entry["name"]): str(entry["template"]) for entry in templates}
    else:
        raise ModelError(
            f"the chat template is neither text nor a list: {type(templates).__name__}", hint=_TEMPLATE_HINT
        )
    if "default" in named:
        return named["default"]
    if len(named) == 1:
        return next(iter(named.values()))
    raise ModelError(f"several chat templates and no default: {', '.join(sorted(named))}", hint=_TEMPLATE_HINT)


def required_template(given: str | None, templates: object) -> str:
    """The template the user gave, else the model's own out of `templates` (see `choose_template`).

    Raises ModelError, before the first item, where there is none: an engine would silently invent one.
    """
    source = given or choose_template(templates)
    if not source:
        raise ModelError(
            "the model brings no chat template (it may be a base model)",
            hint="give the one it was trained with: --chat-template FILE (setting chat_template); or serve it with a "
            "server that has one, and use http://host:port/v1#name as the model",
        )
    return source


def needs_bos(text: str, *, bos_token: str, add_bos: bool) -> bool:
    """Whether a begin token is still to be put before `text`: the tokenizer wants one and the template wrote none."""
    return add_bos and bool(bos_token) and not text.startswith(bos_token)


def bos_ids(
    text: str,
    encode: Callable[[str], Sequence[int]],
    *,
    bos_token: str,
    bos_id: int | None,
    add_bos: bool,
) -> list[int]:
    """Token ids of a rendered prompt with exactly one begin token where the model has one, else none.

    `encode` is the tokenizer told to add nothing by itself and to read special tokens in the text:

        llama.cpp   llama_tokenize(…, add_special=False, parse_special=True)
        MLX, vLLM   tokenizer.encode(text, add_special_tokens=False), then pass ids, never text

    Some tokenizers add one anyway, and some templates write two: repeats at the start are always dropped.
    """
    ids = list(encode(text))
    if bos_id is None:
        return ids
    repeats = 0
    while repeats < len(ids) and ids[repeats] == bos_id:
        repeats += 1
    wanted = repeats > 0 or needs_bos(text, bos_token=bos_token, add_bos=add_bos)
    return [bos_id, *ids[repeats:]] if wanted else ids


@lru_cache(maxsize=8)
def _kept(template: str, bos_token: str, eos_token: str, variables: str, now: datetime) -> ChatTemplate:
    return ChatTemplate(template, bos_token=bos_token, eos_token=eos_token, variables=json.loads(variables), now=now)


def merge_system(messages: Sequence[Message]) -> list[Message]:
    """`messages`, of which the first is the system's, with its text before the first user turn instead."""
    system, *rest = messages
    for place, message in enumerate(rest):
        if message.role == "user":
            rest[place] = Message("user", f"{system.content}\n\n{message.content}")
            return rest
    return [Message("user", system.content), *rest]


@lru_cache(maxsize=8)
def _read_by(source: str) -> frozenset[str]:
    """The names that a template takes from outside, but for the helpers that every template has."""
    from jinja2 import meta

    environment = _environment()
    return frozenset(meta.find_undeclared_variables(environment.parse(source))) - environment.globals.keys()


@lru_cache(maxsize=8)
def _compile(source: str) -> jinja2.Template:
    import jinja2

    environment = _environment()
    try:
        code = environment.compile(source, filename=_FILE)
        return environment.template_class.from_code(environment, code, environment.make_globals(None))
    except jinja2.TemplateSyntaxError as error:
        raise ModelError(
            f"the chat template has an error in line {error.lineno}: {error.message}", hint=_TEMPLATE_HINT
        ) from error


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    """Jinja as `transformers` sets it up."""
    import jinja2
    import jinja2.ext
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(jinja2.ext.Extension):
        """`{% generation %}` marks what a trainer learns from; for prompting its content is all there is."""

        tags = {"generation"}  # noqa: RUF012 (the name and the type are Jinja's)

        def parse(self, parser: jinja2.parser.Parser) -> list[jinja2.nodes.Node]:
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    def raise_exception(message: str) -> str:
        raise jinja2.TemplateError(message)

    def tojson(
        value: Any,
        ensure_ascii: bool = False,
        indent: int | None = None,
        separators: tuple[str, str] | None = None,
        sort_keys: bool = False,
    ) -> str:
        # Jinja's own escapes HTML, which would change the prompt.
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    return environment


def _line_of(error: BaseException) -> int | None:
    """The template's line in which `error` arose: Jinja rewrites tracebacks to point into the template."""
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in (_FILE, "<template>"):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
