"""One item of a run, for `twlocal show`: the prompt as it was, the response, every reading and its reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twlocal import readers
from twlocal.errors import TwlocalError
from twlocal.item import LABELS, Item, shown_letter
from twlocal.judge import judge, right
from twlocal.plural import Count
from twlocal.protocol import Example, Protocol
from twlocal.record import Record
from twlocal.report.item_words import why, words
from twlocal.report.table import columns, minute, pad, visible, wrap
from twlocal.runs import RunRow, Runs


def item_view(runs: Runs, run: RunRow, row: Mapping[str, Any]) -> dict[str, Any]:
    """Everything stored about one planned row, as plain data. The prompt is None where a private run kept no words."""
    words = runs.words(row["content_hash"])
    protocol = protocol_of(run)
    answers = [_answer(record, protocol, words, row) for record in runs.records(run.id, no=row["no"])]
    failures = [
        {
            "repeat": failed["repeat"],
            "kind": failed["kind"],
            "error": failed["error"],
            "partial": failed["partial"],
            "at": failed["failed_at"],
        }
        for failed in runs.failure_rows(run.id, row["no"])
    ]
    return {"run": run.name, "protocol": run.protocol, **row, "answers": answers, "failures": failures}


def protocol_of(run: RunRow) -> Protocol:
    """The protocol a run was made under, from its manifest: the files may have changed since."""
    kept = run.manifest["protocol"]
    from twlocal.backend import Decoding

    return Protocol(
        name=kept["name"],
        title=kept["title"],
        system=kept["system"],
        body=kept["body"],
        decoding=Decoding(**run.manifest["decoding"]),
        reader=kept["reader"],
        shuffle=kept["shuffle"],
        publishable=kept["publishable"],
        why_not=kept["why_not"],
        examples=tuple(Example(one["question"], tuple(one["options"]), one["reply"]) for one in kept["examples"]),
    )


def _answer(
    record: Record, protocol: Protocol, words: tuple[str, tuple[str, str, str, str]] | None, row: Mapping[str, Any]
) -> dict[str, Any]:
    judged = judge(record, protocol.reader)
    prompt = None
    if words:
        item = Item(words[0], words[1], row["answer"], row["subject"], row["item_id"])
        prompt = [
            {"role": message.role, "content": message.content} for message in protocol.messages(item, record.order)
        ]
    return {
        "repeat": record.repeat,
        "order": record.order,
        "key_shown": shown_letter(record.answer, record.order),
        "prompt": prompt,
        "prompt_hash": record.prompt_hash,
        "text": record.text,
        "reasoning": record.reasoning,
        "finish": record.finish,
        "prompt_tokens": record.prompt_tokens,
        "completion_tokens": record.completion_tokens,
        "reasoning_tokens": record.reasoning_tokens,
        "flags": list(judged.flags),
        "loop": judged.loop,
        "readings": [_reading(name, record) for name in readers.READERS],
    }


def _reading(name: str, record: Record) -> dict[str, Any]:
    try:
        reading = readers.read(name, record.text, record.reasoning, record.finish, LABELS)
    except TwlocalError as error:
        return {
            "reader": name,
            "letter": None,
            "correct": None,
            "rule": None,
            "flags": [],
            "why": error.message,
            "hint": error.hint,
            "span": None,
        }
    return {
        "reader": name,
        "letter": reading.letter,
        "correct": right(reading.letter, record),
        "rule": reading.why,
        "flags": list(reading.flags),
        "why": readers.explain(reading),
        "span": list(reading.span) if reading.span else None,
    }


def render(view: Mapping[str, Any], *, whole_prompt: bool = False, lang: str = "en", width: int | None = None) -> str:
    """The view as text, in "en" or "zh-TW". width: columns at which reasons go on in the next line; None never."""
    said = words(lang)
    named = said["named"].format(id=view["item_id"]) if view["item_id"] else ""
    lines = [
        said["title"].format(run=view["run"], no=view["no"], named=named, subject=view["subject"]),
        said["hash"].format(hash=view["content_hash"]),
        "",
    ]
    if not view["answers"] and not view["failures"]:
        lines.append(said["not_answered"])
    for answer in view["answers"]:
        lines += _answer_lines(answer, view, whole_prompt, said, chinese=lang == "zh-TW", width=width)
    for failed in view["failures"]:
        told = {"kind": failed["kind"], "when": minute(failed["at"]), "error": failed["error"]}
        lines.append(said["no_answer"].format(**told))
    return visible("\n".join(lines)) + "\n"


def _answer_lines(
    answer: Mapping[str, Any],
    view: Mapping[str, Any],
    whole_prompt: bool,
    said: Mapping[str, str],
    *,
    chinese: bool,
    width: int | None,
) -> list[str]:
    lines = [said["again"].format(repeat=answer["repeat"] + 1)] if answer["repeat"] else []
    if answer["prompt"] is None:
        lines.append(said["private"])
    for message in answer["prompt"] or []:
        if whole_prompt or message is answer["prompt"][-1]:
            lines += [f"[{message['role']}]", message["content"], ""]
    if answer["reasoning"]:
        lines += [said["reasoning"], answer["reasoning"], ""]
    lines += [said["response"], answer["text"], ""]
    count = answer["completion_tokens"]
    tokens = said["unknown"] if count is None else said["tokens"].format(n=Count(count))
    loop = said["loop"] if answer["loop"] else ""
    lines.append(said["finish"].format(finish=answer["finish"], tokens=tokens) + loop)
    if answer["flags"]:
        lines.append(said["flags"].format(flags=", ".join(answer["flags"])))
    shown = {"order": answer["order"], "answer": view["answer"], "shown": answer["key_shown"]}
    lines += [said["order"].format(**shown), "", f"{pad(said['reader'], 16, 'r')}  {said['reads']}"]
    for reading in answer["readings"]:
        if reading["rule"] is None:
            reason = said["way_out"].format(hint=reading["hint"])
        elif chinese:
            reason = why(reading["rule"], reading["letter"], reading["flags"])
        else:
            reason = reading["why"]
        verdict = pad(said[_verdict(reading)], 6)
        start = f"{pad(reading['reader'], 16, 'r')}  {reading['letter'] or '-'}  {verdict}  "
        if width is None:
            lines.append(start + reason)
        else:
            first, *rest = wrap(reason, max(width - columns(start), 20)) or [""]
            lines += [start + first, *(" " * columns(start) + line for line in rest)]
    lines.append("")
    return lines


def _verdict(reading: Mapping[str, Any]) -> str:
    if reading["correct"] is None:
        return "missing"
    return "unread" if reading["letter"] is None else "right" if reading["correct"] else "wrong"
