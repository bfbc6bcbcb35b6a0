"""One item of a run, for `twlocal show`: the prompt as it was, the response, every reading and its reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twlocal import readers
from twlocal.errors import TwlocalError
from twlocal.item import LABELS, Item, shown_letter
from twlocal.judge import judge, right
from twlocal.protocol import Example, Protocol
from twlocal.record import Record
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
        return {"reader": name, "letter": None, "correct": None, "why": error.message, "span": None}
    return {
        "reader": name,
        "letter": reading.letter,
        "correct": right(reading.letter, record),
        "why": readers.explain(reading),
        "span": list(reading.span) if reading.span else None,
    }


def render(view: Mapping[str, Any], *, whole_prompt: bool = False) -> str:
    """The view as text for a terminal."""
    named = f" ({view['item_id']})" if view["item_id"] else ""
    lines = [f"{view['run']}, item {view['no']}{named}, {view['subject']}", f"content hash {view['content_hash']}", ""]
    if not view["answers"] and not view["failures"]:
        lines.append("not answered yet")
    for answer in view["answers"]:
        lines += _answer_lines(answer, view, whole_prompt)
    lines += [f"no answer ({failed['kind']}, {failed['at'][:19]}): {failed['error']}" for failed in view["failures"]]
    return "\n".join(lines)


def _answer_lines(answer: Mapping[str, Any], view: Mapping[str, Any], whole_prompt: bool) -> list[str]:
    lines = [f"-- asked again, repeat {answer['repeat'] + 1}"] if answer["repeat"] else []
    if answer["prompt"] is None:
        lines.append("(a private run: the question was not kept)")
    for message in answer["prompt"] or []:
        if whole_prompt or message is answer["prompt"][-1]:
            lines += [f"[{message['role']}]", message["content"], ""]
    if answer["reasoning"]:
        lines += ["[reasoning]", answer["reasoning"], ""]
    lines += ["[response]", answer["text"], ""]
    tokens = "unknown" if answer["completion_tokens"] is None else str(answer["completion_tokens"])
    lines.append(f"finish: {answer['finish']}, {tokens} tokens" + ("; ends in a loop" if answer["loop"] else ""))
    if answer["flags"]:
        lines.append(f"flags: {', '.join(answer['flags'])}")
    lines.append(
        f"options shown in the order {answer['order']}: the right one ({view['answer']} in the dataset) "
        f"was shown as {answer['key_shown']}"
    )
    lines += ["", f"{'reader':>16}  what it reads, in the letters shown"]
    for reading in answer["readings"]:
        lines.append(f"{reading['reader']:>16}: {reading['letter'] or '-'}  {_verdict(reading):<7} {reading['why']}")
    lines.append("")
    return lines


def _verdict(reading: Mapping[str, Any]) -> str:
    if reading["correct"] is None:
        return "n/a"  # a reader whose package is not installed
    return "unread" if reading["letter"] is None else "right" if reading["correct"] else "wrong"
