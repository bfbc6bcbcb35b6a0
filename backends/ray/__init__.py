"""Any other backend on several machines, or on several GPUs of one: Ray actors, each holding an engine.

    settings.py   what the user may set, and what of it is the engine's
    layout.py     how many actors, and what each is given
    deal.py       who is given which requests, and which are given out again
    supply.py     how much an actor asks for ahead of its engine
    actor.py      what lives in an actor: the engine, in a thread of its own
    engine.py     the backend itself: requests → actors → completions

Answers are the engine's that the actors hold, and so is a run's identity: it goes on with any number of actors, and
without Ray. Here `ray` is the library: imports are absolute.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twlocal.backend import Backend, Deaths, Decoding
from twlocal.backends.ray.settings import EXTRA, NAMES

__all__ = ["ANSWERING", "CLOSE_SECONDS", "EXTRA", "ISOLATE", "SETTINGS", "SPREADS", "open", "supervise"]

# Ray ends a process whose node is lost, and writes to its terminal: not ours.
ISOLATE = True
SPREADS = True
SETTINGS = NAMES
ANSWERING: frozenset[str] = frozenset()
CLOSE_SECONDS = 15.0


def open(model: str, decoding: Decoding, settings: Mapping[str, Any]) -> Backend:
    """See `supervise`; deaths are counted from 0."""
    return supervise(model, decoding, settings, Deaths())


def supervise(model: str, decoding: Decoding, settings: Mapping[str, Any], deaths: Deaths) -> Backend:
    """Start or join a cluster, and open `model` in each actor.

    Raises EngineMissing without Ray or without the engine on a node, UsageError for a wrong setting or more than the
    cluster has, ModelError for a model that is not on every node, and ConfigurationError where actors find no place
    or differ: all before the first item. It makes this process one that a terminal's signals do not reach.
    """
    from twlocal.backends.ray.engine import load

    return load(model, decoding, settings, deaths)
