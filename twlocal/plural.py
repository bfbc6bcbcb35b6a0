"""Counts in English sentences: 1 row, 2 rows. Pure."""

from __future__ import annotations


def counted(count: int, noun: str, several: str = "") -> str:
    """A count with its noun as English has it: 0 rows, 1 row, 1,234 rows. several: a plural that is not noun + s."""
    return f"{count:,} {noun if count == 1 else several or noun + 's'}"


class Count(int):
    """A number that a template may ask for with a noun: `"{n:row}".format(n=Count(1))` is "1 row"."""

    def __format__(self, spec: str) -> str:
        """As of int; a spec of words, the first of two letters or more, is a noun."""
        noun = len(spec) > 1 and spec.replace(" ", "").isalpha()
        return counted(self, spec) if noun else super().__format__(spec)
