"""The MLX backend against mlx-lm's own batch_generate: same model, same prompts, same budget, same batch size.

    python scripts/bench_mlx.py FOLDER [--items 8] [--slots 8] [--max-tokens 32] [--rounds 1]

Measured is the time from the first request to the last answer, the model being loaded; of several rounds, which take
turns, the best counts. batch_generate reads every prompt whole; the backend reads the shared opening once.
"""

from __future__ import annotations

import argparse
import csv
import os
import platform
import sys
import time
from importlib.resources import files

from twlocal import protocol
from twlocal.backend import Decoding, Request
from twlocal.backends.mlx import engine
from twlocal.item import Item


def main() -> None:
    """Run both in turns and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--protocol", default="box-2shot")
    parser.add_argument("--items", type=int, default=8)
    parser.add_argument("--slots", type=int, default=8)
    parser.add_argument("--max-tokens", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=1)
    wish = parser.parse_args()
    from mlx_lm import batch_generate

    rules = protocol.load(wish.protocol)
    rows = csv.DictReader(files("twlocal.data").joinpath("demo.csv").read_text(encoding="utf-8-sig").splitlines())
    items = [Item(r["question"], (r["A"], r["B"], r["C"], r["D"]), r["answer"]) for r in rows][: wish.items]
    requests = [Request(str(n), tuple(rules.messages(i, rules.order(i))), wish.max_tokens) for n, i in enumerate(items)]
    backend = engine.load(wish.folder, Decoding(max_tokens=wish.max_tokens), {"slots": wish.slots})
    assert isinstance(backend, engine.Mlx)
    prompts = [prompt.tokens for prompt in map(backend._prompter.prompt, requests)]  # type: ignore[union-attr]
    model = backend._model
    best: dict[str, float] = {}
    texts: dict[str, list[str]] = {}
    for turn in range(wish.rounds):
        for name in ("batch_generate", "twlocal"):
            started = time.perf_counter()
            if name == "twlocal":
                backend._prefixes.clear()
                done = {c.key: c.text for c in backend.generate(requests)}
                texts[name] = [done[request.key] for request in requests]
            else:
                sizes = {"completion_batch_size": wish.slots, "prefill_batch_size": min(wish.slots, 8)}
                texts[name] = batch_generate(
                    model.network, model.tokenizer, prompts, max_tokens=wish.max_tokens, **sizes
                ).texts
            seconds = time.perf_counter() - started
            best[name] = min(best.get(name, seconds), seconds)
            print(f"round {turn + 1}: {name}: {seconds:.1f} s", file=sys.stderr)
    info = backend.describe()
    equal = sum(one == other for one, other in zip(*texts.values(), strict=True))
    print(f"{info.version}, {info.settings['dtype']}, Python {platform.python_version()}, {os.cpu_count()} CPUs")
    print(f"{len(requests)} items, {wish.protocol}, {wish.slots} slots, {wish.max_tokens} tokens; {equal} texts equal")
    for name, seconds in best.items():
        print(f"{name:16}{seconds:8.1f} s{len(requests) / seconds:8.2f} items/s{best['batch_generate'] / seconds:7.2f}")


if __name__ == "__main__":
    main()
