"""What changed on the board, when and why: `history.jsonl`, a line a publication, never rewritten. Pure.

The model for it is the paper's own correction (section 5.1): for six weeks the board stated one protocol and scored by
another, and what the suite owes its readers is the record of that, with how many numbers moved and how far. So a number
that was published changes or goes only with a reason, every line holds what it replaced, and the lines replayed give
the board as it stands. Each line holds the hash of the one before it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from twlocal.bundle.strict import Malformed, parse
from twlocal.errors import TwlocalError, UsageError

NAME = "history.jsonl"
BOARD = ""  # the key of what is stated of the board as a whole
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
# What is stated of a result besides its numbers, and may be filled in or told better without a reason.
_NOTES = frozenset({"name", "engine", "engine_version", "date", "thinking", "notes", "annotations", "precision"})
_WHATS = ("added", "changed", "removed")
_KEYS = {"no", "date", "reason", "changes", "moved", "previous", "state"}

State = Mapping[str, Mapping[str, Any]]  # "model bench" → what is stated of it


class HistoryDamaged(TwlocalError):
    """The history does not hold together, so nothing can be added to it."""


@dataclass(frozen=True)
class Change:
    """One result that came, changed or went. before, now: the fields concerned (all of them where it came or went)."""

    what: str
    key: str
    before: Mapping[str, Any]
    now: Mapping[str, Any]

    @property
    def needs_reason(self) -> bool:
        """Whether a published number or what it was measured with changes or disappears."""
        return self.what == "removed" or any(name not in _NOTES for name in self.before)

    @property
    def moved(self) -> float | None:
        """By how much the strict accuracy moved, as a share of 1; None where it did not."""
        one, other = (_accuracy(side) for side in (self.before, self.now))
        if self.what != "changed" or one is None or other is None or one == other:
            return None
        return other - one

    def as_json(self) -> dict[str, Any]:
        return {"what": self.what, "key": self.key, "before": dict(self.before), "now": dict(self.now)}


def _accuracy(side: Mapping[str, Any]) -> float | None:
    value = side.get("accuracy")
    return value if isinstance(value, float) else None


@dataclass(frozen=True)
class Entry:
    """A line of the history. previous: sha256 of the line before it, "" for the first. state: see `state_hash`."""

    no: int
    date: str
    reason: str
    changes: tuple[Change, ...]
    previous: str
    state: str

    @property
    def moved(self) -> dict[str, Any]:
        """How many published strict scores moved, how many of them by over one and over ten points, and the median."""
        moves = [change.moved for change in self.changes if change.moved is not None]
        return {
            "scores": len(moves),
            "over_1_point": sum(abs(move) > 0.01 for move in moves),
            "over_10_points": sum(abs(move) > 0.1 for move in moves),
            "median_points": round(100 * median(moves), 2) if moves else None,
        }

    def line(self) -> str:
        said = {
            "no": self.no,
            "date": self.date,
            "reason": self.reason,
            "changes": [change.as_json() for change in self.changes],
            "moved": self.moved,
            "previous": self.previous,
            "state": self.state,
        }
        return json.dumps(said, ensure_ascii=False, sort_keys=True) + "\n"


def state_hash(state: State) -> str:
    """sha256 (hex) of a state as JSON with sorted keys."""
    return hashlib.sha256(json.dumps(state, ensure_ascii=False, sort_keys=True).encode("utf-8")).hexdigest()


def changes(before: State, now: State) -> tuple[Change, ...]:
    """What differs between two states, in the order of their keys."""
    found = []
    for key in sorted(before.keys() | now.keys()):
        if key not in before:
            found.append(Change("added", key, {}, now[key]))
        elif key not in now:
            found.append(Change("removed", key, before[key], {}))
        elif before[key] != now[key]:
            old, new = before[key], now[key]
            names = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
            found.append(
                Change(
                    "changed",
                    key,
                    {name: old[name] for name in names if name in old},
                    {name: new[name] for name in names if name in new},
                )
            )
    return tuple(found)


def replay(entries: Sequence[Entry]) -> State:
    """The state that the lines lead to. Raises HistoryDamaged where a line replaces what was not there."""
    state: dict[str, dict[str, Any]] = {}
    for entry in entries:
        for change in entry.changes:
            there = state.get(change.key)
            old = None if there is None else {name: there.get(name) for name in change.before}
            fits = there is None if change.what == "added" else old == change.before
            if change.what == "removed":
                fits = there == change.before
            if not fits:
                raise HistoryDamaged(
                    f"{NAME}: entry {entry.no} replaces what was not there ({change.key!r})", hint=_RESTORE
                )
            if change.what == "removed":
                del state[change.key]
            else:
                kept = {name: one for name, one in (there or {}).items() if name not in change.before}
                state[change.key] = kept | dict(change.now)
        if state_hash(state) != entry.state:
            raise HistoryDamaged(f"{NAME}: entry {entry.no} does not lead to the state it names", hint=_RESTORE)
    return state


_RESTORE = "the history is never edited: take it as it was published (git keeps it), and build again"


def read(text: str) -> list[Entry]:
    """The lines of a history. Raises HistoryDamaged, naming the line."""
    entries: list[Entry] = []
    previous = ""
    # Not splitlines(): a reason may hold U+2028.
    lines = text.split("\n")
    if lines.pop() != "":
        raise HistoryDamaged(f"{NAME}: the last line is cut off", hint=_RESTORE)
    for number, line in enumerate(lines, 1):
        try:
            entry = _entry(parse(line))
        except (Malformed, KeyError, TypeError, ValueError, AttributeError) as error:
            raise HistoryDamaged(f"{NAME}:{number}: is no entry ({error})", hint=_RESTORE) from error
        if entry.no != number or entry.previous != previous or entry.line() != line + "\n":
            raise HistoryDamaged(f"{NAME}:{number}: does not follow from the line before it", hint=_RESTORE)
        if entry.reason == "" and any(change.needs_reason for change in entry.changes):
            raise HistoryDamaged(f"{NAME}:{number}: changes a published number without a reason", hint=_RESTORE)
        entries.append(entry)
        previous = hashlib.sha256(line.encode("utf-8")).hexdigest()
    replay(entries)
    return entries


def _entry(data: Any) -> Entry:
    if set(data) != _KEYS:
        raise Malformed(f"does not hold exactly {', '.join(sorted(_KEYS))}")
    found = []
    for one in data["changes"]:
        if one["what"] not in _WHATS:
            raise Malformed(f"knows no change {one['what']!r}")
        found.append(Change(one["what"], str(one["key"]), dict(one["before"]), dict(one["now"])))
    if not all(isinstance(data[name], str) for name in ("date", "reason", "previous", "state")):
        raise Malformed("has a date, reason or hash that is no text")
    return Entry(data["no"], data["date"], data["reason"], tuple(found), data["previous"], data["state"])


def write(entries: Sequence[Entry]) -> str:
    """The lines of a history."""
    return "".join(entry.line() for entry in entries)


def extended(entries: Sequence[Entry], now: State, *, reason: str, day: str, data_day: str) -> list[Entry]:
    """The history with a line for what differs from its last state; unchanged where nothing does.

    day: when it is published, "" where nobody says. data_day: the newest day of the results, which then stands for it;
    but what takes a number back is an act of its own, and needs a day and a reason. Raises UsageError.
    """
    if day and not _DAY.fullmatch(day):
        raise UsageError(f"{day!r} is no date such as 2026-10-14")
    found = changes(replay(entries), now)
    if not found:
        return list(entries)
    grave = [change for change in found if change.needs_reason]
    if grave and not (reason.strip() and day):
        raise UsageError("\n".join(_refusal(grave)), hint="--reason TEXT and --date YYYY-MM-DD publish it all the same")
    if entries and day and day < entries[-1].date:
        raise UsageError(f"{day} lies before the last entry of the history ({entries[-1].date})")
    last = max((entries[-1].date if entries else ""), day or data_day)
    previous = hashlib.sha256(entries[-1].line().rstrip("\n").encode("utf-8")).hexdigest() if entries else ""
    entry = Entry(len(entries) + 1, last, " ".join(reason.split()), found, previous, state_hash(now))
    return [*entries, entry]


_SHOWN = 10
# What a person wants to read first of a number that would change.
_FIRST = ("reader", "protocol", "n", "accuracy", "lenient_correct", "parsed")


def _refusal(found: Sequence[Change]) -> list[str]:
    lines = ["what was published would change, and no reason is given:"]
    for change in found[:_SHOWN]:
        name = change.key or "the board"
        if change.what == "removed":
            lines.append(f"  {name} would disappear")
            continue
        names = sorted(change.before, key=lambda one: (_FIRST.index(one) if one in _FIRST else len(_FIRST), one))
        told = [f"{one} {_said(change.before[one])} → {_said(change.now.get(one))}" for one in names[:3]]
        lines.append(f"  {name}: {', '.join(told)}")
    if len(found) > _SHOWN:
        lines.append(f"  … and {len(found) - _SHOWN:,} more")
    return lines


def _said(value: Any) -> str:
    return f"{100 * value:.2f}%" if isinstance(value, float) else str(value)
