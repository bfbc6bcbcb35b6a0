"""A queue's file: models × benchmarks in TOML → the calls of `twlocal run` that it stands for.

    limit = 50                           # options of `twlocal run`, for all items
    models = ["T1", "smollm2-135m"]
    benchmarks = ["demo", "questions.csv"]

or, where one of them needs options of its own, tables (a model's go over a benchmark's, which go over the file's):

    [[models]]
    model = "Llama-3-Taiwan-8B"
    max_tokens = 8192
    settings = { slots = 4 }             # `--set`

    [[benchmarks]]
    bench = "exam"
    sample = 150

The whole file is read before anything else happens; what is wrong is told with its line.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twlocal.errors import UsageError
from twlocal.plan import Wish

# What names a file may stand relative to the queue's own folder.
_PLACES = ("model", "bench", "ids", "protocol", "chat_template")
# Of `twlocal run`, but not of an item: the queue decides these, or gives them otherwise.
_NOT_HERE = frozenset({"model", "bench", "database", "as_json", "lang", "quiet", "verbose", "more", "variables"})


@dataclass(frozen=True)
class Option:
    """An option of `twlocal run`: its word on the command line, and whether it takes a value."""

    word: str
    flag: bool = False


@dataclass(frozen=True)
class Entry:
    """One item: a model and a benchmark as the file names them, the call, and the lines that they stand in."""

    no: int
    model: str
    bench: str
    words: tuple[str, ...]
    wish: Wish
    lines: tuple[int, int]


@dataclass(frozen=True)
class QueueFile:
    """A queue as its file has it. key: changes with the calls and with the local files that they name."""

    path: Path
    entries: tuple[Entry, ...]
    key: str


def read(
    path: Path, options: Mapping[str, Option], parse: Callable[[Sequence[str]], Wish], known: Callable[[str], bool]
) -> QueueFile:
    """Read a queue's file.

    options: those of `twlocal run` by name. parse: words after `run` → the call; raises UsageError. known: whether a
    name is twlocal's own (a bench, a protocol, the demo model) and no file's.
    Raises UsageError, naming file and line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{path.name} is not TOML: {error}", hint="twlocal queue --help shows one") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    return _Reader(path, text, options, parse, known).read(table)


