"""The final text of a response: what is left to read once the thinking is set aside.

A response is, in this order of checks:

1. harmony (gpt-oss), with its marker tokens or with them stripped: the text of the last final channel;
2. text with think tags: what follows the last closing tag, up to a thought that is opened again and never closed;
3. neither: the whole text.

`</think>`, `</reasoning>` and `</reason>` are the protocol's. The spellings that other model families use for the same
thing count as well: `thinking`, `thought(s)`, `seed:think`, `longcat_think`, `[THINK]`, `◁think▷`, Cohere's
`<|START_THINKING|>`, Gemma's `<|channel>thought…<channel|>`, MedGemma's `<unused94>…<unused95>`, Apertus's
`<|inner_prefix|>`, `<|begin_of_thought|>` (OpenThinker, Sky-T1), Solar's `<|think|>…<|content|>`, and what Apriel
writes before its answer, `[BEGIN FINAL RESPONSE]`. All in either case, with white space inside the tag.

Pure, and linear in the text's length: no pattern here has an unbounded repeat.
"""

from __future__ import annotations

import re
from typing import NamedTuple

UNCLOSED_THINKING = "unclosed_thinking"
NO_FINAL_CHANNEL = "no_final_channel"
REASONING_ONLY = "reasoning_only"
CONTROL_CHARACTER = "control_character"


class Final(NamedTuple):
    """What of a response is read.

    text: the final text, None where there is none (a thought never closed, a harmony response with only analysis).
    flags: what was odd, see the constants of this module. source: the text it was taken from (the response, or the
    reasoning field under `reasoning_only`). start: index of `text` in it. thought: index at which the thinking ends.
    cut: the response was ended by its budget of tokens, so that more would have followed.
    """

    text: str | None
    flags: tuple[str, ...] = ()
    source: str = ""
    start: int = 0
    thought: int = 0
    cut: bool = False

    @property
    def thinking(self) -> str:
        """What came before the final text; all of the response where there is no final text. Cut out when asked for."""
        return self.source[: self.thought]


_TAG = re.compile(
    r"(?:<\s{0,4}(?P<slash>/?)\s{0,4}(?:think|thinking|thoughts?|reason|reasoning|seed:think|longcat_think)\s{0,4}>"
    r"|\[(?P<square>/?)think(?:ing)?\]"
    r"|◁(?P<kimi>/?)think▷"
    r"|<\|(?P<cohere>START|END)_THINKING\|>"
    r"|<\|(?P<bar>/?)think\|>"
    r"|<\|channel>|<unused94>|<\|begin_of_thought\|>|<\|inner_prefix\|>"
    r"|(?P<closed><channel\|>|<unused95>|<\|end_of_thought\|>|<\|inner_suffix\|>|<\|content\|>"
    r"|\[BEGIN FINAL RESPONSE\]))",
    re.IGNORECASE,
)
_HEADER = re.compile(
    r"(?:<\|channel\|>\s{0,4}(?P<name>[a-z]{2,20})|\A\s{0,40}(?P<first>analysis|commentary|final))"
    r"[^<>]{0,80}(?:<\|constrain\|>[^<>]{0,40})?<\|message\|>"
)
_CUT_HEADER = re.compile(r"\s{0,40}(?:<\|start\|>assistant)?<\|channel\|>[a-z]{0,20}\s{0,4}\Z")
_MESSAGE_END = re.compile(r"<\|(?:return|end|start|call|channel)\|>")
_TAIL = 200  # characters of a prompt's end: a tag and white space
# Nothing but a stripped marker puts a letter, a digit or a backslash right behind these words at the very beginning.
_STRIPPED = re.compile(r"\s{0,40}(?:analysis|commentary)(?=[^\s:：.,，。;；)\-])")
_STRIPPED_FINAL = re.compile(r"assistant\s{0,4}final")
_STRIPPED_END = re.compile(r"assistant(?:analysis|commentary)")


