"""What `bench_http.py` measures: twlocal, the bare loop, and other evaluation tools, each told to do the same work.

A tool writes what it needs into a job's empty folder, gives the command to run there, and counts afterwards how many
answers its own output holds. How each is called was read from its source in the version named here.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from _bench import Command

HERE = Path(__file__).parent
ANSWER = "boxed{A}"  # what the stub's every answer holds


@dataclass(frozen=True)
class Job:
    """Ask the server at `port` every question of a CSV file, `concurrency` at once, working in an empty folder."""

    port: int
    questions: Path
    system: Path
    concurrency: int
    folder: Path

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"


class Unavailable(Exception):
    """A tool that is not there and could not be installed; the message says why."""


def environment(**more: str) -> dict[str, str]:
    """Ours, without proxies (the server is local), keys, and what would make a tool reach for the network."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.lower().endswith("_proxy") and not name.endswith("_API_KEY")
    }
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "PYTHONUTF8": "1"}
    return {**kept, **offline, **more}


def installed_version(python: str, distribution: str) -> str | None:
    """The version of a distribution under another Python, or None where it has none."""
    code = f"from importlib.metadata import version; print(version({distribution!r}))"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, encoding="utf-8", check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def pip_install(venv: Path, *words: str) -> None:
    """Install into a virtual environment, making it first. Raises Unavailable with pip's last words."""
    for step in (
        [sys.executable, "-m", "venv", str(venv)],
        [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", *words],
    ):
        done = subprocess.run(step, capture_output=True, text=True, encoding="utf-8", errors="replace", check=False)
        if done.returncode != 0:
            said = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("WARNING")]
            raise Unavailable(f"it could not be installed ({' '.join(words)}): {(said or ['no reason given'])[-1]}")


def install_checkout(folder: Path, name: str = "twlocal", more: Sequence[str] = ()) -> str:
    """Install the checkout this script is in, as users get it, into `folder`/`name`; returns that Python's path.

    `more` are requirements to install beside it. A development environment would slow it down: an editable install, and
    packages that are used where they are found.
    """
    venv = folder.absolute() / name
    with tempfile.TemporaryDirectory(prefix="bench-http-") as source:  # a build leaves its traces where the source lies
        for part in ("twlocal", "backends", "prompts", "db"):
            shutil.copytree(HERE.parent / part, Path(source) / part)
        for part in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(HERE.parent / part, source)
        pip_install(venv, source, *more)
    return str(venv / "bin" / "python")


class Twlocal:
    """`twlocal run`: every answer committed to its database."""

    def __init__(self, python: str) -> None:
        self._python = python
        version = installed_version(python, "twlocal")
        if version is None:
            raise SystemExit(f"twlocal is not installed for {python}")
        self.version = f"{version} (aiohttp {installed_version(python, 'aiohttp')})"

    def command(self, job: Job) -> Command:
        words = [self._python, "-m", "twlocal", "run", f"{job.base}#stub", "--bench", str(job.questions)]
        words += ["--concurrency", str(job.concurrency), "--db", str(job.folder / "runs.db")]
        return Command(words, job.folder, environment())

    def stored(self, job: Job) -> int | None:
        connection = sqlite3.connect(job.folder / "runs.db")
        try:
            return int(
                connection.execute(
                    "SELECT count(DISTINCT no) FROM responses WHERE instr(text, ?)", [ANSWER]
                ).fetchone()[0]
            )
        finally:
            connection.close()


class Bare:
    """The bare aiohttp loop: the limit. It checks each answer and stores none."""

    def __init__(self, python: str) -> None:
        self._python = python
        self.version = str(installed_version(python, "aiohttp"))

    def command(self, job: Job) -> Command:
        words = [self._python, str(HERE / "bare_aiohttp.py"), job.base, str(job.questions)]
        words += ["--system", str(job.system), "--concurrency", str(job.concurrency)]
        return Command(words, job.folder, environment())

    def stored(self, job: Job) -> int | None:
        return None


