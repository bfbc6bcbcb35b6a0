"""What a paper examines, from its title: the rules of `subjects.toml` applied (the paper's section 3.1).

Papers are grouped by what they examine, not by who sat them: 148 subjects in 19 fields. The Ministry prints the same
title with half- and full-width brackets, with ㈠ or （一）, with or without the list of what is included, and at four
levels (概論, 概要, 大意, none). All of that is folded away before a rule looks, and only for the looking: a title is
kept as printed. Matching is pure; only `Rules.load` reads a file.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from twlocal.errors import UsageError

_BRACKETS = str.maketrans("[]{}【】〔〕〖〗〘〙〈〉", "()" * 7)
_INVISIBLE = re.compile(r"[\s\u00ad\u200b-\u200f\u2060\ufeff]+")
_NUMERALS = "一二三四五六七八九"
# ㄧ is the phonetic letter, which typists take for 一.
_PART = re.compile(rf"\(([{_NUMERALS}ㄧ1-9])\)")
_LEVEL = re.compile("概要|大意|概論")
_SLUG = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_SUBJECT_KEYS = {"zh", "field", "first", "head", "unless"}
_EXCLUSION_KEYS = {"name", "step", "reason", "text", "head", "unless"}

COMBINED = "combined"
ESSAY_ONLY = "essay_only"


class SubjectRulesError(UsageError):
    """The rules from titles to subjects do not hold together."""


@dataclass(frozen=True)
class Subject:
    """A subject: its slug (snake_case English), its Chinese title and the slug of its field."""

    slug: str
    zh: str
    field: str


@dataclass(frozen=True)
class Match:
    """What one title examines. Exactly one of three holds: `subject`, `exclusion`, or `unknown`.

    `subjects` has one slug, or none, or all those a `combined` paper examines. `rule` names the rule that decided
    (`civil_law.head`, `essay_only.before`), None when unknown. `field` is the field's slug, None without a subject.
    """

    title: str
    subjects: tuple[str, ...] = ()
    exclusion: str | None = None
    rule: str | None = None
    field: str | None = None

    @property
    def subject(self) -> str | None:
        """The slug, when the paper examines exactly one subject."""
        return self.subjects[0] if self.exclusion is None and self.subjects else None

    @property
    def unknown(self) -> bool:
        """No rule knows this title: it is for a person to look at."""
        return self.rule is None


def normalised(title: str) -> str:
    """`title` made comparable: NFKC, no blanks, round half-width brackets, 臺 for 台, a part number as one numeral."""
    text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", title)).translate(_BRACKETS).replace("台", "臺")
    return _PART.sub(lambda part: _numeral(part[1]), text)


def _numeral(digit: str) -> str:
    return "一" if digit == "ㄧ" else _NUMERALS[int(digit) - 1] if digit.isdigit() and digit.isascii() else digit


def head(title: str) -> str:
    """What stands outside brackets in `title`, normalised, without the words that only tell the level.

    A bracket that never closes reaches to the end (the Ministry cuts long titles off); one that never opened is
    dropped.
    """
    kept: list[str] = []
    depth = 0
    for character in normalised(title):
        if character == "(":
            depth += 1
        elif character == ")":
            depth = max(0, depth - 1)
        elif depth == 0:
            kept.append(character)
    return _LEVEL.sub("", "".join(kept))


@dataclass(frozen=True)
class _SubjectRule:
    subject: Subject
    first: re.Pattern[str] | None
    head: re.Pattern[str] | None
    unless: re.Pattern[str] | None


@dataclass(frozen=True)
class _ExclusionRule:
    name: str
    step: str
    reason: str
    text: re.Pattern[str] | None
    head: re.Pattern[str] | None
    unless: re.Pattern[str] | None

    def takes(self, text: str, head: str) -> bool:
        return (_found(self.text, text) or _found(self.head, head)) and not _found(self.unless, text)


@dataclass(frozen=True)
class Rules:
    """All rules. `fields` maps a field's slug to its Chinese name; `subjects` are in the order of the file."""

    fields: Mapping[str, str]
    subjects: tuple[Subject, ...]
    _subject_rules: tuple[_SubjectRule, ...]
    _exclusion_rules: tuple[_ExclusionRule, ...]

    @classmethod
    def load(cls, path: Path | None = None) -> Rules:
        """The bundled rules, or those in the TOML file `path`. Raises SubjectRulesError, naming the place."""
        source = files("twlocal.exam").joinpath("subjects.toml") if path is None else path
        try:
            text = source.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SubjectRulesError(f"cannot read the subject rules in {source}: {error}") from error
        return cls.parse(text)

    @classmethod
    def parse(cls, text: str) -> Rules:
        """Rules from TOML text. Raises SubjectRulesError, naming the subject or exclusion and the key."""
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise SubjectRulesError(f"the subject rules are not valid TOML: {error}") from error
        fields = data.get("fields", {})
        rules = tuple(_subject_rule(slug, table, fields) for slug, table in data.get("subjects", {}).items())
        if not rules:
            raise SubjectRulesError("the subject rules name no subject", hint="add a table [subjects.<slug>]")
        exclusions = tuple(_exclusion_rule(number, table) for number, table in enumerate(data.get("exclusions", []), 1))
        return cls(fields, tuple(rule.subject for rule in rules), rules, exclusions)

    @cached_property
    def exclusions(self) -> dict[str, str]:
        """Name of each exclusion → why such papers are left out (the first reason where several rules share a name)."""
        reasons: dict[str, str] = {}
        for rule in self._exclusion_rules:
            reasons.setdefault(rule.name, rule.reason)
        reasons.setdefault(COMBINED, "the paper examines several subjects")
        return reasons

    def match(self, title: str, *, keyed: bool = False) -> Match:
        """What `title` examines. Never raises; the file's head tells the order of the steps.

        `keyed` says that an answer key is published for the paper. It then has options whatever its title says, so
        `essay_only` is refuted, and a title that only this exclusion knew becomes unknown instead of getting lost.
        """
        text, outside = normalised(title), head(title)
        if (excluded := self._excluded("before", text, outside, keyed)) is not None:
            return Match(title, exclusion=excluded.name, rule=f"{excluded.name}.before")
        firsts = [rule for rule in self._subject_rules if _found(rule.first, text)]
        if firsts:
            return _decided(title, firsts, "first")
        heads = [rule for rule in self._subject_rules if _found(rule.head, outside) and not _found(rule.unless, text)]
        if heads:
            return _decided(title, heads, "head")
        if (excluded := self._excluded("after", text, outside, keyed)) is not None:
            return Match(title, exclusion=excluded.name, rule=f"{excluded.name}.after")
        return Match(title)

    def _excluded(self, step: str, text: str, outside: str, keyed: bool) -> _ExclusionRule | None:
        for rule in self._exclusion_rules:
            if rule.step == step and not (keyed and rule.name == ESSAY_ONLY) and rule.takes(text, outside):
                return rule
        return None