def final_text(text: str, reasoning: str = "", finish: str = "stop") -> Final:
    """The final text of a response.

    reasoning: a reasoning field that came apart from the text. It is read only when the text is empty and the response
    finished by itself (finish "stop"), and is then flagged `reasoning_only`.
    """
    if text and not text.isspace():
        return _split(text, (), finish == "length")
    if not reasoning or reasoning.isspace():
        return Final("")
    if finish != "stop":
        return Final(None, (UNCLOSED_THINKING,), reasoning, 0, len(reasoning))
    return _split(reasoning, (REASONING_ONLY,))


def opened_thought(prompt: str) -> str:
    """The tag of a thought that a rendered prompt opens and leaves to the model, as `<think>`; "" for none."""
    *_, last = [None, *_TAG.finditer(prompt[-_TAIL:])]
    if last is None or _closes(last) or prompt[-_TAIL:][last.end() :].strip():
        return ""
    return last[0]


def _closes(tag: re.Match[str]) -> bool:
    return (
        any(tag[mark] for mark in ("slash", "square", "kimi", "bar", "closed"))
        or (tag["cohere"] or "").upper() == "END"
    )


def _split(text: str, flags: tuple[str, ...], cut: bool = False) -> Final:
    # Every tag and marker holds one of these signs; a text that was stripped of them still tells by these words.
    if not ("<" in text or "[" in text or "◁" in text or "assistantfinal" in text or _STRIPPED.match(text)):
        return Final(text, _damaged(text, flags), text, cut=cut)
    start, end, thought_end = 0, len(text), 0
    # The common tag is found without a pattern; only what follows its last occurrence has to be looked at closely.
    close = text.rfind("</think>")
    channel = _final_channel(text, 0 if text.startswith("<|") else max(close, 0))
    if channel is not None:
        start, end = channel
        if start < 0:
            return Final(None, (*flags, NO_FINAL_CHANNEL), text, 0, len(text))
        thought_end = start
    if start <= close < end:
        thought_end, start = close, close + len("</think>")
    reopened = None
    if text.find("<", start, end) >= 0 or text.find("[", start, end) >= 0 or text.find("◁", start, end) >= 0:
        for tag in _TAG.finditer(text, start, end):
            if _closes(tag):
                thought_end, start, reopened = tag.start(), tag.end(), None
            elif reopened is None:
                reopened = tag.start()
    if reopened is not None:
        # A thought that never ends is not read. What was said before it is, where anything was.
        flags = (*flags, UNCLOSED_THINKING)
        if not text[start:reopened].strip():
            return Final(None, flags, text, 0, len(text))
        end = reopened
    body = text if (start, end) == (0, len(text)) else text[start:end]
    return Final(body, _damaged(body, flags), text, start, thought_end, cut)


def _damaged(body: str, flags: tuple[str, ...]) -> tuple[str, ...]:
    return (*flags, CONTROL_CHARACTER) if "\x08" in body or "\x0c" in body else flags


def _final_channel(text: str, since: int) -> tuple[int, int] | None:
    """Where a harmony response's final channel lies: (-1, -1) when it has none, None when it is no such response.

    since: index before which no marker is looked for, since a thought that a tag closes may quote anything.
    """
    if text.find("<|", since) >= 0 and (text.find("<|message|>", since) >= 0 or text.find("<|channel|>", since) >= 0):
        headers = list(_HEADER.finditer(text))
        finals = [header for header in headers if "final" in (header["name"], header["first"])]
        if finals:
            return finals[-1].end(), _end(_MESSAGE_END, text, finals[-1].end())
        return (-1, -1) if headers or _CUT_HEADER.match(text) else None
    stripped = since == 0 and _STRIPPED.match(text) is not None
    at = text.rfind("assistantfinal", since)
    if at >= 0:
        start = at + len("assistantfinal")
    elif stripped:
        finals = list(_STRIPPED_FINAL.finditer(text))
        if not finals:
            return -1, -1
        start = finals[-1].end()
    else:
        return None
    return start, _end(_STRIPPED_END, text, start)


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.search(text, start)
    return found.start() if found else len(text)
