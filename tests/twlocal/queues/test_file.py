"""A queue's file: what calls it stands for, and how a fault in it is named."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from twlocal.cli.queue import is_own_name, run_options, wish_of_words
from twlocal.errors import UsageError
from twlocal.queues.file import QueueFile, read


def parsed(folder: Path, text: str, name: str = "夜間.toml") -> QueueFile:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read(path, run_options(), wish_of_words, is_own_name)


def words(file: QueueFile) -> list[Sequence[str]]:
    return [entry.words for entry in file.entries]


def test_every_model_on_every_benchmark_models_first(tmp_path: Path) -> None:
    file = parsed(tmp_path, 'models = ["smollm2-135m", "T1"]\nbenchmarks = ["demo", "formosa"]\n')
    assert words(file) == [
        ("run", "smollm2-135m", "--bench", "demo"),
        ("run", "smollm2-135m", "--bench", "formosa"),
        ("run", "T1", "--bench", "demo"),
        ("run", "T1", "--bench", "formosa"),
    ]
    assert [entry.wish.bench for entry in file.entries] == ["demo", "formosa", "demo", "formosa"]


def test_a_models_options_go_over_a_benchmarks_and_these_over_the_files(tmp_path: Path) -> None:
    file = parsed(
        tmp_path,
        """
        limit = 5
        max_tokens = 100
        settings = { slots = 2, seed = 1 }
        models = ["T1"]
        [[benchmarks]]
        bench = "demo"
        max_tokens = 200
        limit = 6
        """,
    )
    assert words(file) == [
        ("run", "T1", "--bench", "demo", "--limit", "6", "--max-tokens", "200", "--set", "slots=2", "--set", "seed=1")
    ]
    file = parsed(
        tmp_path,
        """
        settings = { slots = 2 }
        benchmarks = ["demo"]
        [[models]]
        model = "T1"
        max_tokens = 300
        trust_remote_code = true
        private = true
        settings = { slots = 4, template_variables = { enable_thinking = false } }
        """,
    )
    [entry] = file.entries
    assert entry.wish.max_tokens == 300
    assert entry.wish.private is True
    assert entry.wish.settings == {
        "slots": 4, "trust_remote_code": True, "template_variables": {"enable_thinking": False},
    }  # fmt: skip


def test_files_stand_beside_the_queue_and_names_of_ours_mean_ours(tmp_path: Path) -> None:
    folder = tmp_path / "佇列"
    (folder / "demo").mkdir(parents=True)
    for name in ("m.gguf", "題庫.csv", "own.toml"):
        (folder / name).write_text("x", encoding="utf-8")
    text = 'protocol = "own.toml"\nmodels = ["m.gguf"]\nbenchmarks = ["題庫.csv", "demo"]\n'
    first, second = parsed(folder, text).entries
    assert first.words[1:4] == (str(folder / "m.gguf"), "--bench", str(folder / "題庫.csv"))
    assert first.wish.protocol == str(folder / "own.toml")
    assert second.wish.bench == "demo"
    assert (first.model, first.bench) == ("m.gguf", "題庫.csv"), "shown as the file has them"


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ('models = ["T1"\nbenchmarks = ["demo"]', "", "is not TOML.*line 2"),
        ('models = ["T1"]\n', "line 1", "benchmarks must be a list"),
        ('benchmarks = ["demo"]\nmodels = "T1"\n', "line 2", "models must be a list"),
        ('models = []\nbenchmarks = ["demo"]\n', "line 1", "models must be a list"),
        ('\n\nlimits = 3\nmodels = ["T1"]\nbenchmarks = ["demo"]', "line 3", "no option 'limits'"),
        ('models = ["T1"]\nbenchmarks = ["demo"]\n[[extra]]\na = 1\n', "line 3", "no option 'extra'"),
        ('models = ["T1"]\n\n[[benchmarks]]\nbench = "demo"\n[[benchmarks]]\nlimit = 3\n', "line 5", "which bench"),
        ('models = ["T1"]\n[[benchmarks]]\nbench = "demo"\n[[benchmarks]]\nbench = "exam"\nsampel = 3\n', "line 6",
         "benchmarks.1.: there is no option 'sampel'"),
        ('benchmarks = ["demo"]\n[[models]]\nmodel = "T1"\nprivate = "yes"\n', "line 4", "private takes true or false"),
        ('benchmarks = ["demo"]\n[[models]]\nmodel = "T1"\nlimit = true\n', "line 4", "limit takes a value"),
        ('benchmarks = ["demo"]\n[[models]]\nmodel = "T1"\nlimit = [1]\n', "line 4", "limit takes one value"),
        ('benchmarks = ["demo"]\n[[models]]\nmodel = "T1"\nlimit = "many"\n', "lines 1 and 2", "many"),
        ('models = ["T1"]\nbenchmarks = ["demo"]\nsample = 0\n', "lines 1 and 2", "--sample takes a number"),
        ('settings = 3\nmodels = ["T1"]\nbenchmarks = ["demo"]\n', "line 1", "settings is a table"),
        ('trust_remote_code = true\nmodels = ["T1"]\nbenchmarks = ["demo"]\n', "line 1", "said for one model"),
        ('benchmarks = ["demo"]\nmodels = [\n "T1",\n "T1",\n]\n', "line 4", "stands in it twice"),
        ('benchmarks = ["demo"]\nmodels = [\n 3,\n]\n', "line 2", "neither a name nor a table"),
        ('models = ["T1"]\nbenchmarks = ["demo"]\nprivate = 2026-01-01\n', "line 3", "takes true or false"),
        ('models = ["T1"]\nbenchmarks = ["demo"]\nsettings = { a = 2026-01-01 }\n', "line 3", "a date or a time"),
        (f'models = ["{"a" * 300}"]\nbenchmarks = ["demo"]\n', "lines 1 and 2", "name too long"),
        ('models = ["--help"]\nbenchmarks = ["demo"]\n', "line 1", "'--help' names no model"),
        (f'models = ["T1"]\nbenchmarks = ["demo"]\nx = {"[" * 5000}{"]" * 5000}\n', "", "is not TOML"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_line(tmp_path: Path, text: str, line: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        parsed(tmp_path, text)
    assert "夜間.toml" in caught.value.message
    assert line in caught.value.message


def test_a_file_of_a_windows_editor(tmp_path: Path) -> None:
    text = 'models = ["T1"]\nbenchmarks = ["demo"]\n'
    (tmp_path / "q.toml").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    [entry] = read(tmp_path / "q.toml", run_options(), wish_of_words, is_own_name).entries
    assert entry.words == ("run", "T1", "--bench", "demo")


def test_a_fault_has_a_hint(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        parsed(tmp_path, 'max_token = 3\nmodels = ["T1"]\nbenchmarks = ["demo"]')
    assert caught.value.hint == "did you mean max_tokens?"


def test_the_key_changes_with_calls_and_files_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("1", encoding="utf-8")
    text = 'models = ["T1"]\nbenchmarks = ["q.csv"]\n'
    key = parsed(tmp_path, text).key
    assert parsed(tmp_path, "# a remark\n" + text, "other.toml").key == key
    assert parsed(tmp_path, "limit = 3\n" + text).key != key
    (tmp_path / "q.csv").write_text("22", encoding="utf-8")
    assert parsed(tmp_path, text).key != key
