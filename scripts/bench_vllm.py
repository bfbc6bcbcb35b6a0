"""The vLLM backend, every answer stored as it finishes, against vLLM's own `LLM.chat` on all prompts at once.

    python scripts/bench_vllm.py FOLDER [--items 16] [--slots 16] [--max-tokens 32] [--rounds 1] [--set NAME=VALUE …]

Same model, prompts, budget, dtype and batch size; each contender in a process of its own, in turns, the better round
counts. Measured is the time from the first request to the last answer, the engine being started and one other item
answered. The backend is fed request by request, and each answer is committed to a SQLite file (synchronous=FULL) before
the next is looked at; a run's pipe to the engine's process, some 0.3 ms an answer, is not in it.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sqlite3
import sys
import tempfile
import time
from importlib.resources import files
from pathlib import Path
from typing import Any

import _bench

from twlocal import protocol
from twlocal.backend import Decoding, Request
from twlocal.item import Item

NAMES = ("LLM.chat", "twlocal")


def asked(wish: argparse.Namespace) -> list[Request]:
    """One item to warm up with, then those to measure."""
    rules = protocol.load(wish.protocol)
    rows = csv.DictReader(files("twlocal.data").joinpath("demo.csv").read_text(encoding="utf-8-sig").splitlines())
    items = [Item(r["question"], (r["A"], r["B"], r["C"], r["D"]), r["answer"]) for r in rows][: wish.items + 1]
    return [Request(str(n), tuple(rules.messages(i, rules.order(i))), wish.max_tokens) for n, i in enumerate(items)]


def settings(wish: argparse.Namespace) -> dict[str, Any]:
    """The backend's settings of this measurement."""
    pairs = (pair.partition("=") for pair in wish.set)
    return {"slots": wish.slots, "max_model_len": 4096, "dtype": wish.dtype, **{n: v for n, _, v in pairs}}


def twlocal(wish: argparse.Namespace) -> dict[str, Any]:
    """The backend, and a file that each answer is stored in."""
    from twlocal.backends import vllm

    requests = asked(wish)
    begun = time.perf_counter()
    engine = vllm.open(wish.folder, Decoding(max_tokens=wish.max_tokens), settings(wish))
    started = time.perf_counter() - begun
    list(engine.generate(requests[:1]))
    with tempfile.TemporaryDirectory() as folder:
        base = sqlite3.connect(Path(folder) / "answers.db", isolation_level=None)
        base.execute("PRAGMA journal_mode=WAL")
        base.execute("PRAGMA synchronous=FULL")
        base.execute("CREATE TABLE answers (key TEXT PRIMARY KEY, text TEXT)")
        begun = time.perf_counter()
        for done in engine.generate(requests[1:]):
            base.execute("INSERT INTO answers VALUES (?, ?)", (done.key, done.text))
        seconds = time.perf_counter() - begun
        texts = dict(base.execute("SELECT key, text FROM answers"))
        base.close()
    info = engine.describe()
    engine.close()
    return {
        "seconds": seconds,
        "start": started,
        "texts": [texts[request.key] for request in requests[1:]],
        "about": f"{info.version}, {info.settings['dtype']}, {info.settings['device']}",
    }


def llm_chat(wish: argparse.Namespace) -> dict[str, Any]:
    """vLLM's offline class, as its documentation shows it."""
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    from vllm import LLM, SamplingParams

    requests = asked(wish)
    chats: list[Any] = [[{"role": m.role, "content": m.content} for m in r.messages] for r in requests]
    begun = time.perf_counter()
    engine = LLM(
        model=wish.folder,
        dtype=wish.dtype,
        max_model_len=4096,
        max_num_seqs=wish.slots,
        enable_prefix_caching=True,
        generation_config="vllm",
        enforce_eager=wish.eager,
        kv_cache_memory_bytes=wish.cache_gib * 2**30 if wish.cache_gib else None,
    )
    started = time.perf_counter() - begun
    params = SamplingParams(temperature=0, max_tokens=wish.max_tokens)
    engine.chat(chats[:1], params, use_tqdm=False)
    begun = time.perf_counter()
    texts = [output.outputs[0].text for output in engine.chat(chats[1:], params, use_tqdm=False)]
    return {"seconds": time.perf_counter() - begun, "start": started, "texts": texts, "about": ""}


def main() -> None:
    """Run both in turns and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--protocol", default="box-2shot")
    parser.add_argument("--items", type=int, default=16)
    parser.add_argument("--slots", type=int, default=16)
    parser.add_argument("--max-tokens", type=int, default=32)
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--eager", action="store_true", help="both without compiling")
    parser.add_argument("--cache-gib", type=int, default=0, help="on a CPU: GiB for keys and values, for both")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the backend")
    parser.add_argument("--only", choices=NAMES, help=argparse.SUPPRESS)
    wish = parser.parse_args()
    wish.set += [f"eager={str(wish.eager).lower()}"] + ([f"cache_gib={wish.cache_gib}"] if wish.cache_gib else [])
    if wish.only:
        print(json.dumps(twlocal(wish) if wish.only == "twlocal" else llm_chat(wish)))
        return
    best: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(wish.rounds):
            for name in NAMES:
                words = [sys.executable, str(Path(__file__).absolute()), *sys.argv[1:], "--only", name]
                words[2] = str(Path(wish.folder).absolute()) if words[2] == wish.folder else words[2]
                log = Path(folder) / "log"
                seen = _bench.measure(_bench.Command(words, Path(folder), dict(os.environ)), timeout=1800, log=log)
                lines = [line for line in log.read_text(encoding="utf-8").splitlines() if line.startswith('{"seconds"')]
                if not lines:
                    sys.exit(f"{name} failed:\n{seen.output}")
                found = json.loads(lines[-1]) | {"peak": seen.peak_mb}
                if name not in best or found["seconds"] < best[name]["seconds"]:
                    best[name] = found
                print(f"round {turn + 1}: {name}: {found['seconds']:.1f} s, load {_bench.load()}", file=sys.stderr)
    # A character that the budget cuts is dropped by vLLM and U+FFFD here.
    texts = ([text.rstrip("\ufffd") for text in best[name]["texts"]] for name in NAMES)
    equal = sum(one == other for one, other in zip(*texts, strict=True))
    print("; ".join(f"{key}: {value}" for key, value in _bench.machine().items()))
    print(
        f"{best['twlocal']['about']}; {wish.items} items, {wish.protocol}, {wish.slots} slots, {wish.max_tokens} tokens"
    )
    print(f"{equal} of {wish.items} texts equal (in bfloat16 another batch changes low bits)\n")
    rows = [
        [
            name,
            _bench.number(found["seconds"], 1),
            _bench.number(wish.items / found["seconds"]),
            _bench.ratio(best["LLM.chat"]["seconds"], found["seconds"]),
            _bench.number(found["start"], 1),
            _bench.number(found["peak"], 0),
        ]
        for name, found in best.items()
    ]
    print(_bench.table(["", "s", "items/s", "÷ LLM.chat", "start s", "peak MB"], rows))


if __name__ == "__main__":
    main()
