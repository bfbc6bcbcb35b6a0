"""What the user may set for an HTTP server, and where its key comes from. The key itself is never kept in here."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from twlocal.backends.http.address import Address
from twlocal.errors import UsageError

NAMES = frozenset(
    (
        *("concurrency", "timeout", "connect_timeout", "retries", "api_key_env", "extra_body", "headers", "stream"),
        *("seed", "json_schema", "template_variables"),
    )
)
KEY_VARIABLES = ("TWLOCAL_API_KEY", "OPENAI_API_KEY")
KEYRING_SERVICE = "twlocal"
_KWARGS = "chat_template_kwargs"

# Set by the protocol or by the run itself; changing them behind its back would make two runs look like one.
_RESERVED = frozenset({"model", "messages", "n", "stream", "stream_options", "seed"}) | {
    *("temperature", "top_p", "max_tokens", "max_completion_tokens")
}
_SECRET_HEADER = re.compile(r"(?i)auth|key|token|secret|cookie|passw|credential|signature")
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))", re.ASCII)


@dataclass(frozen=True, slots=True)
class Settings:
    """Times in seconds. `retries`: how often a failed request is asked again. `headers` name secrets as $VARIABLE.

    `json_schema`: ask the server to hold every answer to it. `template_variables`: names for the server's chat template
    (enable_thinking, …), sent as chat_template_kwargs, which vLLM, SGLang and llama.cpp's server know.
    """

    concurrency: int = 16
    timeout: float = 600.0
    connect_timeout: float = 10.0
    retries: int = 6
    api_key_env: str = ""
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    stream: bool = False
    seed: int | None = None
    json_schema: Mapping[str, Any] | None = None
    template_variables: Mapping[str, Any] = field(default_factory=dict)

    @property
    def extra(self) -> dict[str, Any]:
        """What the user adds to the body of every request."""
        named = {_KWARGS: dict(self.template_variables)} if self.template_variables else {}
        return {**self.extra_body, **named}


def parse(given: Mapping[str, Any]) -> Settings:
    """Settings from a mapping whose values may be text, as a command line gives them. Raises UsageError."""
    unknown = sorted(set(given) - NAMES)
    if unknown:
        raise UsageError(f"http has no setting {unknown[0]!r}", hint=f"it has: {', '.join(sorted(NAMES))}")
    values = {name: value for name, value in given.items() if value is not None and value != ""}
    settings = Settings(
        concurrency=_number(values, "concurrency", 16, int, 1, 4096),
        timeout=_number(values, "timeout", 600.0, float, 0.01, 7 * 86400),
        connect_timeout=_number(values, "connect_timeout", 10.0, float, 0.01, 3600),
        retries=_number(values, "retries", 6, int, 0, 100),
        api_key_env=str(values.get("api_key_env", "")).strip(),
        extra_body=_mapping(values, "extra_body"),
        headers={name: str(value) for name, value in _mapping(values, "headers").items()},
        stream=_flag(values, "stream"),
        seed=_number(values, "seed", 0, int, -(2**63), 2**63 - 1) if "seed" in values else None,
        json_schema=_mapping(values, "json_schema") if "json_schema" in values else None,
        template_variables=_mapping(values, "template_variables"),
    )
    clash = sorted(_RESERVED & set(settings.extra_body))
    if clash:
        raise UsageError(
            f"extra_body cannot set {clash[0]!r}: it belongs to the protocol or has a setting of its own",
            hint="use the run's own options for decoding, and the settings `stream` and `seed`",
        )
    if settings.template_variables and _KWARGS in settings.extra_body:
        raise UsageError(
            f"template_variables and extra_body both set {_KWARGS}", hint="give all of them as template_variables"
        )
    for name, value in settings.headers.items():
        _check_header(name, value)
    return settings


def _check_header(name: str, value: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name) or re.search(r"[\r\n\0]", value):
        raise UsageError(f"the header {name!r} has a name or a value that HTTP does not allow")
    if _SECRET_HEADER.search(name) and not _VARIABLE.search(value):
        raise UsageError(
            f"the value of the header {name!r} would be stored with every run",
            hint=f'put it into an environment variable and name that: {{"{name}": "$VARIABLE"}}',
        )


def headers(settings: Settings, environ: Mapping[str, str]) -> dict[str, str]:
    """The headers to send, with `$VARIABLE` in their values replaced from the environment. Raises UsageError."""

    def value_of(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if not environ.get(name):
            raise UsageError(f"the environment variable {name} (setting headers) is not set")
        return environ[name].strip()

    return {name: _VARIABLE.sub(value_of, value) for name, value in settings.headers.items()}


def _number(values: Mapping[str, Any], name: str, default: Any, kind: type, low: float, high: float) -> Any:
    value = values.get(name, default)
    try:
        number = kind(value) if not isinstance(value, bool) else None
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or not low <= number <= high or (kind is int and isinstance(value, float) and value != number):
        raise UsageError(f"{name} must be a number from {low:g} to {high:g}, not {value!r}")
    return number


def _flag(values: Mapping[str, Any], name: str) -> bool:
    value = values.get(name, False)
    said = str(value).strip().lower()
    if said in ("true", "1", "yes", "on"):
        return True
    if said in ("false", "0", "no", "off"):
        return False
    raise UsageError(f"{name} must be true or false, not {value!r}")


def _mapping(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = values.get(name, {})
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise UsageError(f'{name} must be a JSON object, such as {{"name": "value"}}') from None
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise UsageError(f'{name} must be a JSON object, such as {{"name": "value"}}')
    return value


@dataclass(frozen=True, slots=True)
class Key:
    """An API key (or "") and the name of the place it came from; the key never shows in a repr."""

    value: str = field(repr=False)
    source: str


def find_key(
    address: Address, settings: Settings, environ: Mapping[str, str], keyring: Callable[[str, str], str | None]
) -> Key:
    """The key for this server: the variable named by `api_key_env`, else KEY_VARIABLES, else the keyring.

    `keyring(service, user)` is asked with the service "twlocal" and the host as user. A key that nobody named for this
    server does not go unencrypted over the public net. Raises UsageError.
    """
    if any(name.lower() == "authorization" for name in settings.headers):
        return Key("", "the header Authorization")
    if settings.api_key_env:
        found = environ.get(settings.api_key_env, "").strip()
        if not found:
            raise UsageError(
                f"the environment variable {settings.api_key_env} (api_key_env) is not set",
                hint=f"export {settings.api_key_env}=… before the run",
            )
        return _checked(found, settings.api_key_env)
    if not address.encrypted and not address.local:
        return Key("", "none (not sent over plain http to a public host unless api_key_env names it)")
    for name in KEY_VARIABLES:
        if found := environ.get(name, "").strip():
            return _checked(found, name)
    if found := (keyring(KEYRING_SERVICE, address.host) or "").strip():
        return _checked(found, "keyring")
    return Key("", "none")


def _checked(value: str, source: str) -> Key:
    if not (value.isascii() and value.isprintable()) or " " in value:
        raise UsageError(f"the API key from {source} holds characters that no key has", hint="copy it again")
    return Key(value, source)


def from_keyring(service: str, user: str) -> str | None:
    """The password in the system's keyring, or None where the library, a keyring or the entry is missing."""
    try:
        import keyring
    except ImportError:
        return None
    try:
        found: str | None = keyring.get_password(service, user)
    except Exception:  # every desktop's keyring fails in its own way, and a key is optional
        return None
    return found


