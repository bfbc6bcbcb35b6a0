"""Prove a lexicon: how often every term fires on native text, and the list it belongs to by that. Pure.

Section 4.1 of the paper: membership in the strict list requires zero fires on native prose and examination questions.
That is necessary and not enough: a rare word may fail to turn up in a small corpus, so strict also needs a person's
proposal. Candidates that nobody vouched for (OpenCC's tables) can only become review terms, or be dropped where they
are ordinary words of Taiwan or too short to be told from parts of others.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from twlocal.errors import DatasetError
from twlocal.formosa.lexicon import DROPPED, REVIEW, STRICT, Lexicon, Term, fold, is_mention

# A candidate from a table that fires more often than this is an ordinary word here.
ORDINARY = 10
# Two characters stand across the border of two words (明顯|存在, 世界|面臨) far more often than as a mainland word: a
# table's term of that length is dropped unless a person vouches for it and names such strings.
SHORT = 2
# Who proposes a candidate: STRICT, REVIEW and DROPPED by hand, or nobody (a table, or a doubt).
TABLE = "table"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A term and its proposal: STRICT, REVIEW or DROPPED by hand, TABLE where nobody vouches for it."""

    term: Term
    proposal: str


@dataclass(frozen=True, slots=True)
class Measured:
    """A term with its list, and its places on the native text: used, excepted, mentioned."""

    term: Term
    fires: int
    excepted: int
    mentioned: int
    examples: tuple[str, ...] = ()


def by_hand(text: str) -> list[Candidate]:
    """The candidates of `candidates.toml`: [term, Taiwan's word, exceptions …] by proposal."""
    import tomllib

    table = tomllib.loads(text)
    return [
        Candidate(Term(word, taiwan, REVIEW, tuple(exceptions)), proposal)
        for name, proposal in ((STRICT, STRICT), (REVIEW, REVIEW), ("doubtful", TABLE), ("ordinary", DROPPED))
        for word, taiwan, *exceptions in table.get(name, ())
    ]


def from_table(text: str, place: str) -> tuple[list[Candidate], list[str]]:
    """Candidates of an OpenCC phrase table (`term<TAB>Taiwan's words`), and the strings that it leaves as they are.

    An entry that maps to itself alone (海內存知己) is a longer word in which a term is none: an exception, not a term.
    Raises DatasetError for a line without a tab.
    """
    found: list[Candidate] = []
    kept: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        word, tab, targets = line.partition("\t")
        if not tab or not word or not targets:
            raise DatasetError(f"{place}:{number} is no entry of a phrase table", hint="term<TAB>what Taiwan says")
        if targets.split() == [word]:
            kept.append(word)
        else:
            found.append(Candidate(Term(word, targets.strip(), REVIEW), TABLE))
    return found, kept


def merge(hand: Iterable[Candidate], tables: Iterable[Candidate], kept: Sequence[str] = ()) -> list[Candidate]:
    """All candidates, by hand before tables, each once, in the order of their text; `kept` become exceptions."""
    merged: dict[str, Candidate] = {}
    for candidate in (*hand, *tables):
        merged.setdefault(fold(candidate.term.text), candidate)
    found = []
    for word, candidate in merged.items():
        more = tuple(phrase for phrase in kept if word in fold(phrase) and phrase not in candidate.term.exceptions)
        found.append(replace(candidate, term=replace(candidate.term, exceptions=candidate.term.exceptions + more)))
    return sorted(found, key=lambda candidate: candidate.term.text)


def measure(candidates: Sequence[Candidate], texts: Iterable[str], examples: int = 3) -> list[Measured]:
    """Every candidate's fires over the native texts, and the list that follows from them."""
    everything = Lexicon(replace(candidate.term, level=REVIEW) for candidate in candidates)
    words = [(fold(candidate.term.text), candidate.term.text) for candidate in candidates]
    fires: Counter[str] = Counter()
    stood: Counter[str] = Counter()
    mentioned: Counter[str] = Counter()
    seen: dict[str, list[str]] = {}
    for text in texts:
        for hit in everything.find(text):
            name = hit.term.text
            fires[name] += 1
            shown = seen.setdefault(name, [])
            if len(shown) < examples:
                shown.append(" ".join(text[max(0, hit.start - 8) : hit.end + 8].split()))
        folded = fold(text)
        for word, name in words:
            at = folded.find(word)
            while at != -1:
                stood[name] += 1
                mentioned[name] += is_mention(folded, at, at + len(word))
                at = folded.find(word, at + len(word))
    return [
        Measured(
            replace(candidate.term, level=_level(candidate, fires[candidate.term.text])),
            fires[name := candidate.term.text],
            stood[name] - fires[name] - mentioned[name],
            mentioned[name],
            tuple(seen.get(name, ())),
        )
        for candidate in candidates
    ]


def _level(candidate: Candidate, fires: int) -> str:
    if candidate.proposal == STRICT and not fires:
        return STRICT
    unvouched = candidate.proposal == TABLE and (fires > ORDINARY or len(candidate.term.text) == SHORT)
    if candidate.proposal == DROPPED or unvouched:
        return DROPPED
    return REVIEW


def write(measured: Sequence[Measured], heading: Sequence[str]) -> str:
    """The lexicon as TOML: strict, review and dropped terms, each with its counts. Same input, same bytes."""
    lines = [f"# {line}".rstrip() for line in heading]
    for level in (STRICT, REVIEW, DROPPED):
        lines += ["", f"{level} = ["]
        lines += [f"  {_row(entry)}," for entry in measured if entry.term.level == level]
        lines.append("]")
    return "\n".join(lines) + "\n"


def _row(entry: Measured) -> str:
    cells = [f"term = {_quoted(entry.term.text)}", f"taiwan = {_quoted(entry.term.taiwan)}"]
    if entry.term.exceptions:
        cells.append(f"except = [{', '.join(map(_quoted, entry.term.exceptions))}]")
    cells.append(f"fires = {entry.fires}")
    cells += [f"{name} = {count}" for name in ("excepted", "mentioned") if (count := getattr(entry, name))]
    return "{ " + ", ".join(cells) + " }"


def _quoted(text: str) -> str:
    # A JSON string is a TOML basic string.
    return json.dumps(text, ensure_ascii=False)
