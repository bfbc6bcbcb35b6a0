"""`twlocal doctor`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from twlocal.cli.common import db_option, json_option, lang_option, language, note, out, width

if TYPE_CHECKING:
    from twlocal.doctor import Examination


@click.command()
@click.option(
    "--record",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write what this machine's tools say into FILE, for `twlocal route --machine FILE` elsewhere.",
)
@json_option
@lang_option
@db_option
def doctor(**options: Any) -> int:
    """Look at this machine before anything runs: hardware, drivers, disk, token, and which known models run here.

    Needs no engine and no network. Each "no" says what to do; "--" is worth knowing. Ends with 1 where nothing can run.
    """
    import json

    from twlocal import doctor as preflight
    from twlocal import engines, hardware, registry

    known = registry.load(os.environ)
    outputs = hardware.probe(preflight.nearest(preflight.model_cache(os.environ)), os.environ)
    machine = hardware.from_recording(outputs)
    there = engines.installed(known.models.values(), metal=machine.apple is not None)
    if options["record"]:
        options["record"].write_text(_recording(outputs, there), encoding="utf-8")
        note(f"written: {options['record']}")
        return 0
    found = preflight.examine(machine, there, known, preflight.look(os.environ, options["database"], known))
    if options["as_json"]:
        out(json.dumps(as_dict(found), ensure_ascii=False, indent=1))
    else:
        out(_page(found, language(options["lang"])))
    return 0 if found.able else 1


def _recording(outputs: dict[str, str], there: Any) -> str:
    import json

    told = {
        engine.name: {
            "version": engine.version,
            "devices": sorted(engine.devices),
            **({"cuda": engine.cuda} if engine.cuda else {}),
            **({"architectures": sorted(engine.architectures)} if engine.architectures is not None else {}),
        }
        for engine in there
        if engine.version
    }
    # Without engines of its own, the machine is planned with current ones.
    data = {"name": "", "outputs": outputs} | ({"engines": told} if told else {})
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"


def as_dict(found: Examination) -> dict[str, Any]:
    """The preflight for machines: codes and facts beside the English sentences."""
    from twlocal.doctor import describe
    from twlocal.route_words import say, shown, words

    said = words("en")
    return {
        "able": found.able,
        "hardware": describe(found.hardware),
        "notes": list(found.hardware.notes),
        "checks": [
            {
                "check": check.name,
                "mark": check.mark,
                "essential": check.essential,
                "code": check.code,
                "text": said[check.code].format_map(shown(check.facts, "en")),
                "facts": dict(check.facts),
            }
            for check in found.checks
        ],
        "models": [
            {
                "model": runs.model.id,
                "engine": runs.engine,
                "installed": runs.installed,
                "tight": runs.tight,
                "why_not": say(runs.why, "en") if runs.why else None,
            }
            for runs in found.models
        ],
    }


def _page(found: Examination, lang: str) -> str:
    from twlocal.report.table import columns, one_line, pad, safe, table, wrap
    from twlocal.route_words import shown, words

    said = words(lang)
    room, encoding = max(width(sys.stdout), 40), sys.stdout.encoding
    labels = {check.name: safe(said[f"check_{check.name}"], encoding) for check in found.checks}
    wide = max(map(columns, labels.values())) + 2
    page: list[str] = []
    for check in found.checks:
        text = safe(one_line(said[check.code].format_map(shown(check.facts, lang))), encoding)
        page += wrap(f"{said[check.mark]}  {pad(labels[check.name], wide)}{text}", room, " " * (wide + 4))
    for code in found.hardware.notes:
        page += wrap(f"{said['skip']}  " + safe(said[f"note_{code}"], encoding), room, "    ")
    page += wrap(f"{said['skip']}  " + safe(said["registry_facts"], encoding), room, "    ")
    rows = []
    for runs in found.models:
        if runs.engine is None:
            continue
        engine = runs.engine if runs.installed else said["with_engine"].format(engine=runs.engine)
        cells = (runs.model.id, engine + (f" ({said['tight_mark']})" if runs.tight else ""))
        rows.append([safe(one_line(cell), encoding) for cell in cells])
    header = [safe(said[name], encoding) for name in ("column_model", "column_engine")]
    if rows:
        page += ["", safe(said["models"], encoding), "", *table(rows, header, width=room)]
    if others := _refused(found, lang):
        page += ["", *wrap(safe(said["models_not"], encoding), room, ""), ""]
        for line in others:
            page += wrap(safe(one_line(f"  {line}"), encoding), room, "    ")
    return "\n".join(line.rstrip() for line in page)


def _refused(found: Examination, lang: str) -> list[str]:
    """Why models do not run here; those that share a plain reason share a line."""
    from twlocal.route_words import say, shown, words

    said = words(lang)
    shared: dict[tuple[str, str], list[str]] = {}
    lines = []
    for runs in found.models:
        if runs.engine is not None or runs.why is None:
            continue
        facts = shown(runs.why.facts, lang)
        if runs.why.code == "too_big":
            place = (
                said["too_big_all"]
                .replace("{place}", facts["place"].lstrip())
                .replace("{memory_bytes}", facts["memory_bytes"])
            )
            shared.setdefault(("too_big", place), []).append(f"{runs.model.id} ({facts['weights_bytes']})")
        elif runs.why.code == "no_gguf":
            shared.setdefault(("no_gguf", said["no_gguf_all"]), []).append(runs.model.id)
        else:
            lines.append(f"{runs.model.id}{said['colon']}{say(runs.why, lang)}")
    return [text.replace("{models}", said["list"].join(models)) for (_, text), models in shared.items()] + lines
