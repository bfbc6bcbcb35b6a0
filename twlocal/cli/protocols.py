"""`twlocal protocols`."""

from __future__ import annotations

import sys

import click

from twlocal.cli.common import columns, json_option, lang_option, language, out, width

_ENGLISH = {
    "header": "protocol|sha256|publishable|what it is",
    "yes": "yes",
    "no": "no",
    "why_not": "no, {why}",
    "hash": "The hash covers the number of new tokens too: where the benchmark or --max-tokens sets it, "
    "a report shows another.",
    "publishable": "publishable: {said}",
    "budget": "the benchmark's own, else 4096",
    "decoding": "temperature {temperature}, top_p {top_p}, max tokens: {budget}; reader: {reader}; options {order}",
    "shuffled": "permuted by the question hash",
    "as_given": "in the order of the source",
    "no_system": "no system prompt",
    "system": "system prompt (sha256 {sha}):",
    "user": "user message:",
    "example": "worked example {number}:",
}
_CHINESE = {
    "header": "協定|sha256|可發表|說明",
    "yes": "是",
    "no": "否",
    "why_not": "否，{why}",
    "hash": "雜湊值也包括新 token 上限：上限由題庫或 --max-tokens 決定時，報告上的雜湊值就不同。",
    "publishable": "可發表：{said}",
    "budget": "依題庫，沒有就是 4096",
    "decoding": "temperature {temperature}，top_p {top_p}，新 token 上限：{budget}；讀法：{reader}；選項{order}",
    "shuffled": "依題目雜湊值排列",
    "as_given": "照來源的順序",
    "no_system": "沒有系統提示詞",
    "system": "系統提示詞（sha256 {sha}）：",
    "user": "使用者訊息：",
    "example": "示範題 {number}：",
}


@click.command()
@click.argument("name", metavar="[PROTOCOL]", required=False)
@json_option
@lang_option
def protocols(name: str | None, as_json: bool, lang: str | None) -> None:
    """List the bundled protocols, or show one in full: its prompt, its decoding, its hashes."""
    import json
    from dataclasses import asdict

    from twlocal import protocol
    from twlocal.report.table import table, wrap

    chinese = language(lang) == "zh-TW"
    said = _CHINESE if chinese else _ENGLISH
    if name is None:
        listed = [protocol.load(known) for known in protocol.names()]
        if as_json:
            out(json.dumps([asdict(one) | {"sha256": one.sha256} for one in listed], ensure_ascii=False, indent=1))
            return
        rows = [
            [
                one.name,
                one.sha256[:12],
                said["yes"] if one.publishable else said["no"],
                (chinese and one.title_zh) or one.title,
            ]
            for one in listed
        ]
        lines = [line.rstrip() for line in table(rows, said["header"].split("|"), width=columns(sys.stdout))]
        out("\n".join([*lines, "", *wrap(said["hash"], width(sys.stdout))]))
        return
    one = protocol.load(name)
    if as_json:
        out(
            json.dumps(
                asdict(one) | {"sha256": one.sha256, "system_sha256": one.system_sha256}, ensure_ascii=False, indent=1
            )
        )
        return
    why = (chinese and one.why_not_zh) or one.why_not
    about = [
        f"{one.name}: {(chinese and one.title_zh) or one.title}",
        f"sha256 {one.sha256}",
        said["publishable"].format(said=said["yes"] if one.publishable else said["why_not"].format(why=why)),
        said["decoding"].format(
            temperature=one.decoding.temperature,
            top_p=one.decoding.top_p,
            budget=f"{one.decoding.max_tokens:,}" if one.own_budget else said["budget"],
            reader=one.reader,
            order=said["shuffled" if one.shuffle else "as_given"],
        ),
        *([] if one.own_budget else [said["hash"]]),
    ]
    # What the model is sent stands as it is, whatever the terminal's width.
    system = [said["system"].format(sha=one.system_sha256), one.system] if one.system else [said["no_system"]]
    out("\n".join(line for text in about for line in wrap(text, width(sys.stdout), "  ")))
    out("\n".join(["", *system, "", said["user"], one.body]))
    for number, example in enumerate(one.examples, 1):
        options = " / ".join(example.options)
        out(f"\n{said['example'].format(number=number)}\n{example.question} {options}\n{example.reply}")
