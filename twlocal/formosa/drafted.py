"""Stage `draft`: every window to a generator, and what came of its responses into the build."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from twlocal.formosa import drafting
from twlocal.formosa.asking import Answers, Asker, Desk, ask
from twlocal.formosa.drafting import Generated
from twlocal.formosa.stored import Build, Builds
from twlocal.item import LABELS


@dataclass(frozen=True)
class Drafted:
    """What a generator made of the windows it was shown."""

    answers: Answers
    generated: tuple[Generated, ...]


def draft_windows(builds: Builds, build: Build, who: Asker, desk: Desk, *, limit: int | None = None) -> Drafted:
    """Ask a generator for one item a window, as far as it was not asked before, and read all its responses.

    A text that stands twice in the corpus is asked about once. limit: at most so many windows, the first by hash, so
    that they are spread over the corpus. Raises TwlocalError where asking had to stop; what was stored stays.
    """
    texts = {window.hash: window.text for window in builds.windows(build)}
    prompts = {window: drafting.question(who.prompt, texts[window]) for window in sorted(texts)[:limit]}
    answers = ask(who, prompts.values(), desk)
    found = []
    for window, prompt in prompts.items():
        record = answers.of(prompt)
        if record is not None:
            found.append((record.content_hash, drafting.generated(window, record)))
    builds.add_asker(build, who)
    builds.put_generated(build, who.name, found)
    return Drafted(answers, tuple(made for _, made in found))


def rows(found: Drafted) -> Iterator[dict[str, Any]]:
    """Every response as a row to write: a draft as `formosa screen` reads it, or a fault and what shows it."""
    for made in found.generated:
        if made.draft is None:
            yield {"window": made.window, "fault": made.fault, "detail": made.detail}
        else:
            words = dict(zip(LABELS, made.draft.options, strict=True))
            yield {"window": made.window, "question": made.draft.question, **words, "answer": made.draft.answer}