class Peer:
    """Another tool, in a virtual environment of its own."""

    distribution: str
    wanted: str
    extras = ""
    more: tuple[str, ...] = ()

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        self._bin = (folder / self.distribution.replace("-", "_")).absolute() / "bin"
        python = str(self._bin / "python")
        if installed_version(python, self.distribution) != self.wanted:
            say(f"installing {self.distribution} {self.wanted} into {self._bin.parent}")
            pip_install(self._bin.parent, f"{self.distribution}{self.extras}=={self.wanted}", *self.more)
        self.version = str(installed_version(python, self.distribution))

    def command(self, job: Job) -> Command:
        raise NotImplementedError

    def stored(self, job: Job) -> int | None:
        raise NotImplementedError


class TwinkleEval(Peer):
    """Always min(32, cores + 4) threads (`ThreadPoolExecutor()` in runners/evaluator.py): it has no setting for it."""

    distribution, wanted = "twinkle-eval", "2.10.0"

    def command(self, job: Job) -> Command:
        data = job.folder / "data"
        data.mkdir()
        shutil.copy(job.questions, data / "questions.csv")
        config = {
            "llm_api": {
                "base_url": job.base,
                "api_key": "none",
                "disable_ssl_verify": False,
                "api_rate_limit": -1,
                "max_retries": 3,
                "timeout": 600,
            },
            "model": {
                "name": "stub",
                "temperature": 0.0,
                "top_p": 0.9,
                "max_tokens": 4096,
                "frequency_penalty": 0.0,
                "presence_penalty": 0.0,
                "extra_body": None,
            },
            "evaluation": {
                "dataset_paths": [str(data)],
                "evaluation_method": "box",
                "system_prompt": {"zh": job.system.read_text(encoding="utf-8")},
                "datasets_prompt_map": {},
                "shuffle_options": True,
                "repeat_runs": 1,
            },
            "logging": {"level": "INFO"},
        }
        (job.folder / "config.yaml").write_text(json.dumps(config, ensure_ascii=False), encoding="utf-8")
        words = [str(self._bin / "twinkle-eval"), "--config", "config.yaml"]
        return Command(words, job.folder, environment())

    def stored(self, job: Job) -> int | None:
        return lines_with_answer(job.folder / "results", "*.jsonl")


class EvalScope(Peer):
    """`evalscope eval` with its own General-MCQ; predictions and reviews are kept in its work folder."""

    distribution, wanted = "evalscope", "1.14.1"

    def command(self, job: Job) -> Command:
        data = job.folder / "data"
        data.mkdir()
        shutil.copy(job.questions, data / "bench_val.csv")
        system = job.system.read_text(encoding="utf-8")
        about = {"local_path": str(data), "subset_list": ["bench"], "system_prompt": system}
        words = [str(self._bin / "evalscope"), "eval", "--model", "stub", "--api-url", job.base, "--api-key", "none"]
        words += ["--eval-type", "openai_api", "--datasets", "general_mcq", "--work-dir", "out", "--no-timestamp"]
        words += ["--dataset-args", json.dumps({"general_mcq": about})]
        words += ["--eval-batch-size", str(job.concurrency)]
        words += ["--generation-config", json.dumps({"temperature": 0.0, "top_p": 0.9, "max_tokens": 4096})]
        return Command(words, job.folder, environment())

    def stored(self, job: Job) -> int | None:
        return lines_with_answer(job.folder / "out" / "predictions", "**/*.jsonl")


