"""What a reply that is not an answer means: ask again, stop the run, or give up this one item. Pure."""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from twlocal.backends.http import limits
from twlocal.backends.http.parse import Answer

SHOWN = 500  # characters of a server's own words that a message repeats


class Kind(enum.Enum):
    """What to do about one reply."""

    ANSWER = "answer"
    FILTERED = "filtered"  # a content filter stopped the request: the item is answered, with nothing
    TOO_LONG = "too long"  # this item does not fit
    REJECTED = "rejected"  # a 4xx about this request: a parameter, or the item
    RETRY = "retry"
    THROTTLED = "throttled"  # retry, and ask less at once
    FATAL = "fatal"  # asking again cannot help
    TRANSPORT = "transport"  # no whole reply came: retry
    UNREACHABLE = "unreachable"  # not even a connection: retry
    TIMEOUT = "timeout"  # retry, but not often: each try costs the whole timeout
    CUT = "cut"  # a stream that broke off: retry


@dataclass(frozen=True, slots=True)
class Trouble:
    """An error body in whatever dialect: its words, its code words, the parameters it names, a status inside it."""

    message: str
    codes: tuple[str, ...] = ()
    params: tuple[str, ...] = ()
    status: int | None = None

    @property
    def words(self) -> str:
        """Everything that it says, for searching."""
        return " ".join((*self.codes, self.message))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one reply was. `answer` is set for ANSWER; `answer.text` may hold what came of a stream that was CUT.

    wait: seconds that the server asks us to wait, None where it does not.
    """

    kind: Kind
    message: str = ""
    status: int = 0
    trouble: Trouble | None = None
    answer: Answer | None = field(default=None, repr=False)
    wait: float | None = None


_FATAL = {401, 402, 403, 404, 405, 407, 410, 451}
_THROTTLE = {429, 529}
_RETRY = {408, 409, 423, 425}
_UNPAID = re.compile(
    r"insufficient[ _](quota|balance|funds|credits?)|billing_(hard_limit|not_active)|credit balance|out of credits"
    r"|payment required|exceeded your current quota|arrearage|餘額不足|余额不足|欠費|欠费"
    r"|(usage|spending|spend|monthly|weekly) limits?\b|credits? (exhausted|depleted)|[額额]度(不足|已?用[完盡尽])",
    re.IGNORECASE,
)
# Gemini says "exceeded your current quota" of a limit a minute, and gives this status with it.
_MINUTE_QUOTA = re.compile(r"RESOURCE_EXHAUSTED|(per|a) (minute|second|hour)|\b[RT]PM\b", re.IGNORECASE)
_WRONG_KEY = re.compile(
    r"authentication_error|invalid[ _]api[ _]?key|invalid_authentication|incorrect api key|api key not valid"
    r"|unauthori[sz]ed|login fail|permission_(denied|error)|invalid token",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(
    r"model_not_found|model[^.]{0,80}(does not exist|not found|not exist)|no such model|unknown model", re.IGNORECASE
)
_BUSY = re.compile(
    r"rate[ _]?limit|too many requests|overloaded|RESOURCE_EXHAUSTED|throttl|concurrency limit", re.IGNORECASE
)
_PASSING = re.compile(
    r"internal|server[ _]error|time[ -]?out|timed out|unavailable|try again|temporar"
    r"|capacity|loading|upstream|bad gateway|high traffic|regenerate|繁忙|稍[後后候]|請重試|请重试",
    re.IGNORECASE,
)
# Chat templates without a system role, and services that take none. "Must alternate" is what templates say that expect
# a user's turn first: our turns do alternate, so it can only mean the system's. llama.cpp's server says it with a 500.
_NO_SYSTEM = re.compile(
    r"system role (is )?not supported|not support (the )?system (role|message|prompt|instruction)"
    r"|not support ['\"`]?system\b|only user(,| and) (assistant|model)\b.{0,20}roles? (are|is) supported"
    r"|roles must alternate|developer instruction is not enabled",
    re.IGNORECASE,
)
# A large model takes minutes to load: longer than a passing fault is worth.
_LOADING = re.compile(
    r"loading (the )?model|model (is )?(still |currently |being )*load(ing|ed)|warming up|still starting"
    r"|模型[載加][入载]",
    re.IGNORECASE,
)
_PER_REQUEST = re.compile(r"request too large", re.IGNORECASE)


def is_html(body: bytes, content_type: str) -> bool:
    """Whether a body is a web page, whatever its header says."""
    start = body[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return start.startswith((b"<!doctype", b"<html", b"<head", b"<body", b"<?xml", b"<!--")) or (
        "html" in content_type.lower() and not start.startswith((b"{", b"["))
    )


def plain(body: bytes, limit: int = SHOWN) -> str:
    """The words of a body, for a message: a page's title, or the text without its tags."""
    text = body[:20000].decode("utf-8", "replace")
    if found := re.search(r"(?is)<title[^>]*>(.*?)</title>", text):
        text = found[1]
    elif "<" in text and is_html(body, ""):
        text = re.sub(r"(?is)<(script|style).*?</\1>|<[^>]*>", " ", text)
    return shorten(text, limit)


