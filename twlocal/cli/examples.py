"""What stands at the end of every command's help: how to call it, and how it ends where that matters.

One place for all commands, so that a test can call each of them by its parser; `commands.finish` puts them there.
"""

from __future__ import annotations

import re

import click

_RUN_EXITS = "0 every question answered, 1 not all, 2 a wrong call, 130 interrupted"
_HELD_EXITS = "0 everything holds, 1 something does not, 2 a wrong call"

# command → calls of it
EXAMPLES: dict[str, tuple[str, ...]] = {
    "run": (
        "twlocal run smollm2-135m --protocol box-2shot --limit 24",
        "twlocal run model-f16.gguf --bench questions.csv --threads 8",
        "twlocal run http://localhost:8000/v1#name --bench exam --concurrency 64",
        "twlocal run T1 --bench exam --ray-address auto",
    ),
    "resume": ("twlocal resume", "twlocal resume RUN --retry-failed"),
    "runs": ("twlocal runs", "twlocal runs --db board.db --json"),
    "queue": ("twlocal queue night.toml --dry-run", "twlocal queue night.toml --reclaim"),
    "watch": ("twlocal watch", "twlocal watch RUN --once"),
    "report": (
        "twlocal report --by subject --lang zh-TW",
        "twlocal report RUN --html report.html --private",
        "twlocal report RUN --reader lenient",
    ),
    "show": ("twlocal show RUN 0", "twlocal show RUN geo-004 --prompt --lang zh-TW"),
    "compare": ("twlocal compare RUN RUN", "twlocal compare RUN RUN --reader lenient --html compared.html"),
    "parity": (
        "twlocal parity smollm2-135m --backends llama_cpp:slots=1,llama_cpp:slots=4",
        "twlocal parity model.gguf --backends llama_cpp,mlx --source mlx=model/",
        "twlocal parity --run RUN --run RUN",
    ),
    "study": ("twlocal study extraction RUN", "twlocal study budget MODEL --caps 1024,4096"),
    "study axes": ("twlocal study axes scores.csv --html axes.html",),
    "study budget": (
        "twlocal study budget T1 --bench demo --caps 1024,4096",
        "twlocal study budget --run RUN --cap 1024",
    ),
    "study extraction": ("twlocal study extraction RUN RUN --html extraction.html",),
    "study failures": (
        "twlocal study failures RUN",
        "twlocal study failures --write-probe probe.csv",
    ),
    "study halflife": ("twlocal study halflife scores.csv --since 2026-08-24",),
    "study judges": ("twlocal study judges", "twlocal study judges JUDGE JUDGE"),
    "study noise": ("twlocal study noise questions.csv", "twlocal study noise RUN RUN --key-noise 27/31312"),
    "study prompt": (
        "twlocal study prompt T1 --protocols box-defective,box --limit 100",
        "twlocal study prompt --run RUN --run RUN",
    ),
    "study sample": ("twlocal study sample RUN --k 150", "twlocal study sample --table subjects.csv --error 0.5"),
    "study stop-at-box": ("twlocal study stop-at-box RUN RUN",),
    "export": ("twlocal export RUN | head -1", "twlocal export RUN -o responses.parquet --timings"),
    "bundle": ("twlocal bundle RUN RUN -o mine.tar.gz", "twlocal bundle RUN --private"),
    "verify": ("twlocal verify mine.tar.gz", "twlocal verify mine.tar.gz --bench questions.csv --json"),
    "import": ("twlocal import mine.tar.gz --db board.db", "twlocal import results.json --model NAME"),
    "board": ("twlocal board build site --from bundles/", "twlocal board check site", "twlocal board serve site"),
    "board build": (
        "twlocal board build site --db board.db",
        "twlocal board build site --from sent/ --reason 'wrong key' --date 2026-12-01",
    ),
    "board check": ("twlocal board check site && echo publish",),
    "board serve": ("twlocal board serve site --port 8000",),
    "browse": ("twlocal browse --open", "twlocal browse --get /twlocal/runs_with_scores.json"),
    "sample": (
        "twlocal sample questions.csv -k 150 -o manifest.json",
        "twlocal sample demo --limit 9 -o - | head",
    ),
    "exam": ("twlocal exam parse papers/", "twlocal exam build bench/"),
    "exam audit": ("twlocal exam audit --verdicts conflicts.csv", "twlocal exam audit --against TMMLU.csv"),
    "exam build": ("twlocal exam build bench/ --disjoint-from TMMLU.csv",),
    "exam check": ("twlocal exam check bench/",),
    "exam fetch": ("twlocal exam fetch search.html -o papers/ --interval 2",),
    "exam parse": ("twlocal exam parse papers/ --jobs 4", "twlocal exam parse papers/ --ray-address auto"),
    "exam review": ("twlocal exam review --by ME --open",),
    "exam subjects": ("twlocal exam subjects --list", "twlocal exam subjects --titles titles.csv"),
    "exam withdraw": ("twlocal exam withdraw ID --reason 'its figure is missing' --by ME",),
    "audit": ("twlocal audit questions.csv", "twlocal audit questions.csv --against other.csv --verdicts found.csv"),
    "protocols": ("twlocal protocols", "twlocal protocols box --json"),
    "formosa": ("twlocal formosa windows taiwan-md/", "twlocal formosa accounting"),
    "formosa accounting": ("twlocal formosa accounting --json",),
    "formosa build": ("twlocal formosa build tw-formosa-bench/ --whole",),
    "formosa calibrate": ("twlocal formosa calibrate http://localhost:8000/v1#judge --items 30",),
    "formosa check": ("twlocal formosa check tw-formosa-bench/",),
    "formosa curate": ("twlocal formosa curate RUN RUN RUN --pool first -o band/",),
    "formosa draft": ("twlocal formosa draft http://localhost:8000/v1#generator --limit 100",),
    "formosa ground": ("twlocal formosa ground http://localhost:8000/v1#judge",),
    "formosa lexicon": ("twlocal formosa lexicon --articles taiwan-md/ --questions papers.csv",),
    "formosa loo": ("twlocal formosa loo RUN RUN RUN", "twlocal formosa loo --frozen band/ --html loo.html"),
    "formosa permute": ("twlocal formosa permute -o items.jsonl",),
    "formosa recut": ("twlocal formosa recut band/ RUN RUN -o band-2/",),
    "formosa screen": ("twlocal formosa screen", "twlocal formosa screen drafts.jsonl --source SOMEBODY"),
    "formosa windows": ("twlocal formosa windows taiwan-md/ -o windows.jsonl",),
    "route": ("twlocal route T1", "twlocal route T1 --machine machine.json --backend vllm"),
    "doctor": ("twlocal doctor --lang zh-TW", "twlocal doctor --record machine.json"),
    "completion": (
        "twlocal completion bash >> ~/.bashrc",
        "twlocal completion zsh >> ~/.zshrc",
        "twlocal completion fish > ~/.config/fish/completions/twlocal.fish",
    ),
}

