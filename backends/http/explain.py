"""Errors that stop a run, in words that name the server, the likely cause and the way out. Pure."""

from __future__ import annotations

from urllib.parse import urlsplit

from twlocal.backends.http import limits
from twlocal.backends.http.address import Address
from twlocal.backends.http.errors import Verdict, unpaid
from twlocal.errors import ConfigurationError


def configuration(
    address: Address, verdict: Verdict, key_source: str, listed: tuple[str, ...] = ()
) -> ConfigurationError:
    """Why asking further cannot help. `key_source` says where the key came from, `listed` which models are served."""
    base, status, said = address.base, verdict.status, verdict.message
    words = verdict.trouble.words if verdict.trouble else said
    number = f" ({status})" if status else ""
    if said.startswith("a web page") or 300 <= status < 400:
        did = said if 300 <= status < 400 else f"answered with {said}"
        return ConfigurationError(f"{base} is not an API: {did}{number}", hint=_path_hint(base))
    if limits.budget(words):
        return ConfigurationError(f"{base} refuses the token budget{number}: {said}", hint="set a smaller --max-tokens")
    if status == 401 or (status in (400, 403) and "key" in said.lower()):
        return ConfigurationError(
            f"{base} refuses the API key{number}: {said}",
            hint=f"set TWLOCAL_API_KEY, or api_key_env to the variable that holds the key (it came from: {key_source})",
        )
    if status in (402, 429) or unpaid(words):
        return ConfigurationError(
            f"{base} wants to be paid, or an allowance there is spent{number}: {said}",
            hint="top up the account, or come back later, then run the same command: what was answered is kept",
        )
    if status == 403:
        return ConfigurationError(f"{base} refuses access{number}: {said}", hint=f"the key came from: {key_source}")
    if status in (404, 405, 410):
        known = f"; it serves {', '.join(listed[:8])}" if listed and address.model not in listed else ""
        return ConfigurationError(
            f"{base} has no chat completions, or no model {address.model!r}{number}: {said}{known}",
            hint=_path_hint(base) if not known else "name one of these after # in the model string",
        )
    return ConfigurationError(f"{base} cannot be used{number}: {said}")


def unreachable(address: Address, message: str, proxy: str | None) -> ConfigurationError:
    """Nothing has answered there, not once."""
    way = f" (asked through the proxy {urlsplit(proxy).hostname})" if proxy else ""
    return ConfigurationError(
        f"nothing answers at {address.base}{way}: {message}",
        hint="start the server, or correct the address: http://host:port/v1#model-name",
    )


def _path_hint(base: str) -> str:
    if not urlsplit(base).path.rstrip("/").endswith(("/v1", "/v2", "/v3", "/v4", "/openai")):
        return f"is the address right? most servers want /v1 at its end: {base}/v1#model-name"
    return "is the address right, and the model's name after #?"
