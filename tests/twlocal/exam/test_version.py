"""The mark of a parser covers all of its source: a change anywhere in it reads the documents again."""

from __future__ import annotations

import ast
from importlib.resources import files

from twlocal.exam import version


def test_every_module_that_reads_a_document_is_part_of_the_mark():
    here = files("twlocal.exam")
    seen, left = set(), ["paper", "key", "pair"]
    while left:
        name = left.pop()
        if name in seen:
            continue
        seen.add(name)
        for node in ast.walk(ast.parse(here.joinpath(f"{name}.py").read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level == 1:
                names = [node.module] if node.module else [alias.name for alias in node.names]
                left += [other for other in names if here.joinpath(f"{other}.py").is_file()]
    assert seen == set(version.PARSER)
