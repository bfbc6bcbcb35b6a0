"""Requests → prompts for an engine that takes token ids: rendered, tokenised, and checked against the context.

What all prompts of a run share (system prompt and examples) is found here once, so that an engine computes it once.
Pure: the tokenizer is a parameter.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from twlocal.backend import TOO_LONG, Completion, Message, Request
from twlocal.chat import ChatTemplate
from twlocal.readers.final import opened_thought

# Two user texts with no first character in common: what their prompts share is what all prompts share.
_PROBES = ("甲一", "Zw9")
_OPENINGS = 8


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request as the engine gets it.

    tokens: all ids. prefix: those that every prompt with the same opening begins with. shared: how many of them this
    one does begin with: all, or none where its own text changes how the opening is cut into tokens. sha256: hex, of the
    rendered text. opened: the tag of a thought that it leaves open for the model, "" for none.
    """

    request: Request
    tokens: list[int]
    prefix: list[int]
    shared: int
    sha256: str
    opened: str = ""

    @property
    def need(self) -> int:
        """Tokens of context that the prompt and its longest answer take."""
        return len(self.tokens) + self.request.max_tokens


class Prompter:
    """Makes prompts with `template` and `tokenise` (a rendered text → ids, with its begin token; see chat.bos_ids).

    limit: most tokens of a prompt and its answer, None where it is not known. limited_by: who sets it, for messages.
    """

    def __init__(
        self,
        template: ChatTemplate,
        tokenise: Callable[[str], list[int]],
        *,
        limit: int | None,
        limited_by: str = "the model has",
    ) -> None:
        self._template, self._tokenise = template, tokenise
        self._limit, self._limited_by = limit, limited_by
        self._openings: dict[tuple[Message, ...], list[int]] = {}

    def prompt(self, request: Request) -> Prompt | Completion:
        """The prompt, or the completion that says why it is not asked. Raises ModelError."""
        rendered = self._template.render(request.messages)
        tokens = self._tokenise(rendered.text)
        need = len(tokens) + request.max_tokens
        if self._limit is not None and need > self._limit:
            # Never answered with a smaller budget than the protocol's: that would be another protocol.
            return Completion(
                request.key,
                prompt_tokens=len(tokens),
                prompt_hash=rendered.sha256,
                error_kind=TOO_LONG,
                error=f"needs {need} tokens ({len(tokens)} of prompt, {request.max_tokens} of answer); "
                f"{self._limited_by} {self._limit}",
            )
        opening = self._opening(request.messages)
        shared = len(opening) if tokens[: len(opening)] == opening and len(tokens) > len(opening) else 0
        return Prompt(request, tokens, opening, shared, rendered.sha256, opened_thought(rendered.text))

    def _opening(self, messages: tuple[Message, ...]) -> list[int]:
        """The tokens that all chats share which differ from `messages` in the last user turn only.

        Found from two made-up turns and not from the prompts at hand: two questions may happen to begin alike, and
        what is computed for one must not depend on which other one stood beside it.
        """
        if not messages or messages[-1].role != "user":
            return []
        before = messages[:-1]
        known = self._openings.get(before)
        if known is None:
            texts = (self._template.render((*before, Message("user", probe))).text for probe in _PROBES)
            known = _common(*(self._tokenise(text) for text in texts))
            while len(self._openings) >= _OPENINGS:
                del self._openings[next(iter(self._openings))]
            self._openings[before] = known
        return known


class Intake:
    """Requests on their way to an engine with `slots` places: pulled only as places get free, prompts made of them.

    waiting: prompts that are pulled and not begun, in order. ended: there are no more requests.
    """

    def __init__(self, requests: Iterable[Request], prompter: Prompter, slots: int) -> None:
        self._source, self._prompter, self._slots = iter(requests), prompter, slots
        self.waiting: deque[Prompt] = deque()
        self.ended = False

    def pull(self, busy: int) -> Iterator[Completion]:
        """Pull as many as there are places besides those `busy`; the completions of requests that are not asked."""
        while not self.ended and len(self.waiting) + busy < self._slots:
            request = next(self._source, None)
            if request is None:
                self.ended = True
                return
            prompt = self._prompter.prompt(request)
            if isinstance(prompt, Completion):
                yield prompt
            else:
                self.waiting.append(prompt)


def _common(first: Sequence[int], second: Sequence[int]) -> list[int]:
    return [one for one, _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))]
