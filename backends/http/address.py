"""`http(s)://host[:port][/v1]#model-name`, taken apart. Pure."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from twlocal.errors import UsageError

_EXAMPLE = "write it as http://localhost:8000/v1#model-name"
_ENDPOINT = re.compile(r"/(chat/)?completions$")
_SECRET_NAMES = re.compile(r"(?i)key|token|secret|passw|sig(nature)?$|auth|credential")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is. `base` has no slash at its end; `query` (such as Azure's api-version) goes with every one."""

    base: str
    query: str
    host: str
    model: str

    def url(self, path: str) -> str:
        """The address of an endpoint, such as "chat/completions"."""
        return f"{self.base}/{path}" + (f"?{self.query}" if self.query else "")

    @property
    def encrypted(self) -> bool:
        """Whether what is sent there cannot be read on the way."""
        return self.base.startswith("https:")

    @property
    def loopback(self) -> bool:
        """This very machine: never reached through a proxy."""
        if self.host == "localhost" or self.host.endswith(".localhost"):
            return True
        ip = _ip(self.host)
        return ip is not None and (ip.is_loopback or ip.is_unspecified)

    @property
    def local(self) -> bool:
        """This machine or one beside it (a private address, a bare or .local name): a server of the user's own."""
        ip = _ip(self.host)
        if ip is not None:
            return ip.is_private or ip.is_link_local or ip.is_loopback
        return self.loopback or "." not in self.host or self.host.endswith((".local", ".lan", ".internal"))


def _ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def parse(text: str) -> Address:
    """The address in a model string; `model` is "" when it names none.

    A path is kept as given, an empty one becomes /v1, a whole `…/chat/completions` is cut back. Raises UsageError;
    its message never repeats a password.
    """
    location, _, model = text.strip().partition("#")
    try:
        parts = urlsplit(location)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise UsageError(f"the server's address cannot be read: {error}", hint=_EXAMPLE) from None
    if "@" in parts.netloc:
        raise UsageError(
            "a user name or password in the server's address would be stored with every run",
            hint="take it out, and set TWLOCAL_API_KEY or the setting `headers` instead",
        )
    if parts.scheme not in ("http", "https"):
        raise UsageError(f"not the address of a server: {location!r}", hint=_EXAMPLE)
    if not host or re.search(r"\s", location) or port == 0:
        raise UsageError(f"the address {location!r} names no host that could be reached", hint=_EXAMPLE)
    for name, _value in parse_qsl(parts.query):
        if _SECRET_NAMES.search(name):
            raise UsageError(
                f"{name!r} in the server's address would be stored with every run",
                hint="take it out, and set TWLOCAL_API_KEY or the setting `headers` instead",
            )
    path = _ENDPOINT.sub("", parts.path.rstrip("/")).rstrip("/") or "/v1"
    return Address(f"{parts.scheme}://{parts.netloc}{path}", parts.query, host.lower(), model.strip())


def proxy(address: Address, environ: Mapping[str, str]) -> str | None:
    """The proxy that the environment names for this address (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY), if any."""
    if address.loopback:
        return None

    def named(name: str) -> str:
        return environ.get(name.lower()) or environ.get(name.upper()) or ""

    if _bypassed(address.host, named("no_proxy")):
        return None
    found = named("https_proxy" if address.encrypted else "http_proxy") or named("all_proxy")
    if not found:
        return None
    found = found if "://" in found else f"http://{found}"
    if not found.startswith(("http://", "https://")):
        raise UsageError(
            f"a {found.partition(':')[0]} proxy is set in the environment; only HTTP proxies work here",
            hint=f"put {address.host} into NO_PROXY, or name an HTTP proxy",
        )
    return found


def _bypassed(host: str, no_proxy: str) -> bool:
    """Whether NO_PROXY names a host: itself, a domain above it, or `*`. A port in it is not looked at."""
    entries = [re.sub(r":\d+$", "", entry.strip().lower()) for entry in no_proxy.split(",")]
    names = [entry.lstrip("*").lstrip(".") if entry != "*" else entry for entry in entries]
    return any(name == "*" or host == name or host.endswith(f".{name}") for name in names if name)
