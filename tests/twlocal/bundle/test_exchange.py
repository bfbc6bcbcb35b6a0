"""The board's rows: in the public board's reading, and read back from anybody."""

from __future__ import annotations

import hashlib
import json

import pytest

from twlocal.bundle import exchange
from twlocal.bundle.exchange import BoardRow
from twlocal.bundle.scrub import bench_name, looks_private, model_name, scrubbed
from twlocal.bundle.strict import Malformed
from twlocal.item import Item
from twlocal.record import Record

ITEM = Item("台灣最高的山是？", ("玉山", "雪山", "合歡山", "大霸尖山"), "A", "地理", "1")


def _record(text: str, reasoning: str = "", order: str = "BACD") -> Record:
    return Record(
        0, 0, "地理", "1", ITEM.content_hash, ITEM.stem_hash, "A", order, text, reasoning, "stop", 1, 1, None, None
    )


@pytest.mark.parametrize(
    ("text", "ok", "boxp", "lenp"),
    [
        ("\\boxed{B}", True, True, True),  # shown as B, the source's A
        ("\\boxed{A}", False, True, True),
        ("\\boxed{乙}", True, True, True),
        ("\\boxed{b}", True, True, True),
        ("\\boxed{E}", False, False, False),
        ("答案是 B", True, False, True),
        ("B", True, False, True),
        ("維生素 B 很重要", True, False, True),  # any lone letter, as the board reads it
        ("不知道", False, False, False),
        ("", False, False, False),
        # Its strict reading looks into thoughts, its lenient one does not.
        ("<think>\\boxed{B}</think>不知道", False, True, False),
        ("<think>\\boxed{A}</think>\\boxed{B}", True, True, True),
    ],
)
def test_a_row_says_what_the_public_board_reads(text: str, ok: bool, boxp: bool, lenp: bool) -> None:
    qh = hashlib.sha256("台灣最高的山是？".encode()).hexdigest()[:16]
    assert exchange.board_row(_record(text)) == BoardRow(qh, ok, boxp, lenp, ITEM.content_hash)


def test_a_line_holds_the_fields_in_the_contracts_order() -> None:
    line = exchange.to_line(exchange.board_row(_record("\\boxed{B}")))
    assert line.endswith("}\n")
    assert list(json.loads(line)) == ["qh", "ok", "boxp", "lenp", "ch"]
    assert exchange.from_line(line) == exchange.board_row(_record("\\boxed{B}"))


@pytest.mark.parametrize("yes", [True, 1])
def test_rows_of_public_runners_have_no_ch_and_may_count(yes: object) -> None:
    line = json.dumps({"qh": "0" * 16, "ok": yes, "boxp": 0, "lenp": yes, "t": 3})
    assert exchange.from_line(line) == BoardRow("0" * 16, True, False, True)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ([], "not a row"),
        ({"ok": True, "boxp": True, "lenp": True}, "without 'qh'"),
        ({"qh": "0" * 16, "ok": True, "boxp": True}, "without 'lenp'"),
        ({"qh": "0" * 15, "ok": True, "boxp": True, "lenp": True}, "16 hexadecimal"),
        ({"qh": "G" * 16, "ok": True, "boxp": True, "lenp": True}, "16 hexadecimal"),
        ({"qh": "0" * 16, "ok": 2, "boxp": True, "lenp": True}, "neither true nor false"),
        ({"qh": "0" * 16, "ok": None, "boxp": True, "lenp": True}, "neither true nor false"),
        ({"qh": "0" * 16, "ok": "yes", "boxp": True, "lenp": True}, "neither true nor false"),
        ({"qh": "0" * 16, "ok": True, "boxp": True, "lenp": False}, "although the lenient reading read nothing"),
        ({"qh": "0" * 16, "ok": True, "boxp": True, "lenp": True, "ch": "0" * 63}, "64 hexadecimal"),
    ],
)
def test_rows_that_cannot_be_are_malformed(row: object, says: str) -> None:
    with pytest.raises(Malformed, match=says):
        exchange.from_line(json.dumps(row))


@pytest.mark.parametrize(
    ("model", "folder"),
    [
        ("google/gemma-3-4b-it", "google_gemma-3-4b-it"),
        ("twinkle-ai/Llama-3.2-3B-F1:q8.gguf", "twinkle-ai_Llama-3.2-3B-F1-q8.gguf"),
        ("../../etc", "etc"),
        ("..", "model"),
        ("模型/中文", "模型_中文"),
        ("a" * 300, "a" * 80),
    ],
)
def test_a_models_folder_is_a_plain_name(model: str, folder: str) -> None:
    assert exchange.folder(model) == folder


@pytest.mark.parametrize(
    ("bench", "file"),
    [
        ("exam", "exam"),
        ("/data/題庫.jsonl", "題庫"),
        ("C:\\q\\x.csv", "x"),
        ("owner/name@main", "name-main"),
        ("/", "bench"),
    ],
)
def test_a_benchs_file_is_a_plain_name(bench: str, file: str) -> None:
    assert exchange.file(bench) == file


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("http://localhost:8000/v1#Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
        ("http://10.1.2.3:8000/v1#/srv/models/taide-8b", "taide-8b"),
        ("https://api.example.com/v1", "unnamed"),
        ("google/gemma-3-4b-it", "google/gemma-3-4b-it"),
        ("smollm2-135m", "smollm2-135m"),
    ],
)
def test_a_models_name_leaves_its_server_and_folder_behind(model: str, name: str) -> None:
    assert model_name(model) == name


@pytest.mark.parametrize(
    ("bench", "name"), [("exam", "exam"), ("/home/x/題庫.jsonl", "題庫.jsonl"), ("hf://o/n@r", "o/n@r")]
)
def test_a_benchs_name_leaves_its_folder_behind(bench: str, name: str) -> None:
    assert bench_name(bench) == name


@pytest.mark.parametrize(
    "text",
    [
        "/home/wang/x",
        "~/models",
        "file at /srv/x",
        "./x.gguf",
        "C:\\Users\\Lin",
        "D:/models",
        "\\\\nas\\models",
        "http://x",
        "postgres://u:p@h/d",
        "lin@example.com",
        "10.0.0.1:8000",
        "localhost",
        "hf_abcdefghijklmnopqrst",
        "sk-abcdefghijklmnopqrst",
        "kitchen-mac.lan",
        "runs on KITCHEN-MAC.LAN now",
    ],
)
def test_what_looks_private_is_taken_out(text: str) -> None:
    assert looks_private(text, ("kitchen-mac.lan",))
    assert scrubbed({"a": [text]}, ("kitchen-mac.lan",)) == {"a": ["(removed)"]}


@pytest.mark.parametrize(
    "text",
    [
        "google/gemma-3-4b-it",
        "and/or",
        "</think>",
        "<|end|>",
        "aiohttp 3.12.1",
        "Intel(R) Xeon(R) CPU @ 2.20GHz",
        "6.8.0-45-generic",
        "nucleus",
        "3.11.2",
        "max_tokens → max_completion_tokens",
        "Q8_0",
        "1/2",
        "題庫／甲",
    ],
)
def test_what_does_not_stays(text: str) -> None:
    assert not looks_private(text, ("kitchen-mac.lan",))


def test_settings_that_hold_an_address_go_whatever_they_look_like() -> None:
    assert scrubbed({"key": "OPENAI_API_KEY", "slots": 4, "Host": "x", "headers": ["x-team"]}) == {"slots": 4}
