"""What all pages share: templates, style, script, bilingual words, numbers, charts.

A page is one file that needs no network and opens from disk. See `page.py` for how one is made, `words.py` for how a
text is said in both languages, `charts.py` for charts, and `templates/base.html.j2` for the blocks to fill.
"""

from twlocal.html.page import environment, render, stream
from twlocal.html.words import Text, t

__all__ = ["Text", "environment", "render", "stream", "t"]