def _found(pattern: re.Pattern[str] | None, text: str) -> bool:
    return pattern is not None and pattern.search(text) is not None


def _decided(title: str, rules: list[_SubjectRule], step: str) -> Match:
    slugs = tuple(rule.subject.slug for rule in rules)
    if len(slugs) > 1:
        return Match(title, slugs, exclusion=COMBINED, rule=f"{COMBINED}.{step}")
    return Match(title, slugs, rule=f"{slugs[0]}.{step}", field=rules[0].subject.field)


def _subject_rule(slug: str, table: Any, fields: Mapping[str, str]) -> _SubjectRule:
    where = f"subjects.{slug}"
    if not _SLUG.fullmatch(slug):
        raise SubjectRulesError(f"{where}: a slug is written in snake_case, a to z and digits")
    _only(where, table, _SUBJECT_KEYS)
    zh, field = _text(where, table, "zh"), _text(where, table, "field")
    if field not in fields:
        raise SubjectRulesError(f"{where}: there is no field {field!r}", hint=f"fields: {', '.join(fields)}")
    first, outside = _pattern(where, table, "first"), _pattern(where, table, "head")
    if first is None and outside is None:
        raise SubjectRulesError(f"{where}: no rule leads to it", hint="give it `head` or `first`")
    return _SubjectRule(Subject(slug, zh, field), first, outside, _pattern(where, table, "unless"))


def _exclusion_rule(number: int, table: Any) -> _ExclusionRule:
    where = f"exclusions number {number}"
    _only(where, table, _EXCLUSION_KEYS)
    step = _text(where, table, "step")
    if step not in ("before", "after"):
        raise SubjectRulesError(f"{where}: step is {step!r}, not 'before' or 'after'")
    text, outside = _pattern(where, table, "text"), _pattern(where, table, "head")
    if text is None and outside is None:
        raise SubjectRulesError(f"{where}: nothing to look for", hint="give it `text` or `head`")
    name, reason = _text(where, table, "name"), _text(where, table, "reason")
    return _ExclusionRule(name, step, reason, text, outside, _pattern(where, table, "unless"))


def _only(where: str, table: Any, known: Iterable[str]) -> None:
    if not isinstance(table, dict):
        raise SubjectRulesError(f"{where}: not a table")
    if strange := sorted(set(table) - set(known)):
        raise SubjectRulesError(f"{where}: unknown {', '.join(strange)}", hint=f"known: {', '.join(sorted(known))}")


def _text(where: str, table: Mapping[str, Any], key: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        raise SubjectRulesError(f"{where}: {key} is missing or not text")
    return value


def _pattern(where: str, table: Mapping[str, Any], key: str) -> re.Pattern[str] | None:
    """All expressions of `key` as one alternation; None when the key is not there."""
    if key not in table:
        return None
    expressions = table[key]
    if not isinstance(expressions, list) or not expressions or not all(isinstance(each, str) for each in expressions):
        raise SubjectRulesError(f"{where}: {key} is not a list of regular expressions")
    for expression in expressions:
        try:
            re.compile(expression)
        except re.error as error:
            raise SubjectRulesError(
                f"{where}: {key} has {expression!r}, which is no regular expression: {error}"
            ) from error
    return re.compile("|".join(f"(?:{each})" for each in expressions))