def shorten(text: str, limit: int = SHOWN) -> str:
    """One line of at most `limit` characters, without control characters."""
    text = " ".join("".join(char if char.isprintable() else " " for char in text[: 4 * limit]).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def read_trouble(data: Any) -> Trouble | None:
    """The error in a JSON body, or None where it holds none. Knows the dialects of the common servers."""
    if isinstance(data, list) and data and isinstance(data[0], Mapping):
        data = data[0]  # Gemini wraps it in a list
    if not isinstance(data, Mapping):
        return None
    for name in ("error", "errors", "detail", "base_resp"):
        inner = data.get(name)
        if not inner:
            continue
        if isinstance(inner, list) and all(isinstance(part, Mapping) for part in inner):
            return _validation(inner)
        if isinstance(inner, Mapping):
            return _from_mapping(inner, data)
        return _from_mapping({"message": str(inner)}, data)
    if any(isinstance(data.get(name), str) for name in _MESSAGES):
        return _from_mapping(data, data)
    return None


_MESSAGES = ("message", "msg", "error_msg", "errmsg", "status_msg", "detail", "error_description")
_CODES = ("code", "type", "status", "status_code", "error_code", "errcode", "error_type")


def _from_mapping(inner: Mapping[str, Any], outer: Mapping[str, Any]) -> Trouble:
    words = [value for name in _MESSAGES if isinstance(value := inner.get(name), str)]
    if not words and isinstance(inner.get("message"), Mapping | list):
        words = [json.dumps(inner["message"], ensure_ascii=False)]
    metadata = inner.get("metadata")
    if isinstance(metadata, Mapping):  # OpenRouter puts the provider's own words here
        words += [str(value) for name, value in metadata.items() if name in ("raw", "reasons") and value]
    if not words:
        words = [json.dumps(inner, ensure_ascii=False, default=str)]
    codes, status = [], None
    for source in (inner, outer):
        for name in _CODES:
            value = source.get(name)
            if isinstance(value, str | int) and not isinstance(value, bool):
                number = int(value) if str(value).isascii() and str(value).isdigit() and len(str(value)) == 3 else None
                if number is not None and 300 <= number <= 599:
                    status = status or number
                elif isinstance(value, str) and value not in codes:
                    codes.append(value)
    params = [inner["param"]] if isinstance(inner.get("param"), str) else []
    return Trouble(" ".join(dict.fromkeys(words)), tuple(codes), tuple(params), status)


def _validation(parts: Iterable[Mapping[str, Any]]) -> Trouble:
    """FastAPI's list of {loc, msg, type}."""
    messages, params, codes = [], [], []
    for part in parts:
        place = [str(step) for step in part.get("loc") or () if step != "body"]
        message = str(part.get("msg") or part.get("message") or part.get("detail") or "")
        messages.append(f"{'.'.join(place)}: {message}" if place else message)
        params += place[:1]
        codes += [str(part[name]) for name in ("type", "code") if part.get(name)]
    return Trouble("; ".join(messages), tuple(codes), tuple(params))


def no_system_role(trouble: Trouble) -> bool:
    """Whether the system turn is what a server does not take."""
    return bool(_NO_SYSTEM.search(trouble.words))


def unpaid(words: str) -> bool:
    """Whether an error says that money or an allowance is spent, which no wait of minutes gives back."""
    return bool(_UNPAID.search(words)) and not _MINUTE_QUOTA.search(words)


def judge_error(status: int, trouble: Trouble) -> Verdict:
    """What an error reply means. `status` is HTTP's; one inside the body counts where HTTP's says that all is well."""
    if status < 300:
        status = trouble.status or status
    words = trouble.words

    def verdict(kind: Kind) -> Verdict:
        return Verdict(kind, shorten(trouble.message), status, trouble)

    if status in (429, 413) and _PER_REQUEST.search(words):
        return verdict(Kind.TOO_LONG)
    if unpaid(words):
        return verdict(Kind.FATAL)
    if status not in _THROTTLE | _RETRY | _FATAL and limits.too_long(words):
        return verdict(Kind.TOO_LONG)
    if (status < 500 and status not in (401, 404, 429)) and limits.filtered(words):
        return verdict(Kind.FILTERED)
    if status in (400, 403) and _BUSY.search(words):
        return verdict(Kind.THROTTLED)  # Bedrock's gateways, GitHub's models
    if status in _FATAL or 300 <= status < 400:
        return verdict(Kind.FATAL)
    if (status < 300 or status == 503) and _LOADING.search(words):
        return verdict(Kind.THROTTLED)
    if status in _THROTTLE:
        return verdict(Kind.THROTTLED)
    if status >= 500 and no_system_role(trouble):
        return verdict(Kind.REJECTED)
    if status in _RETRY or status >= 500:
        return verdict(Kind.RETRY)
    if status == 413:
        return verdict(Kind.TOO_LONG)
    if _WRONG_KEY.search(words) or _NO_MODEL.search(words) or limits.budget(words):
        return verdict(Kind.FATAL)
    if status >= 400:
        return verdict(Kind.REJECTED)
    if _BUSY.search(words):
        return verdict(Kind.THROTTLED)
    if _PASSING.search(words):
        return verdict(Kind.RETRY)
    return verdict(Kind.FATAL)  # an error under status 200 that nobody can place


def judge_status(status: int, body: bytes, content_type: str, location: str = "") -> Verdict:
    """What a reply with an error status means."""
    if 300 <= status < 400:
        return Verdict(Kind.FATAL, f"redirected to {shorten(location, 200) or 'another place'}", status)
    trouble = None
    if not is_html(body, content_type):
        try:
            trouble = read_trouble(json.loads(body))
        except (ValueError, RecursionError):
            trouble = None
    elif status < 500 and status not in _THROTTLE | _RETRY | {413}:
        # A web page where an API should be: no item is to blame.
        return Verdict(Kind.FATAL, f"a web page ({plain(body, 120)})", status)
    return judge_error(status, trouble or Trouble(plain(body)))
