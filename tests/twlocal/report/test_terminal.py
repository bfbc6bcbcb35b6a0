"""The terminal report: the score never without what qualifies it, in either language, on any console."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

import pytest

from twlocal.alarms import Alarm
from twlocal.errors import UsageError
from twlocal.report.table import columns
from twlocal.report.terminal import render
from twlocal.report.view import RunView
from twlocal.score import Repeats, Tally

Make = Callable[..., RunView]


def test_the_whole_report_in_english(view: Make) -> None:
    assert render(view(), 100, by_subject=True) == (
        "box  strict 46.2% (95% CI 43.9–48.6, n = 1,696)\n"
        "     lenient 46.9% (44.6–49.3), for comparison only\n"
        "     box rate 98.5%, parse rate 97.9%, lenient parse rate 99.3%\n"
        "\n"
        "run        gemma-formosa\n"
        "model      twinkle-ai/gemma-3-4B-T1-it 1234567\n"
        "dataset    tw-formosa-bench, 1,696 questions\n"
        "protocol   box (\\boxed{}, final prompt), sha256 0123456789abcdef\n"
        "engine     vLLM 0.11.0\n"
        "responses  12 cut by the budget of 4,096 tokens, 5 looping, 6 without a final text, 7 empty, 3\n"
        "           refused, 4 filtered, 2 read from 甲乙丙丁\n"
        "tokens     410,000 in, 310,000 out (30,000 of them reasoning), not told by 1\n"
        "time       2 h 05 min in 3 sittings, begun 2026-11-29 21:00 UTC\n"
        "\n"
        "subject               n  strict     95% CI  lenient    box  parsed  cut\n"
        "------------------  ---  ------  ---------  -------  -----  ------  ---\n"
        "民法                846   49.6%  46.3-53.0    50.8%  99.3%   99.1%    0\n"
        "稅務法規與會計審計  850   42.8%  39.5-46.2    43.1%  97.6%   96.7%   12\n"
    )


def test_the_headline_in_chinese(view: Make) -> None:
    lines = render(view(), lang="zh-TW").splitlines()
    assert lines[:3] == [
        "box  嚴格讀法 46.2%（95% 信賴區間 43.9–48.6，n=1,696）",
        "     寬鬆讀法 46.9%（44.6–49.3），僅供對照，不能取代嚴格讀法",
        "     寫框率 98.5%，可讀率 97.9%，寬鬆可讀率 99.3%",
    ]
    assert "題庫   tw-formosa-bench，1,696 題" in lines
    assert "時間   2 小時 05 分（分 3 次執行），2026-11-29 21:00 UTC 開始" in lines


@pytest.mark.parametrize("lang", ["en", "zh-TW"])
@pytest.mark.parametrize("width", [40, 60, 80, 200])
@pytest.mark.parametrize("encoding", ["utf-8", "cp950", "ascii"])
def test_no_line_is_too_wide_and_every_console_can_print_it(
    view: Make, alarm: Alarm, lang: str, width: int, encoding: str
) -> None:
    shown = view(alarms=(alarm,), failures={"transport": 2}, quantised=True, publishable=False, why_not="為了研究而留")
    text = render(shown, width, lang=lang, encoding=encoding, by_subject=True)
    assert all(columns(line) <= width for line in text.splitlines())
    text.encode(encoding)
    assert "box" in text.split()[0] and "46.2%" in text and "98.5%" in text


def test_a_table_under_ascii_is_still_aligned_and_names_can_be_told_apart(view: Make) -> None:
    lines = render(view(), 120, encoding="ascii", by_subject=True).splitlines()[-4:]
    assert {len(line) for line in lines} == {len(lines[0])}
    assert "\\u6c11\\u6cd5" in lines[2]


def test_a_narrow_terminal_gets_at_least_forty_columns(view: Make) -> None:
    assert render(view(), 3) == render(view(), 40)


def test_colours_only_where_asked_for(view: Make, alarm: Alarm) -> None:
    shown = view(alarms=(alarm,), failures={"server": 1}, quantised=True)
    plain, coloured = render(shown, by_subject=True), render(shown, color=True, by_subject=True)
    assert "\x1b" not in plain
    assert coloured.startswith("\x1b[1mbox  strict")
    assert re.sub(r"\x1b\[\d*m", "", coloured) == plain


def test_an_incomplete_run_says_so_and_why(view: Make) -> None:
    short = dataclasses.replace(view().score.overall, planned=1700)
    text = render(view(overall=short, failures={"transport": 2, "cut": 1}), 120)
    assert "INCOMPLETE 1,696 of 1,700: 3 failed (cut 1, transport 2), 1 to come. The same command goes on" in text
    assert "NOT PUBLISHABLE: the run is incomplete\n" in text
    chinese = render(view(overall=short), 120, lang="zh-TW")
    assert "未完成 1,696／1,700：4 題尚未作答。" in chinese
    failed = render(view(overall=short, failures={"cut": 4}), 120)
    assert "4 failed (cut 4). The same command" in failed


def test_nothing_answered_shows_no_score_at_all(view: Make) -> None:
    text = render(view(overall=Tally(planned=5), subjects=(("民法", Tally(planned=5)),)), by_subject=True)
    assert text.startswith("box  no score: none of 5 responses is in yet\nINCOMPLETE 0 of 5: 5 to come.")
    assert "%" not in text.replace("95% CI", "")
    assert text.splitlines()[-1].split() == ["民法", "0/5", "-", "-", "-", "-", "-", "0"]


def test_what_keeps_a_score_from_being_published(view: Make) -> None:
    assert "NOT PUBLISHABLE" not in render(view())
    text = render(view(publishable=False, why_not="kept to be studied", quantised=True), 120)
    assert "NOT PUBLISHABLE: kept to be studied; the weights are quantised\n" in text
    assert "QUANTISED: this is the score of a compressed file" in text
    assert "engine     vLLM 0.11.0, quantised\n" in text
    nameless = render(view(publishable=False, protocol="mine"), 120)
    assert "NOT PUBLISHABLE: the protocol mine is not the published one\n" in nameless
    assert "QUANTISED" not in render(view(quantised=None))


def test_another_reader_than_the_protocols_own_is_named_and_its_score_is_not_publishable(view: Make) -> None:
    text = render(view(reader="lenient", protocol_reader="box"), 120)
    assert text.startswith("box  lenient 46.2% (95% CI 43.9–48.6, n = 1,696)\n")
    assert "NOT PUBLISHABLE: read with lenient, and the protocol is read with box\n" in text
    chinese = render(view(reader="lenient", protocol_reader="box"), 120, lang="zh-TW")
    assert (
        chinese.startswith("box  lenient 讀法 46.2%（")
        and "不可發表：用的是 lenient 讀法，協定規定的是 box\n" in chinese
    )
    own = render(view(reader="twinkle_box", protocol_reader="twinkle_box"), 120)
    assert own.startswith("box  twinkle_box 46.2%") and "NOT PUBLISHABLE" not in own
    assert "NOT PUBLISHABLE" not in render(view(protocol_reader="box"), 120)


def test_a_model_that_guesses_is_said_to(view: Make) -> None:
    guessing = dataclasses.replace(view().score.overall, correct=420, parsed=1660)
    text = render(view(overall=guessing), 120)
    assert "NOT ABOVE CHANCE: 420 of 1,660 readable answers right, which does not differ significantly" in text
    assert "隨機猜答（25%）" in render(view(overall=guessing), 120, lang="zh-TW")
    assert "guessing" not in render(view())


def test_a_narrow_interval_gets_a_second_decimal(view: Make) -> None:
    corpus = Tally(n=253_674, planned=253_674, items=253_674, correct=208_495, parsed=239_316, boxes=240_000)
    text = render(view(overall=corpus))
    assert text.startswith("box  strict 82.19% (95% CI 82.04–82.34, n = 253,674)\n")


def test_repeats(view: Make) -> None:
    thrice = dataclasses.replace(view().score.overall, items=848, planned=1696)
    repeats = Repeats(asked=2, accuracies=(0.461, None), compared=800, same=700)
    text = render(view(overall=thrice, repeats=repeats), 120)
    assert "n = 848 questions, 1,696 responses)" in text
    assert "dataset    tw-formosa-bench, 848 questions\n" in text
    assert "repeats    2 a question: 46.1%, -; the same option each time in 700 of 800\n" in text


def test_withdrawn_rows_are_counted(view: Make) -> None:
    assert "1,696 questions (1,875 drawn, 179 withdrawn)\n" in render(view(withdrawn=179))
    assert "179 withdrawn, 2 of them since it was asked)" in render(view(withdrawn=179, withdrawn_since=2), 120)
    assert "（抽樣 1,875 題，撤題 179 題，其中 2 題於作答後撤題）" in render(
        view(withdrawn=179, withdrawn_since=2), 120, lang="zh-TW"
    )


def test_alarms_stand_below_in_the_language_of_the_report(view: Make, alarm: Alarm) -> None:
    assert "ALARM low_box_rate: Only 12.0% of the responses wrote a \\boxed{}.\n" in render(view(alarms=(alarm,)))
    chinese = render(view(alarms=(alarm,)), lang="zh-TW")
    assert "警示 寫框率低（low_box_rate）：只有 12.0% 的作答寫了 \\boxed{}" in chinese


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, "unknown"),
        (0.0, "0.0 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 00 s"),
        (90.0, "1 min 30 s"),
        (3599.6, "1 h 00 min"),
        (86_400.0, "24 h 00 min"),
    ],
)
def test_times(view: Make, seconds: float | None, shown: str) -> None:
    assert f"time       {shown} in 3 sittings, begun" in render(view(seconds=seconds))


def test_what_is_not_known_is_said_or_left_out(view: Make) -> None:
    silent = Tally(n=4, planned=4, items=4, correct=4, parsed=4, boxes=4, untold=4)
    text = render(
        view(
            overall=silent,
            revision="",
            engine="",
            backend="",
            engine_version="",
            sittings=0,
            started="",
            max_tokens=None,
        )
    )
    assert "engine    unknown\n" in text and "tokens    not told by the engine\n" in text
    assert "\ntime " not in text and "\nresponses" not in text
    assert "model     twinkle-ai/gemma-3-4B-T1-it\n" in text
    assert "12 cut by the budget," in render(view(max_tokens=None), 120)
    assert "in 3 sittings\n" in render(view(started=""))


@pytest.mark.parametrize(
    ("started", "shown"),
    [
        ("2026-11-30T06:15:21.755526Z", "2026-11-30 06:15 UTC"),
        ("2026-11-30T05:00:00+08:00", "2026-11-29 21:00 UTC"),
        ("2026-11-30T05:00:00", "2026-11-30 05:00"),
        ("last week", "last week"),
    ],
)
def test_when_a_run_began_is_told_to_the_minute(view: Make, started: str, shown: str) -> None:
    assert f" in 3 sittings, begun {shown}\n" in render(view(started=started))
    assert f"（分 3 次執行），{shown} 開始\n" in render(view(started=started), lang="zh-TW")
    assert f"2 h 05 min, begun {shown}\n" in render(view(started=started, sittings=1))


def test_what_a_protocol_says_of_itself_is_chinese_in_a_chinese_report(view: Make) -> None:
    told = {"publishable": False, "why_not": "kept to be studied", "protocol_title": "with examples"}
    chinese = {"why_not_zh": "只供研究", "protocol_title_zh": "附示範"}
    text = render(view(**told, **chinese), 120, lang="zh-TW")
    assert "不可發表：只供研究\n" in text and "box（附示範），sha256" in text
    assert "with examples" not in text and "kept to be studied" not in text
    english = render(view(**told, **chinese), 120)
    assert "NOT PUBLISHABLE: kept to be studied\n" in english and "box (with examples), sha256" in english
    assert "不可發表：kept to be studied\n" in render(view(**told), 120, lang="zh-TW")


def test_names_from_outside_cannot_move_the_cursor(view: Make) -> None:
    text = render(view(model="evil\x1b[2J\rmodel\nname", run="r\u202eun"), 120)
    assert "\x1b" not in text and "\r" not in text and "\u202e" not in text
    assert "model      evil[2J model name 1234567\n" in text


def test_a_subject_without_a_name(view: Make) -> None:
    assert "(none)" in render(view(subjects=(("", view().score.overall),)), by_subject=True)


def test_a_language_that_is_not_there(view: Make) -> None:
    with pytest.raises(UsageError, match="no report in 'xx'"):
        render(view(), lang="xx")
