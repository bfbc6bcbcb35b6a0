"""A stored response together with what is known of its item: the one thing that every score is a view over."""

from __future__ import annotations

from typing import NamedTuple


class Record(NamedTuple):
    """One answered row of a run, as stored. Times and sittings are kept apart: a score never depends on them.

    no: position in the run's plan. repeat: 0 is the first. answer: the source's keyed letter. order: the permutation
    shown (see `twlocal.item.permutation`). finish: a `twlocal.backend` FINISH_ constant. Token counts may be None.
    A tuple, not a frozen dataclass: that takes four times as long to make, and a report makes one for each response.
    """

    no: int
    repeat: int
    subject: str
    item_id: str
    content_hash: str
    stem_hash: str
    answer: str
    order: str
    text: str
    reasoning: str
    finish: str
    prompt_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None
    prompt_hash: str | None
    flags: tuple[str, ...] = ()
