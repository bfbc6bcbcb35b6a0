"""Words in two languages on one page: both are in it, and the reader's switch shows one.

Where markup can stand, a text is two `<span class="t">`, of which the style shows the one of `html[data-lang]`. Where
only text can (titles, options, attributes), both stand in data- attributes and `page.js` puts the right one in place.
"""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

LANGUAGES = ("zh-TW", "en")


@dataclass(frozen=True, slots=True)
class Text:
    """The same thing said in Chinese and in English. In a template, `{{ text }}` is both, escaped."""

    zh: str
    en: str

    def __html__(self) -> Markup:
        if self.zh == self.en:
            return Markup.escape(self.zh)
        return Markup('<span class="t" lang="zh-Hant">{}</span><span class="t" lang="en">{}</span>').format(
            self.zh, self.en
        )

    def format(self, **values: object) -> Text:
        """Both filled with the same values by `str.format`; a value that is a Text gives each its own language."""
        zh, en = (
            {name: getattr(value, own) if isinstance(value, Text) else value for name, value in values.items()}
            for own in ("zh", "en")
        )
        return Text(self.zh.format_map(zh), self.en.format_map(en))

    def of(self, lang: str) -> str:
        """In one language: "zh-TW" or "en"."""
        return self.en if lang == "en" else self.zh


def t(zh: str, en: str) -> Text:
    """A text in both languages: `{{ t("科目", "subject") }}`."""
    return Text(zh, en)


def plain(text: Text, lang: str) -> Markup:
    """The attributes and the inside of an element that holds text only: `<option{{ plain(text) }}</option>`.

    The element's own `>` is part of it. lang: the language until the script has run.
    """
    return Markup(' data-zh="{}" data-en="{}">{}').format(text.zh, text.en, text.of(lang))


def attribute(name: str, text: Text, lang: str) -> Markup:
    """An attribute in both languages: `<input{{ attribute("placeholder", text) }}>`."""
    return Markup(' {0}="{1}" data-zh-{0}="{2}" data-en-{0}="{3}"').format(name, text.of(lang), text.zh, text.en)
