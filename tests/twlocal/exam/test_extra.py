"""What needs the extra `exam`, and what does not."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from twlocal.errors import EngineMissing
from twlocal.exam.extra import needed

_WITHOUT = """
import sys
for name in ("numpy", "pypdfium2", "pdfplumber"):
    sys.modules[name] = None  # importing it raises ImportError
import twlocal.exam.decide, twlocal.exam.fetching, twlocal.exam.ledger, twlocal.exam.publish, twlocal.exam.titles
"""


def test_a_build_is_kept_and_published_without_reading_pdf():
    done = subprocess.run([sys.executable, "-c", _WITHOUT], capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr


def test_the_way_out_is_named(monkeypatch):
    needed()
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(EngineMissing) as caught:
        needed()
    assert caught.value.hint == "pip install 'twlocal[exam]'"


@pytest.mark.parametrize("extra", ["exam", "formosa"])
def test_the_extra_of_a_benchmark_is_enough_for_publishing_it(extra):
    """Whoever installs it and has read the papers need not find out that Parquet is another extra."""
    project = Path(__file__).parents[3] / "pyproject.toml"
    extras = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert "twlocal[parquet]" in extras[extra]
