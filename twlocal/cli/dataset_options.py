"""The options that say how a dataset is read; every command that loads one has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from twlocal.dataset import Dataset

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--encoding", default="utf-8", show_default=True, help="Encoding of text files, such as cp950 for Big5."
    ),
    click.option("--subject", metavar="NAME", help="Subject of rows that name none.  [default: their file's name]"),
    click.option(
        "--answer-base",
        type=click.Choice(["0", "1"]),
        help="Where integer answers start to count, if the data leave it open.",
    ),
    click.option("--skip-bad", is_flag=True, help="Leave out rows that cannot be taken, and go on with the others."),
    click.option(
        "--private",
        is_flag=True,
        help="Write no question to disk, neither into the database nor into the cache of the Hub.",
    ),
)


def dataset_options(command: F) -> F:
    """Adds --encoding, --subject, --answer-base, --skip-bad and --private to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def load_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments of `twlocal.dataset.load` that the options stand for; `private` is not among them."""
    base = options["answer_base"]
    return {
        "encoding": options["encoding"],
        "subject": options["subject"],
        "answer_base": None if base is None else int(base),
        "skip_bad": options["skip_bad"],
    }


def load_dataset(source: str, options: Mapping[str, Any]) -> Dataset:
    """The dataset `source`, read as the options say. Raises DatasetError."""
    from twlocal import dataset

    return dataset.load(source, private=options["private"], **load_settings(options))