class InspectAi(Peer):
    """`inspect eval` with its own multiple-choice solver and scorer; every sample is in its log."""

    distribution, wanted, more = "inspect-ai", "0.3.285", ("openai",)

    TASK = """
from inspect_ai import Task, task
from inspect_ai.dataset import Sample, csv_dataset
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice, system_message

def sample(row):
    return Sample(id=row["id"], input=row["question"], choices=[row[x] for x in "ABCD"], target=row["answer"])

@task
def bench():
    return Task(
        dataset=csv_dataset({questions!r}, sample),
        solver=[system_message({system!r}), multiple_choice()],
        scorer=choice(),
    )
"""
    COUNT = """
import pathlib, sys
from inspect_ai.log import read_eval_log_samples
paths = pathlib.Path(sys.argv[1]).glob("*.eval")
samples = (sample for path in paths for sample in read_eval_log_samples(str(path), all_samples_required=False))
print(sum(sys.argv[2] in sample.output.completion for sample in samples))
"""

    def command(self, job: Job) -> Command:
        task = self.TASK.format(questions=str(job.questions), system=job.system.read_text(encoding="utf-8"))
        (job.folder / "bench_task.py").write_text(task, encoding="utf-8")
        words = [str(self._bin / "inspect"), "eval", "bench_task.py", "--model", "openai-api/local/stub"]
        words += ["--model-base-url", job.base, "--max-connections", str(job.concurrency), "--display", "plain"]
        words += ["--max-samples", str(job.concurrency), "--temperature", "0", "--top-p", "0.9"]
        words += ["--max-tokens", "4096", "--log-dir", "logs"]
        return Command(words, job.folder, environment(LOCAL_API_KEY="none"))

    def stored(self, job: Job) -> int | None:
        # Its logs are zip files packed with zstd, which only its own Python is sure to read.
        words = [str(self._bin / "python"), "-c", self.COUNT, str(job.folder / "logs"), ANSWER]
        done = subprocess.run(words, capture_output=True, text=True, encoding="utf-8", check=False)
        return int(done.stdout) if done.returncode == 0 else 0


class LmEval(Peer):
    """`lm_eval run` with a task of its own over the chat-completions model; `--log_samples` keeps the answers."""

    distribution, wanted, extras = "lm-eval", "0.4.13", "[api]"

    def command(self, job: Job) -> Command:
        with job.questions.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        with (job.folder / "questions.jsonl").open("w", encoding="utf-8") as out:
            out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        task = {
            "task": "bench",
            "dataset_path": "json",
            "dataset_kwargs": {"data_files": {"test": str(job.folder / "questions.jsonl")}},
            "output_type": "generate_until",
            "test_split": "test",
            "doc_to_text": "題目：{{question}}\nA. {{A}}\nB. {{B}}\nC. {{C}}\nD. {{D}}",
            "doc_to_target": "{{answer}}",
            "generation_kwargs": {"until": ["</s>"], "max_gen_toks": 4096, "temperature": 0.0, "do_sample": False},
            "filter_list": [
                {
                    "name": "box",
                    "filter": [
                        {"function": "regex", "regex_pattern": r"\\boxed\{([A-D])\}"},
                        {"function": "take_first"},
                    ],
                }
            ],
            "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
        }
        tasks = job.folder / "tasks"
        tasks.mkdir()
        (tasks / "bench.yaml").write_text(json.dumps(task, ensure_ascii=False), encoding="utf-8")
        model = f"model=stub,base_url={job.base}/chat/completions,num_concurrent={job.concurrency},max_retries=3"
        words = [str(self._bin / "lm-eval"), "run", "--model", "local-chat-completions", "--model_args", model]
        words += ["--tasks", "bench", "--include_path", str(tasks), "--apply_chat_template"]
        words += ["--system_instruction", job.system.read_text(encoding="utf-8")]
        words += ["--output_path", "out", "--log_samples"]
        cache = {"HF_HOME": str(job.folder / "cache")}
        return Command(words, job.folder, environment(OPENAI_API_KEY="none", **cache))

    def stored(self, job: Job) -> int | None:
        return lines_with_answer(job.folder / "out", "**/samples_*.jsonl")


def lines_with_answer(folder: Path, pattern: str) -> int:
    """Lines of the matching files that hold the stub's answer."""
    return sum(
        ANSWER in line for path in folder.glob(pattern) for line in path.read_text(encoding="utf-8").splitlines()
    )


PEERS = {"lm-eval": LmEval, "evalscope": EvalScope, "inspect-ai": InspectAi, "twinkle-eval": TwinkleEval}