# command → how it ends; without one: 0 done, 2 a wrong call.
EXITS: dict[str, str] = {
    "run": _RUN_EXITS,
    "resume": _RUN_EXITS,
    "queue": "0 every item complete, 1 one failed or could not run here, 2 a wrong call, 130 interrupted",
    "parity": "0 prompts and scores agree, 1 they do not or a run did not complete, 2 a wrong call, 130 interrupted",
    "verify": _HELD_EXITS,
    "board check": _HELD_EXITS,
    "exam check": _HELD_EXITS,
    "formosa check": _HELD_EXITS,
    "route": "0 something can run it, 1 nothing can, 2 a wrong call",
    "doctor": "0 something can run here, 1 nothing can",
}

# command → variables of the environment that its options do not name.
VARIABLES: dict[str, str] = {
    "run": "TWLOCAL_API_KEY or OPENAI_API_KEY, HF_TOKEN, HF_HOME, CUDA_VISIBLE_DEVICES, TWLOCAL_MODELS",
    "queue": "HF_TOKEN, HF_HOME, CUDA_VISIBLE_DEVICES, TWLOCAL_MODELS",
    "route": "HF_TOKEN, CUDA_VISIBLE_DEVICES, TWLOCAL_MODELS (a registry of your own)",
    "doctor": "HF_TOKEN, HF_HOME, CUDA_VISIBLE_DEVICES, TWLOCAL_MODELS",
}

# What an argument or an option takes, as the help shows it → how that is named. `run` and `route` say it themselves.
_NAMED = {
    "RUN": "RUN is a run's name, the beginning of it, or its number: `twlocal runs` lists them.",
    "MODEL": "MODEL is named as for `twlocal run`.",
    "BENCH": "BENCH is demo, formosa, exam, a file, a folder, or hf://owner/name[@revision].",
    "DATASET": "DATASET is demo, formosa, exam, a file, a folder, or hf://owner/name[@revision].",
}
_SAY_IT_THEMSELVES = {"run", "route", "formosa curate", "formosa recut"}


def epilog(path: str, command: click.Command) -> str | None:
    """What stands at the end of the help of a command, such as `board build`; None where nothing is known of it."""
    if path not in EXAMPLES:
        return None
    parts = [] if path in _SAY_IT_THEMSELVES else [" ".join(_NAMED[name] for name in _NAMED if name in _taken(command))]
    parts.append("\b\nExamples:\n" + "\n".join(f"  {call}" for call in EXAMPLES[path]))
    if path in EXITS:
        parts.append(f"Exit codes: {EXITS[path]}.")
    if path in VARIABLES:
        parts.append(f"Environment: {VARIABLES[path]}.")
    return "\n\n".join(filter(None, parts))


def _taken(command: click.Command) -> set[str]:
    """The words for which something is to be put in, as the help shows them: RUN, MODEL."""
    context = click.Context(command, info_name=command.name)
    shown = [
        param.make_metavar(context) if isinstance(param, click.Argument) else param.metavar or ""
        for param in command.params
    ]
    return {word for text in shown for word in re.findall(r"[A-Z]+", text)}