class _Reader:
    def __init__(
        self,
        path: Path,
        text: str,
        options: Mapping[str, Option],
        parse: Callable[[Sequence[str]], Wish],
        known: Callable[[str], bool],
    ) -> None:
        self._path, self._lines = path, text.splitlines()
        self._options = {name: option for name, option in options.items() if name not in _NOT_HERE}
        self._parse, self._known = parse, known

    def read(self, table: dict[str, Any]) -> QueueFile:
        sides = {name: self._side(name, key, table.pop(name, None)) for name, key in _SIDES.items()}
        shared = self._checked(table, "", lambda key: self._line_of_key(key, 0, len(self._lines)))
        entries: list[Entry] = []
        seen: dict[tuple[str, ...], Entry] = {}
        for model, model_line in sides["models"]:
            for bench, bench_line in sides["benchmarks"]:
                entry = self._entry(len(entries), shared, model, bench, (model_line, bench_line))
                if entry.words in seen:
                    raise self._error(
                        model_line,
                        f"{entry.model} on {entry.bench} stands in it twice, with the same options",
                        "take one out, or give it other options",
                    )
                seen[entry.words] = entry
                entries.append(entry)
        return QueueFile(self._path, tuple(entries), _key(entries))

    def _side(self, name: str, key: str, given: Any) -> list[tuple[dict[str, Any], int]]:
        """The models or the benchmarks: their options (with their own name under `key`) and lines."""
        if not isinstance(given, list) or not given:
            line = self._line_of_key(name, 0, len(self._lines)) if given is not None else 1
            raise self._error(line, f"{name} must be a list of at least one", f'{name} = ["…"], or [[{name}]] tables')
        found = []
        for at, one in enumerate(given):
            begin, end = self._place(name, at, one, given[:at].count(one))
            if isinstance(one, str):
                one = {key: one}
            if not isinstance(one, dict):
                raise self._error(begin, f"{name}[{at}] is neither a name nor a table", f'[[{name}]] with {key} = "…"')
            value = one.pop(key, None)
            if not isinstance(value, str) or not value.strip():
                raise self._error(begin, f"{name}[{at}] does not say which {key} it is", f'{key} = "…"')
            if value.startswith("-"):  # on a command line it would be an option
                raise self._error(begin, f"{name}[{at}]: {value!r} names no {key}", f'{key} = "…"')

            def line_of(wanted: str, begin: int = begin, end: int = end) -> int:
                return self._line_of_key(wanted, begin, end)

            found.append(({key: value} | self._checked(one, f"{name}[{at}]", line_of), begin))
        return found

    def _checked(self, given: dict[str, Any], where: str, line_of: Callable[[str], int]) -> dict[str, Any]:
        place = f"{where}: " if where else ""
        for name, value in given.items():
            line = line_of(name)
            if name == "settings":
                if not isinstance(value, dict):
                    raise self._error(line, f"{place}settings is a table of the engine's settings", "{ slots = 4 }")
                try:
                    json.dumps(value)
                except TypeError:
                    raise self._error(line, f"{place}settings holds a date or a time", "write it as text") from None
                continue
            option = self._options.get(name)
            if option is None:
                names = [*self._options, "settings"]
                near = difflib.get_close_matches(name, names, n=1)
                hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(sorted(names))}"
                raise self._error(line, f"{place}there is no option {name!r}", hint)
            if name == "trust_remote_code" and not where.startswith("models"):
                hint = "put it into the [[models]] table of the model whose code you have read"
                raise self._error(line, "trust_remote_code is said for one model", hint)
            if option.flag != isinstance(value, bool):
                wanted = "true or false" if option.flag else "a value"
                raise self._error(line, f"{place}{name} takes {wanted}, not {json.dumps(value, default=str)}", "")
            if not isinstance(value, str | int | float | bool):
                raise self._error(line, f"{place}{name} takes one value", "")
        return given

    def _entry(
        self, no: int, shared: dict[str, Any], model: dict[str, Any], bench: dict[str, Any], lines: tuple[int, int]
    ) -> Entry:
        settings: dict[str, Any] = {}
        for one in (shared, bench, model):
            settings |= one.get("settings", {})
        merged = shared | bench | model
        words = [self._placed(merged["model"]), "--bench", self._placed(merged["bench"])]
        for name, option in self._options.items():
            if name not in merged:
                continue
            value = merged[name]
            if option.flag:
                words += [option.word] if value else []
            else:
                words += [option.word, self._placed(str(value)) if name in _PLACES else str(value)]
        for name, value in settings.items():
            words += ["--set", f"{name}={json.dumps(value, ensure_ascii=False)}"]
        try:
            wish = self._parse(words)
        except (UsageError, OSError) as error:
            at = sorted(set(lines))
            where = f"line {at[0]}" if len(at) == 1 else f"lines {at[0]} and {at[1]}"
            said, hint = (error.message, error.hint) if isinstance(error, UsageError) else (str(error.strerror), "")
            raise UsageError(
                f"{self._path.name}, {where}: {model['model']} on {bench['bench']}: {said}", hint=hint
            ) from error
        return Entry(no, model["model"], bench["bench"], ("run", *words), wish, lines)

    def _placed(self, name: str) -> str:
        """A file's name as an absolute one, where it stands relative to the queue's folder."""
        if "://" in name or self._known(name):
            return name
        try:
            path = self._path.parent / Path(name).expanduser()
            return str(path.absolute()) if path.exists() and (path.suffix or path.is_dir()) else name
        except (RuntimeError, OSError):  # no home, or a name that no disk takes: the call tells what is wrong
            return name

    # ── lines ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _place(self, name: str, at: int, one: Any, same: int) -> tuple[int, int]:
        """The first line of an entry, and the line behind its last one. same: how many like it stand before it."""
        heads = [no for no, line in enumerate(self._lines, 1) if re.match(rf"\s*\[\[\s*{name}\s*\]\]", line)]
        if at < len(heads):
            later = (no for no, line in enumerate(self._lines, 1) if no > heads[at] and re.match(r"\s*\[", line))
            return heads[at], next(later, len(self._lines) + 1)
        begin = self._line_of_key(name, 0, len(self._lines))
        value = one if isinstance(one, str) else next(iter(one.values()), None) if isinstance(one, dict) else None
        if not isinstance(value, str):
            return begin, begin + 1
        quoted = (f'"{value}"', f"'{value}'")
        found = [no for no, text in enumerate(self._lines, 1) if no >= begin and any(one in text for one in quoted)]
        line = found[min(same, len(found) - 1)] if found else begin
        return line, line + 1

    def _line_of_key(self, key: str, begin: int, end: int) -> int:
        name = re.escape(key)
        pattern = re.compile(rf"""\s*\[*\s*["']?{name}["']?\s*[=.\]]|.*[{{,]\s*{name}\s*=""")
        found = (no for no, line in enumerate(self._lines, 1) if begin <= no < end + 1 and pattern.match(line))
        return next(found, max(begin, 1))

    def _error(self, line: int, message: str, hint: str) -> UsageError:
        return UsageError(f"{self._path.name}, line {line}: {message}", hint=hint)


_SIDES = {"models": "model", "benchmarks": "bench"}


def _key(entries: Sequence[Entry]) -> str:
    told: list[Any] = []
    for entry in entries:
        files = []
        for word in entry.words:
            path = Path(word)
            if path.is_absolute() and path.is_file():
                stat = path.stat()
                files.append([stat.st_size, stat.st_mtime_ns])
        told.append([entry.words, files])
    return hashlib.sha256(json.dumps(told, ensure_ascii=False).encode("utf-8")).hexdigest()
