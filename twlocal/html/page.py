"""Templates → pages that need nothing beside themselves."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from twlocal.html import numbers, words

if TYPE_CHECKING:
    from jinja2 import Environment

# Nothing is fetched, and only the scripts that the page was made with run: one that got into a page runs not.
_POLICY = {
    "default-src": "'none'",
    "style-src": "'unsafe-inline'",
    "img-src": "data:",
    "base-uri": "'none'",
    "form-action": "'none'",
}


def environment(*packages: str, lang: str = "zh-TW") -> Environment:
    """Jinja2 with everything escaped, and an undefined name an error.

    packages: whose folder `templates` is searched before the shared one (as in `twlocal.report`). lang: the language a
    page opens in for whoever never chose one, "zh-TW" or "en".
    In templates: `t(zh, en)`, `plain(text)`, `attribute(name, text)`, `lang`, the filters `percent`, `between`,
    `count`, and `tojson`, which is safe inside `<script>`.
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    env = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in (*packages, "twlocal.html")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.globals.update(
        t=words.t,
        plain=partial(words.plain, lang=lang),
        attribute=partial(words.attribute, lang=lang),
        lang=lang,
    )
    env.filters.update(percent=numbers.percent, between=numbers.between, count=numbers.count)
    env.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    return env


def asset(name: str, package: str = "twlocal.html") -> str:
    """A style or a script from a package's folder `templates`."""
    return (files(package) / "templates" / name).read_text(encoding="utf-8")


def render(env: Environment, template: str, **values: Any) -> str:
    """A page as one string. See `stream`."""
    return "".join(stream(env, template, **values))


def stream(
    env: Environment,
    template: str,
    *,
    scripts: Sequence[str] = (),
    styles: Sequence[str] = (),
    allow: Mapping[str, str] | None = None,
    **values: Any,
) -> Iterator[str]:
    """A page that extends `base.html.j2`, piece by piece: a value that is an iterator is never held as a whole.

    scripts, styles: sources (see `asset`) put into the page after the shared ones. allow: what the page's security
    policy lets it do beyond nothing, such as `{"connect-src": "'self'"}` for one that is served. values: the
    template's; `title`, a Text, is needed by every page.
    """
    early, late = [asset("early.js")], [asset("page.js"), *scripts]
    policy = _POLICY | {"script-src": " ".join(map(_source_hash, (*early, *late)))} | dict(allow or {})
    yield from env.get_template(template).generate(
        policy="; ".join(f"{name} {value}" for name, value in policy.items()),
        styles=[asset("style.css"), *styles],
        early=early,
        scripts=late,
        **values,
    )


def _source_hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
