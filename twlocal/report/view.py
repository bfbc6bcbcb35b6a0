"""Everything that a report of a run shows, as plain data: filled from the store, read by every kind of report."""

from __future__ import annotations

from dataclasses import dataclass

from twlocal.score import Score


@dataclass(frozen=True)
class RunView:
    """A run with its score. An unknown is None or "".

    bench: name of the dataset. protocol, protocol_title, protocol_sha256: what was asked, and how; `publishable` and
    `why_not` are the protocol's, and so are the Chinese `protocol_title_zh` and `why_not_zh`, "" where they were never
    written. protocol_reader: the one that its published score is read with. quantised: None where it cannot be known (a
    server). started: ISO 8601 with its zone. seconds: work over all sittings. max_tokens, temperature: what was asked
    of the decoder. stop_at_box: answers were ended at their box.
    """

    run: str
    model: str
    bench: str
    protocol: str
    protocol_title: str
    protocol_sha256: str
    publishable: bool
    why_not: str
    score: Score
    revision: str = ""
    backend: str = ""
    engine: str = ""
    engine_version: str = ""
    quantised: bool | None = None
    started: str = ""
    seconds: float | None = None
    sittings: int = 0
    max_tokens: int | None = None
    temperature: float | None = None
    protocol_title_zh: str = ""
    why_not_zh: str = ""
    protocol_reader: str = ""
    stop_at_box: bool = False

    @property
    def publication_bars(self) -> tuple[str, ...]:
        """What stands between this score and publication, as stable names; empty for a publishable one."""
        bars = {
            "protocol": not self.publishable,
            "reader": self.protocol_reader not in ("", self.score.reader),
            "incomplete": not self.score.complete,
            "quantised": self.quantised is True,
            "stop_at_box": self.stop_at_box,
        }
        return tuple(name for name, there in bars.items() if there)
