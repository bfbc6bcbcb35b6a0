"""`twlocal completion`."""

from __future__ import annotations

import click

from twlocal.cli.common import out
from twlocal.errors import UsageError


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that lets SHELL complete commands, options and names of runs with the Tab key.

    It calls twlocal at each press of the key, loads no engine and asks no network. bash must be 4.4 or newer.
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    if found is None:
        raise UsageError(f"this version of click completes nothing in {shell}")
    out(found(context.find_root().command, {}, "twlocal", "_TWLOCAL_COMPLETE").source())
