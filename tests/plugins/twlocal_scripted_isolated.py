"""The scripted backend in a process of its own."""

from twlocal_scripted import ANSWERING, EXTRA, SETTINGS, Scripted, open

ISOLATE = True

__all__ = ["ANSWERING", "EXTRA", "ISOLATE", "SETTINGS", "Scripted", "open"]
