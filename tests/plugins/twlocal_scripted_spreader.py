"""A backend that holds another one, in this process: for tests of what goes around one that spreads.

A request whose question holds `dies` is told as a death until it is given up. `closed` is a file that is written when
the backend may close by itself.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from twlocal import backend as backends
from twlocal.backend import ENGINE_DIED, Completion, Deaths, Decoding, EngineInfo, Request

ISOLATE = True
SPREADS = True
EXTRA = ""
SETTINGS = frozenset({"engine", "actors", "gpus_per_actor", "ray_address", "dies", "closed", "slow"})
ANSWERING: frozenset[str] = frozenset()
CLOSE_SECONDS = 20.0


class Spreader:
    def __init__(self, model: str, decoding: Decoding, settings: Mapping[str, Any], deaths: Deaths) -> None:
        theirs = {name: value for name, value in settings.items() if name not in SETTINGS}
        self._inner = backends.load(settings["engine"]).open(model, decoding, theirs)
        self._settings, self._deaths = settings, deaths

    def describe(self) -> EngineInfo:
        info = self._inner.describe()
        return replace(info, settings={**info.settings, "actors": self._settings.get("actors")})

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        for request in requests:
            died = self._deaths.prior.get(request.key, 0)
            while self._settings.get("dies", "\0") in request.messages[-1].content and died < self._deaths.limit:
                died += 1
                if died < self._deaths.limit:
                    self._deaths.tell(request.key, "an actor ended by itself")
                else:
                    yield Completion(request.key, error_kind=ENGINE_DIED, error="it ended again", attempts=died)
            if not died:
                yield from self._inner.generate(iter([request]))

    def close(self) -> None:
        time.sleep(float(self._settings.get("slow", 0)))
        if file := self._settings.get("closed"):
            Path(file).write_text("closed", encoding="utf-8")


def open(model: str, decoding: Decoding, settings: Mapping[str, Any]) -> Spreader:
    return supervise(model, decoding, settings, Deaths())


def supervise(model: str, decoding: Decoding, settings: Mapping[str, Any], deaths: Deaths) -> Spreader:
    return Spreader(model, decoding, settings, deaths)
