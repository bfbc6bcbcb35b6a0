"""The scripted backend in a process of its own."""

from twlocal_scripted import EXTRA, SETTINGS, Scripted, open

ISOLATE = True

__all__ = ["EXTRA", "ISOLATE", "SETTINGS", "Scripted", "open"]
