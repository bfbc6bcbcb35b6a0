"""What a report says of a run in one language, sentence by sentence; how it is set is for whoever shows it. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from twlocal.plural import Count
from twlocal.report.table import minute
from twlocal.report.view import RunView
from twlocal.report.words import words
from twlocal.stats import Interval
from twlocal.tally import Tally


class Sentences:
    """The sentences about a run in "en" or "zh-TW". Raises UsageError for another language."""

    def __init__(self, view: RunView, lang: str) -> None:
        self.view, self.score, self.overall = view, view.score, view.score.overall
        self.lang = lang
        self.words = words(lang)

    def say(self, key: str, **values: object) -> str:
        """A template of the words, filled."""
        return self.words[key].format_map(
            {name: Count(value) if type(value) is int else value for name, value in values.items()}
        )

    def rate(self, key: str, share: float, interval: Interval, **values: object) -> str:
        """A share of 1 with its interval, under one of the words' keys."""
        # Two decimals where the interval is narrow enough for the second to mean something.
        digits = 2 if interval.high - interval.low < 0.01 else 1
        low, high = (f"{100 * end:.{digits}f}" for end in (interval.low, interval.high))
        return self.say(key, accuracy=f"{100 * share:.{digits}f}%", low=low, high=high, **values)

    def sizes(self, tally: Tally) -> str:
        """How many responses a tally is over, and how many questions where that is another number."""
        return self.say("n" if tally.items == tally.n else "n_repeats", n=tally.n, items=tally.items)

    def unanswered(self) -> str:
        """Why rows of the plan have no answer."""
        score, parts = self.score, []
        if score.failed:
            kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(score.failures.items()))
            parts.append(self.say("failed", count=score.failed, kinds=kinds))
        to_come = self.overall.planned - self.overall.n - score.failed
        if to_come > 0 or not parts:
            parts.append(self.say("to_come", count=max(to_come, 0)))
        return self.words["list"].join(parts)

    def bar(self, name: str) -> str:
        """One of the view's `publication_bars` in words."""
        if name == "protocol" and self.view.why_not:
            return self.own(self.view.why_not, self.view.why_not_zh)
        reader, own = self.score.reader, self.view.protocol_reader
        return self.say(f"why_{name}", name=self.view.protocol, reader=reader, own=own)

    def own(self, english: str, chinese: str) -> str:
        # Of what the protocol says of itself: one that somebody else wrote may have no Chinese.
        return chinese if chinese and self.lang == "zh-TW" else english

    def facts(self) -> Iterator[tuple[str, str]]:
        """What ran, and how the responses came out: keys of the words, and what is said under them."""
        view, score, tally = self.view, self.score, self.overall
        yield "run", view.run
        yield "model", " ".join(part for part in (view.model, view.revision) if part)
        items = tally.planned // (score.repeats.asked if score.repeats else 1)
        since = self.say("withdrawn_since", count=score.withdrawn_since) if score.withdrawn_since else ""
        drawn, count = items + score.withdrawn, score.withdrawn
        withdrawn = self.say("withdrawn", drawn=drawn, count=count, since=since) if count else ""
        yield "bench", self.say("bench_value", bench=view.bench, items=items, withdrawn=withdrawn)
        title = self.own(view.protocol_title, view.protocol_title_zh)
        yield "protocol", self.say("protocol_value", name=view.protocol, title=title, sha=view.protocol_sha256[:16])
        engine = " ".join(part for part in (view.engine or view.backend, view.engine_version) if part)
        mark = [self.words["quantised_mark"]] if view.quantised else []
        yield "engine", self.words["list"].join([engine or self.words["unknown"], *mark])
        if tally.n:
            odd = self.words["list"].join(self._odd(tally))
            if odd:
                yield "responses", odd
            yield "tokens", self._tokens(tally)
        if score.repeats:
            accuracies = self.words["list"].join(percent(share) for share in score.repeats.accuracies)
            asked, same, compared = score.repeats.asked, score.repeats.same, score.repeats.compared
            yield "repeats", self.say("repeats_value", asked=asked, accuracies=accuracies, same=same, compared=compared)
        if view.sittings:
            started = self.say("started", when=minute(view.started)) if view.started else ""
            time = self.words["unknown"] if view.seconds is None else self._duration(view.seconds)
            several = self.say("sittings", count=view.sittings) if view.sittings > 1 else ""
            yield "time", self.say("time_value", time=time, sittings=several, started=started)

    def _odd(self, tally: Tally) -> Iterator[str]:
        for key in ("truncated", "loops", "no_final", "empty", "refused", "filtered", "ordinal"):
            count = getattr(tally, key)
            if count:
                budget = self.view.max_tokens if key == "truncated" else None
                yield self.say(key, count=count) + ("" if budget is None else self.say("budget", tokens=budget))

    def _tokens(self, tally: Tally) -> str:
        if tally.untold == tally.n:
            return self.words["tokens_unknown"]
        reasoning = self.say("reasoning", count=tally.reasoning_tokens) if tally.reasoning_tokens else ""
        untold = self.say("untold", count=tally.untold) if tally.untold else ""
        told = {"prompt": tally.prompt_tokens, "completion": tally.completion_tokens}
        return self.say("tokens_value", **told, reasoning=reasoning, untold=untold)

    def _duration(self, seconds: float) -> str:
        if round(seconds, 1) < 60:
            return self.say("duration_s", s=seconds)
        minutes, rest = divmod(round(seconds), 60)
        if minutes < 60:
            return self.say("duration_m", m=minutes, s=rest)
        return self.say("duration_h", h=minutes // 60, m=minutes % 60)


def percent(share: float | None) -> str:
    """A share of 1 as a percentage, or a dash."""
    return "-" if share is None else f"{100 * share:.1f}%"
