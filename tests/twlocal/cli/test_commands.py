"""The commands around a run: what they print, how they fail, and what they leave alone."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import os
import pty
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from twlocal.cli import main

Call = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def base(model_file: Path, questions: Path) -> list[str]:
    return ["run", str(model_file), "--bench", str(questions), "--backend", "scripted", "--lang", "en"]


def _name(twlocal: Call) -> str:
    return str(json.loads(twlocal("runs", "--json").stdout)[-1]["name"])


def test_help_names_every_command_without_importing_any(twlocal: Call) -> None:
    done = twlocal("--help")
    assert done.returncode == 0
    for name in ("run", "resume", "runs", "report", "show", "export", "sample", "protocols"):
        assert name in done.stdout
        assert twlocal(name, "--help").returncode == 0
    slow = "aiohttp|sqlite_utils|pyarrow|numpy|jinja2|llama_cpp|huggingface_hub|tqdm"
    probe = (
        "import sys, re\nfrom twlocal.__main__ import main\nsys.argv=['twlocal','--help']\n"
        "try: main()\nexcept SystemExit: pass\n"
        f"print('IMPORTED', [m for m in sys.modules if re.fullmatch(r'{slow}', m)])"
    )
    seen = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, encoding="utf-8", check=True)
    assert "IMPORTED []" in seen.stdout


def _all_commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Context]]:
    context = click.Context(group, info_name="twlocal", terminal_width=80)
    yield path, context
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from _all_commands(command, (*path, name))
        else:
            yield (*path, name), click.Context(command, info_name=name, terminal_width=80)


def test_every_help_fits_eighty_columns_and_cuts_no_sentence() -> None:
    seen = 0
    for path, context in _all_commands(main):
        said = context.command.get_help(context)
        for line in said.splitlines()[1:]:
            seen += 1
            assert len(line) <= 80, f"{path}: {line}"
            assert not line.endswith("..."), f"{path}: {line}"
    assert seen > 500


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["run", "absent.gguf"], 2, "there is no file absent.gguf"),
        (["run", "{model}", "--bench", "absent.csv"], 2, "absent.csv"),
        (["run", "{model}", "--protocol", "bxo"], 2, "no protocol named 'bxo'"),
        (["run", "{model}", "--backend", "mxl"], 2, "no backend named 'mxl'"),
        (["run", "{model}", "--backend", "scripted", "--slots", "0"], 2, "--slots"),
        (["run", "{model}", "--backend", "scripted", "--slots", "2"], 2, "has no setting 'slots'"),
        (["run", "{model}", "--backend", "scripted", "--sample", "few"], 2, "'few'"),
        (["run", "{model}", "--backend", "scripted", "--set", "delay"], 2, "NAME=VALUE"),
        (["run", "{model}", "--backend", "scripted", "--repeats", "0"], 2, "--repeats"),
        (["run", "{model}", "--backend", "scripted", "--repeats", "9999999"], 2, "--repeats"),
        (["run", "{model}", "--backend", "scripted", "--set", 'say="\\ud800"'], 2, "half a character"),
        (
            ["run", "{model}", "--backend", "scripted", "--chat-template", "{model}", "--bench", "\udcff"],
            2,
            "is not text",
        ),
        (["run", "~nobody-of-that-name/x.gguf"], 2, "no user of that name"),
        (["sample", "demo", "--output", "absent/ids.json"], 2, "cannot write absent/ids.json"),
        (["report"], 2, "no database"),
        (["report", "--db", "{model}"], 1, "not a SQLite database"),
        (["protocols", "bxo"], 2, "bxo"),
        (["frobnicate"], 2, "frobnicate"),
    ],
)
def test_a_wrong_call_is_one_message_and_a_code(
    twlocal: Call, model_file: Path, words: list[str], code: int, says: str
) -> None:
    done = twlocal(*[word.format(model=model_file) for word in words])
    assert done.returncode == code
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_debug_shows_the_traceback_wherever_it_stands(twlocal: Call) -> None:
    for words in (["--debug", "report"], ["report", "--debug"]):
        done = twlocal(*words)
        assert "Traceback" in done.stderr
        assert done.returncode == 1


def test_a_wrong_call_leaves_no_run_behind(twlocal: Call, base: list[str]) -> None:
    assert twlocal(*base, "--set", "refuse_after=0").returncode == 1
    stillborn = [word.replace("scripted", "scripted_stillborn") if word == "scripted" else word for word in base]
    assert twlocal(*stillborn, "--max-tokens", "7").returncode == 1
    listed = json.loads(twlocal("runs", "--json").stdout)
    assert [run["answered"] for run in listed] == [0], "what never opened is no run"


def test_runs_fits_a_terminal_and_gives_the_numbers_that_commands_take(
    twlocal: Call, base: list[str], questions: Path
) -> None:
    assert twlocal(*base).returncode == 0
    lines = twlocal("runs", "--lang", "en").stdout.splitlines()
    number, name = lines[2].split()[:2]
    assert max(map(len, lines)) <= 80
    assert str(questions.parent.absolute()) not in lines[2]
    assert json.loads(twlocal("report", number, "--json").stdout)["run"] == name == _name(twlocal)
    assert "完成" in twlocal("runs", "--lang", "zh-TW").stdout
    assert json.loads(twlocal("runs", "--json").stdout)[0]["bench"].endswith(questions.name)


def test_reports_in_both_languages_and_as_json(twlocal: Call, base: list[str]) -> None:
    twlocal(*base)
    english, chinese = twlocal("report", "--lang", "en"), twlocal("report", "--lang", "zh-TW", "--by", "subject")
    assert "95% CI" in english.stdout
    assert "信賴區間" in chinese.stdout
    assert "民法" in chinese.stdout
    assert "box（\\boxed{}，定稿的提示詞）" in chinese.stdout, "the protocol's Chinese title comes through the manifest"
    again = twlocal("report", "--reader", "lenient", "--lang", "en").stdout
    assert again.startswith("box  lenient ") and "read with lenient" in again
    report = json.loads(twlocal("report", "--json").stdout)
    assert report["score"]["n"] == 40
    assert report["score"]["interval"][0] < report["score"]["accuracy"] < report["score"]["interval"][1]
    assert report["protocol"]["name"] == "box"


def test_the_locale_chooses_the_language(twlocal: Call, base: list[str]) -> None:
    twlocal(*base)
    assert "信賴區間" in twlocal("report", env={"LC_ALL": "", "LANG": "zh_TW.UTF-8"}).stdout
    assert "95% CI" in twlocal("report", env={"LC_ALL": "", "LANG": "de_DE.UTF-8"}).stdout


def test_another_reader_reads_the_same_responses(twlocal: Call, base: list[str]) -> None:
    twlocal(*base)
    strict = json.loads(twlocal("report", "--json").stdout)
    lenient = json.loads(twlocal("report", "--json", "--reader", "lenient").stdout)
    assert lenient["score"]["parsed"] > strict["score"]["parsed"]
    assert lenient["score"]["n"] == strict["score"]["n"]
    unknown = twlocal("report", "--reader", "psychic")
    assert unknown.returncode == 2
    assert "lenient" in unknown.stderr


def test_show_tells_prompt_response_readings_and_why(twlocal: Call, base: list[str]) -> None:
    twlocal(*base)
    shown = twlocal("show", _name(twlocal), "q3")
    assert shown.returncode == 0, shown.stderr
    assert "第3題：下列何者正確？" in shown.stdout
    assert "options shown in the order" in shown.stdout
    assert "twinkle_box" in shown.stdout
    whole = twlocal("show", _name(twlocal), "q3", "--prompt")
    assert "你是一位專業的測驗作答助理" in whole.stdout
    assert "你是一位專業的測驗作答助理" not in shown.stdout
    view = json.loads(twlocal("show", _name(twlocal), "q3", "--json").stdout)
    (answer,) = view["answers"]
    assert sorted(answer["order"]) == list("ABCD")
    assert answer["key_shown"] == "ABCD"[answer["order"].index(view["answer"])]


def test_show_tells_of_failures_and_of_what_is_not_answered(twlocal: Call, base: list[str]) -> None:
    twlocal(*base, "--set", "fail_on=第7題")
    shown = twlocal("show", _name(twlocal), "q7")
    assert "no answer (server" in shown.stdout


def test_exports_agree_in_every_format(twlocal: Call, base: list[str], tmp_path: Path) -> None:
    import pyarrow.parquet as parquet

    twlocal(*base)
    name = _name(twlocal)
    lines = [json.loads(line) for line in twlocal("export", name).stdout.splitlines()]
    table = list(csv.DictReader(io.StringIO(twlocal("export", name, "--format", "csv").stdout)))
    assert twlocal("export", name, "-o", "out.parquet").returncode == 0
    rows = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    assert lines == rows
    assert len(table) == len(lines) == 40
    for line, cells in zip(lines, table, strict=True):
        assert {key: "" if value is None else str(value) for key, value in line.items()} == cells
    assert "question" not in lines[0]
    assert "latency" not in lines[0]
    more = json.loads(twlocal("export", name, "--words", "--timings").stdout.splitlines()[0])
    assert more["question"].endswith("下列何者正確？")
    assert more["engine"] == "scripted"
    assert more["attempt"] == 1


def test_a_table_for_a_spreadsheet_has_a_mark_and_a_line_of_json_is_one_line(
    twlocal: Call, base: list[str], tmp_path: Path
) -> None:
    """Without the mark a spreadsheet on a Chinese Windows takes UTF-8 for Big5."""
    said = "一\u2028二\u2029三\x85四"
    assert twlocal(*base, "--set", f"say={said}", "--limit", "3").returncode == 0
    name = _name(twlocal)
    assert twlocal("export", name, "-o", "out.csv").returncode == 0
    raw = (tmp_path / "out.csv").read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf") and raw.count(b"\xef\xbb\xbf") == 1
    assert [row["text"] for row in csv.DictReader(io.StringIO(raw.decode("utf-8-sig")))] == [said] * 3
    assert not twlocal("export", name, "--format", "csv").stdout.startswith("\ufeff"), "a pipe is no spreadsheet"
    assert twlocal("export", name, "-o", "out.jsonl").returncode == 0
    text = (tmp_path / "out.jsonl").read_bytes().decode("utf-8")
    assert [json.loads(line)["text"] for line in text.splitlines()] == [said] * 3


def test_a_file_name_that_names_no_format_is_refused_and_nothing_is_written(
    twlocal: Call, base: list[str], tmp_path: Path
) -> None:
    twlocal(*base)
    refused = twlocal("export", _name(twlocal), "-o", "out.xlsx")
    assert refused.returncode == 2
    assert "out.xlsx" in refused.stderr and ".csv" in refused.stderr
    assert not (tmp_path / "out.xlsx").exists()
    assert twlocal("export", _name(twlocal), "-o", "out.txt", "--format", "jsonl").returncode == 0
    assert len((tmp_path / "out.txt").read_text(encoding="utf-8").splitlines()) == 40


def test_a_reader_whose_package_is_missing_is_not_called_a_failure_to_read(twlocal: Call, base: list[str]) -> None:
    twlocal(*base)
    readings = {line.split()[0]: line for line in twlocal("show", _name(twlocal), "0").stdout.splitlines() if line}
    installed = importlib.util.find_spec("twinkle_eval") is not None
    assert ("n/a" in readings["twinkle_pattern"]) is not installed
    assert "n/a" not in readings["box"]
    chinese = twlocal("show", _name(twlocal), "0", "--lang", "zh-TW").stdout
    assert "正解（題庫裡的" in chinese and ("未安裝  要先安裝：pip install" in chinese) is not installed


def test_parquet_needs_a_file_and_a_folder_must_be_there(twlocal: Call, base: list[str]) -> None:
    twlocal(*base)
    refused = twlocal("export", _name(twlocal), "--format", "parquet")
    assert refused.returncode == 2
    assert "-o FILE.parquet" in refused.stderr
    nowhere = twlocal("export", _name(twlocal), "-o", "absent/out.csv")
    assert nowhere.returncode != 0
    assert "absent" in nowhere.stderr
    assert "fault of twlocal" not in nowhere.stderr


def test_a_sample_manifest_comes_back_through_ids(twlocal: Call, base: list[str], questions: Path) -> None:
    assert twlocal("sample", questions, "--k", "4", "--output", "ids.json").returncode == 0
    done = twlocal(*base, "--ids", "ids.json", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert {subject["subject"]: subject["n"] for subject in report["subjects"]} == {"民法": 4, "刑法": 4, "會計": 4}
    drawn = json.loads(twlocal(*base, "--sample", "4", "--json").stdout)
    assert drawn["run"] == report["run"], "the same rows are the same run, however they were named"
    both = twlocal(*base, "--ids", "ids.json", "--sample", "4")
    assert both.returncode == 2


def test_json_goes_alone_to_standard_output(twlocal: Call, base: list[str]) -> None:
    done = twlocal(*base, "--json")
    assert json.loads(done.stdout)["complete"] is True
    assert "40 to answer" in done.stderr
    quiet = twlocal(*base, "--json", "--quiet", "--max-tokens", "8")
    assert quiet.stderr == ""


@pytest.mark.parametrize("encoding", ["cp950", "ascii", "utf-8"])
def test_consoles_of_other_encodings(twlocal: Call, base: list[str], encoding: str) -> None:
    done = (
        twlocal(*base, "--lang", "zh-TW", env={"PYTHONIOENCODING": encoding, "LC_ALL": "C.UTF-8"})
        if encoding == "utf-8"
        else None
    )
    if done is None:
        environment = {
            **os.environ,
            "PYTHONIOENCODING": encoding,
            "PYTHONPATH": str(Path(__file__).parents[2] / "plugins"),
        }
        raw = subprocess.run(
            [sys.executable, "-m", "twlocal", *base, "--lang", "zh-TW", "--db", base[1] + ".db"],
            env=environment,
            capture_output=True,
            check=False,
        )
        assert raw.returncode == 0, raw.stderr
        raw.stdout.decode(encoding)
        assert b"Traceback" not in raw.stderr
        return
    assert done.returncode == 0
    assert "信賴區間" in done.stdout


def test_a_terminal_gets_a_bar_and_no_color_is_honoured(base: list[str], tmp_path: Path) -> None:
    plugins = str(Path(__file__).parents[2] / "plugins")
    for no_color in ("", "1"):
        parent, child = pty.openpty()
        environment = {**os.environ, "PYTHONPATH": plugins, "TERM": "xterm", "NO_COLOR": no_color, "LC_ALL": "C.UTF-8"}
        words = [*base, "--db", str(tmp_path / f"bar{no_color}.db"), "--set", "delay=0.01", "--set", "fail_on=第3題"]
        process = subprocess.Popen(
            [sys.executable, "-m", "twlocal", *words], stdout=child, stderr=child, env=environment, cwd=tmp_path
        )
        os.close(child)
        seen = b""
        while True:
            try:
                block = os.read(parent, 65536)
            except OSError:
                break
            if not block:
                break
            seen += block
        process.wait()
        os.close(parent)
        text = seen.decode("utf-8", "replace")
        assert "39/40" in text
        assert re.search(r"[\d.]+% of 39 right, [\d.]+% boxed", text)
        assert "\r" in text
        assert ("\x1b[1m" in text) is (no_color == "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", [["export", "1", "--format", "csv"], ["report"], ["runs"]])
def test_output_that_finds_no_room_is_said(twlocal: Call, base: list[str], tmp_path: Path, words: list[str]) -> None:
    twlocal(*base)
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "twlocal", *words],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    said = done.stderr.decode()
    assert "cannot write all of the output: No space left" in said
    assert said.count("twlocal:") == 1
    assert "Traceback" not in said


@pytest.mark.skipif(os.name != "posix", reason="closes streams as a POSIX shell does")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_streams_that_are_not_there(twlocal: Call, base: list[str], tmp_path: Path, closed: str) -> None:
    words = shlex.join([sys.executable, "-m", "twlocal", *base])
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "plugins")}
    done = subprocess.run(
        ["sh", "-c", f"exec {words} {closed}"], cwd=tmp_path, env=env, capture_output=True, check=False
    )
    assert done.returncode == 0, done
    assert b"Traceback" not in done.stdout + done.stderr
    assert json.loads(twlocal("runs", "--json").stdout)[0]["state"] == "complete"


def test_a_folder_does_not_hide_what_twlocal_knows_by_that_name(twlocal: Call, base: list[str], tmp_path: Path) -> None:
    for name in ("demo", "box"):
        (tmp_path / name).mkdir()
    words = [word if not word.endswith("題庫.jsonl") else "demo" for word in base]
    done = twlocal(*words, "--protocol", "box", "--limit", "9", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["bench"] == "demo"


def test_protocols_are_listed_in_both_languages_and_say_which_hash_a_report_shows(twlocal: Call) -> None:
    english, chinese = (twlocal("protocols", "--lang", lang).stdout for lang in ("en", "zh-TW"))
    assert "two worked examples" in english and "附兩題示範" in chinese
    assert "a report shows another" in " ".join(english.split()) and "報告上的雜湊值" in chinese
    assert "a report shows another" not in twlocal("protocols", "box-2shot", "--lang", "en").stdout, "its own budget"
    assert "否，每一題前面都多放了兩題示範" in twlocal("protocols", "box-2shot", "--lang", "zh-TW").stdout
