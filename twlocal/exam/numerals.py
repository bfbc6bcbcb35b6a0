"""Numbers as papers and keys write them: 25, 二十五, 百."""

from __future__ import annotations

HAN = "[一二三四五六七八九十百]{1,5}"  # a regular expression
_VALUES = {digit: value for value, digit in enumerate("一二三四五六七八九", 1)}
_UNITS = {"十": 10, "百": 100}


def numeral(text: str) -> int:
    """The value of ASCII digits or of a Chinese numeral of ones, tens and hundreds.

    Raises KeyError for any other character.
    """
    if text.isascii() and text.isdecimal():
        return int(text)
    total = ones = 0
    for char in text:
        if unit := _UNITS.get(char):
            total, ones = total + (ones or 1) * unit, 0
        else:
            ones = _VALUES[char]
    return total + ones
