"""Stage `permute`: the options of an item in an order drawn from the hash of its window. Pure.

Section 4.1 of the paper: the generator put the right answer in A 84% of the time; options are permuted by a hash of
each item's source window. The draw is the protocol's (`twlocal.item.permutation`), seeded by the window instead of the
stem.
"""

from __future__ import annotations

from twlocal.formosa.drafts import Draft
from twlocal.item import LABELS, Item, permutation, shown_letter


def order(window: str, no: int = 0) -> str:
    """The draft's letters in their new order, for draft `no` (from 0) of the window with this hash."""
    return permutation(window, no)


def permuted(draft: Draft, no: int = 0) -> Item:
    """The draft as an item, its key moved along by position, never by text. The draft must be well-formed."""
    letters = order(draft.window, no)
    a, b, c, d = (draft.options[LABELS.index(letter)] for letter in letters)
    return Item(draft.question, (a, b, c, d), shown_letter(draft.answer, letters))
