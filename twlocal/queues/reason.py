"""Why an item of a queue did not run, in both languages. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from twlocal.errors import NoEngine, TwlocalError


@dataclass(frozen=True)
class Reason:
    """One sentence in English, and in Chinese where it has words of ours; an engine's own words stay as they are."""

    en: str
    zh: str = ""

    def said(self, lang: str) -> str:
        """The sentence in this language."""
        return self.zh if self.zh and lang == "zh-TW" else self.en

    def stored(self) -> str:
        """As the database keeps it: English in the first line, Chinese in the second, where there is any."""
        lines = (" ".join(text.split()) for text in (self.en, self.zh))
        return "\n".join(filter(None, lines))


def read(stored: str) -> Reason:
    """A stored reason; those of earlier versions are one line in English."""
    en, _, zh = stored.partition("\n")
    return Reason(en, zh)


def of_error(error: TwlocalError) -> Reason:
    """An error in one line, with its way out."""
    first, *rest = [line.strip() for line in error.message.splitlines()]
    # Of a model that no engine takes, every engine's reason is told; the hint's general advice would only repeat.
    hint = error.hint if not isinstance(error, NoEngine) or error.hint.startswith("pip ") else ""
    en = " ".join(filter(None, [first, "; ".join(rest), f"({hint})" if hint else ""]))
    return Reason(en, error.chinese if isinstance(error, NoEngine) else "")
