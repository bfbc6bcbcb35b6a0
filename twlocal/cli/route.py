"""`twlocal route`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from twlocal.cli.common import json_option, lang_option, language, out, width

if TYPE_CHECKING:
    from twlocal.engines import EngineFacts
    from twlocal.hardware import Hardware
    from twlocal.registry import Registry
    from twlocal.route import Route


@click.command()
@click.argument("name", metavar="MODEL")
@click.option(
    "--machine",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Plan for another machine: a recording of it (`twlocal doctor --record FILE` there).",
)
@click.option("--backend", type=click.Choice(["llama_cpp", "mlx", "vllm"]), help="Ask about this engine only.")
@click.option(
    "--max-tokens", type=click.IntRange(1), help="New tokens an answer may have.  [default: the model's, 4096]"
)
@click.option("--longest-prompt", type=click.IntRange(1), help="Tokens of the longest prompt, where it is known.")
@click.option("--gpus", type=click.IntRange(1), help="Use at most this many cards.")
@click.option("--quantised", is_flag=True, help="Allow a quantised file where the released precision does not fit.")
@click.option("--trust-remote-code", is_flag=True, help="Allow Python code of this model's repository to run.")
@json_option
@lang_option
def route(name: str, **options: Any) -> int:
    """Say which engine would run MODEL, with which settings, and why; and of each other engine, why not.

    MODEL is a model of the registry (its Hub id or a short name), a checkpoint's folder, or a .gguf file. Nothing is
    fetched and no engine is started. Ends with 1 where nothing can run it.
    """
    import json

    from twlocal import checkpoint, doctor, registry
    from twlocal.route import Wishes, decide

    known = registry.load(os.environ)
    path = Path(name).expanduser()
    local = path.is_dir() or path.suffix == ".gguf"
    own = local and ":" not in name  # its facts are those of its own config.json or header
    model = checkpoint.read(path, known) if own else known.get(name)
    machine, engines, assumed = surroundings(options["machine"], known)
    wishes = Wishes(
        engine=options["backend"],
        longest_prompt=options["longest_prompt"],
        max_tokens=options["max_tokens"],
        token=bool(doctor.hub_token(os.environ)),
        quantised=options["quantised"],
        trust_remote_code=options["trust_remote_code"],
        gpus=options["gpus"],
    )
    decided = decide(model, machine, engines, wishes)
    more = None
    if decided.engine is None and not assumed:
        from twlocal.engines import planned

        there = {engine.name: engine for engine in engines if engine.present}
        wider = decide(model, machine, [there.get(one.name, one) for one in planned(machine)], wishes)
        more = wider.engine
    if options["as_json"]:
        out(json.dumps(as_dict(decided, machine, assumed=assumed, if_installed=more), ensure_ascii=False, indent=1))
    else:
        lang = language(options["lang"])
        out(page(decided, machine, lang, assumed=assumed, if_installed=more, from_registry=not own))
    return 0 if decided.engine else 1


def surroundings(recording: Path | None, known: Registry) -> tuple[Hardware, tuple[EngineFacts, ...], bool]:
    """The machine, its engines, and whether these are assumed: of a recording, or of this machine."""
    from twlocal import doctor, engines, hardware

    if recording is None:
        folder = doctor.nearest(doctor.model_cache(os.environ))
        here = hardware.from_recording(hardware.probe(folder, os.environ))
        return here, engines.installed(known.models.values(), metal=here.apple is not None), False
    data = hardware.load(recording)
    machine = hardware.from_recording(data["outputs"], name=str(data.get("name") or recording.stem))
    if "engines" in data:
        return machine, engines.from_recording(data["engines"], str(recording)), False
    return machine, engines.planned(machine), True


def as_dict(decided: Route, machine: Hardware, *, assumed: bool, if_installed: str | None) -> dict[str, Any]:
    """A route for machines: codes and facts beside the English sentences."""
    from twlocal.doctor import describe
    from twlocal.route_words import say

    return {
        "model": decided.model.id,
        "thinking": decided.model.thinking or None,
        "thinking_variable": decided.model.thinking_variable or None,
        "machine": machine.name or None,
        "hardware": describe(machine),
        "notes": list(machine.notes),
        "engines_assumed": assumed,
        "engine": decided.engine,
        "source": decided.source or None,
        "settings": dict(decided.settings),
        "if_installed": if_installed,
        "verdicts": [
            {
                "engine": verdict.engine,
                "taken": verdict.engine == decided.engine,
                "device": verdict.device or None,
                "reasons": [
                    {
                        "code": reason.code,
                        "level": reason.level,
                        "text": say(reason, "en"),
                        "facts": dict(reason.facts),
                    }
                    for reason in verdict.reasons
                ],
            }
            for verdict in decided.verdicts
        ],
    }


def page(
    decided: Route,
    machine: Hardware,
    lang: str,
    *,
    assumed: bool,
    if_installed: str | None,
    from_registry: bool = False,
) -> str:
    """A route as people read it, with every engine's reasons. from_registry: no file of the model was read."""
    from twlocal.doctor import describe
    from twlocal.engines import EXTRAS
    from twlocal.report.table import one_line, safe, wrap
    from twlocal.route_words import beside, say, words

    said = words(lang)
    named = beside(machine.name or said["this_machine"], said)
    room, encoding = max(width(sys.stdout), 40), sys.stdout.encoding

    def lines(text: str, indent: str) -> list[str]:
        return list(wrap(safe(one_line(text), encoding), room, indent))

    page = lines(said["title"].format(model=decided.model.id, machine=named), "")
    page += lines("  " + describe(machine), "  ")
    if variable := decided.model.thinking_variable:
        page += lines("  " + said["thinks"].format(variable=variable), "  ")
    for note in machine.notes:
        page += lines("  " + said[f"note_{note}"], "  ")
    if from_registry:
        page += lines("  " + said["registry_facts"], "  ")
    if assumed:
        page += lines("  " + said["assumed"], "  ")
    for verdict in decided.verdicts:
        taken = verdict.engine == decided.engine
        page.append("")
        if taken:
            page += lines(said["taken"].format(engine=verdict.engine, device=verdict.device), "")
            page += lines("  " + said["source"].format(source=decided.source), "  ")
            page += lines(f"  {said['settings']}{said['colon']}{_settings(decided.settings)}", "  ")
        else:
            page += lines(said["not_taken"].format(engine=verdict.engine), "")
        # Of an engine that is not taken, what speaks for it is noise.
        told = [reason for reason in verdict.reasons if taken or reason.level != "ok"]
        for reason in told:
            page += lines(
                f"  {said['skip' if reason.level == 'note' else reason.level]}  {say(reason, lang)}", "      "
            )
    if decided.engine is None:
        page += ["", *lines(said["nowhere"], "")]
        if if_installed:
            page += lines(said["if_installed"].format(engine=if_installed, extra=EXTRAS[if_installed]), "")
    return "\n".join(line.rstrip() for line in page)


def _settings(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in settings.items())
