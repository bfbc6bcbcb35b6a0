"""How the commands of the studies print a report."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from twlocal.cli.common import out, width

if TYPE_CHECKING:
    from twlocal.study.report import Report


def show(report: Report, *, as_json: bool) -> None:
    """Print a study's report on standard output, for a person or for machines."""
    from twlocal.study.report import as_dict, render

    if as_json:
        out(json.dumps(as_dict(report), ensure_ascii=False, indent=1))
    else:
        out(render(report, width(sys.stdout), sys.stdout.encoding or "utf-8"))
