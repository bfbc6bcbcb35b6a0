"""`twlocal study …`: the apparatus studies."""

from __future__ import annotations

import click

from twlocal.cli.common import Stages
from twlocal.cli.study_ask import budget, prompt
from twlocal.cli.study_judges import judges
from twlocal.cli.study_noise import noise
from twlocal.cli.study_scores import axes, halflife
from twlocal.cli.study_stored import extraction, failures, sample, stop_at_box


@click.group(cls=Stages)
def study() -> None:
    """How much of a score is its apparatus: studies over stored responses; prompt and budget ask a model.

    Each prints what was varied, what was held, n, intervals, and the commands to repeat it; --json gives the numbers.
    """


for _command in (extraction, prompt, budget, judges, stop_at_box, sample, noise, axes, halflife, failures):
    study.add_command(_command)