class Redactor:
    """Takes secrets out of text that is shown or stored: the known ones, and whatever looks like a key."""

    _LIKE_A_KEY = re.compile(
        r"(?i)\b(sk|pk|rk|gsk|xai|hf|nvapi)[-_][A-Za-z0-9_*.\-]{6,}"
        r"|\bAIza[A-Za-z0-9_\-]{20,}"
        r"|(?<=bearer )[^\s\"',;]+"
        r"|(?<=key provided: )[^\s\"',;]+"
    )

    def __init__(self, secrets: list[str]) -> None:
        known = {secret.strip() for secret in secrets}
        # The parts of "Bearer sk-abc…" each, as servers echo them, but not the word Bearer.
        known |= {part for secret in known for part in re.split(r"[\s_.-]", secret) if len(part) >= 8}
        known |= {base64.b64encode(secret.encode("utf-8")).decode("ascii") for secret in known}
        # Longest first, so that a secret inside another one does not leave the rest of it behind.
        self._known = sorted((secret for secret in known if len(secret) >= 4), key=len, reverse=True)

    def __repr__(self) -> str:
        return f"Redactor({len(self._known)} secrets)"

    def __call__(self, text: str) -> str:
        for secret in self._known:
            text = text.replace(secret, "[key]")
            text = _without_cut(text, secret)
        return self._LIKE_A_KEY.sub("[key]", text)


def _without_cut(text: str, secret: str) -> str:
    """`text` without the beginning of a secret inside which the message was cut off."""
    for end in range(len(secret) - 1, 3, -1):
        if text.endswith(f"{secret[:end]}…"):
            return f"{text[: -end - 1]}[key]…"
    return text
