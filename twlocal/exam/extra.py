"""The extra that reading PDF files needs."""

from __future__ import annotations

from importlib import import_module

from twlocal import backend


def needed() -> None:
    """To be called before anything that reads PDF files is imported. Raises EngineMissing without the extra `exam`."""
    for name in ("numpy", "pypdfium2", "pdfplumber"):
        try:
            import_module(name)
        except ImportError as error:
            raise backend.missing("exam", name) from error
