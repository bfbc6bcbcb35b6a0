"""HTTP overhead: `twlocal run` beside other evaluation tools, against the same local server, in one run.

    python scripts/bench_http.py                                   everything, three times over: about half an hour
    python scripts/bench_http.py --items 200 --repeats 1 --peers none
    python scripts/bench_http.py --peers lm-eval,evalscope --scenarios instant --concurrency 32 --json

Every tool asks a server without a model (`stub_server.py`) the same four-option questions from a file, one chat
completion each, and stores the answers in its own way; the bare loop (`bare_aiohttp.py`) stores nothing and is the
limit. Three scenarios: an instant server, one that takes 50 ms, one that takes 500 ms. The tools take turns, so that a
busy machine slows all of them alike, and each figure is the median of the repeats: trust ratios more than seconds.

Each tool, twlocal too, is found in or installed into a virtual environment of its own under --peers-dir: peers in the
versions named in `_peers.py`, twlocal from this checkout. One that cannot be installed is named at the end.

A run counts only when the tool ended well, the server saw each question exactly once, and the tool's own output holds
every answer.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any
from urllib.request import ProxyHandler, build_opener

import _bench
from _peers import PEERS, Bare, Job, Twlocal, Unavailable, install_checkout

HERE = Path(__file__).parent
OURS, LIMIT = "twlocal", "bare aiohttp"
WARM_ITEMS = 20
SYSTEM = HERE.parent / "prompts" / "box.zh-TW.txt"


@dataclass(frozen=True)
class Scenario:
    """A server that answers after `latency` seconds, `items` questions, `concurrency` of them at once."""

    name: str
    latency: float
    items: int
    concurrency: int

    @property
    def title(self) -> str:
        return f"{self.name}, {self.items} items, concurrency {self.concurrency}"

    @property
    def ideal(self) -> float | None:
        """Seconds from first request to last reply if nothing cost anything but the latency; None if that is 0."""
        return self.latency * -(-self.items // self.concurrency) if self.latency else None


@dataclass(frozen=True)
class Result:
    """One tool's figures in one scenario (one run, or medians). Seconds, but for peak_mb (10⁶ bytes).

    wall: of the whole command. first: from start until the server had the first request. cpu: of all its processes.
    span: from the first request to the last reply. connections: most that were open at once.
    """

    wall: float
    first: float
    cpu: float
    peak_mb: float
    span: float
    items: int
    connections: int

    @property
    def rate(self) -> float:
        """Items a second while running."""
        return self.items / self.span

    @property
    def cpu_ms(self) -> float:
        """CPU milliseconds an item, start and end of the command included."""
        return 1000 * self.cpu / self.items


class Failed(Exception):
    """A tool that did not do the whole work; the message says what was missing."""


def scenarios(wish: argparse.Namespace) -> list[Scenario]:
    """What is to be measured, in order."""
    found = {
        "instant": [Scenario("instant server", 0.0, wish.items, each) for each in wish.concurrency],
        "50ms": [Scenario("50 ms", 0.05, wish.items, 128)],
        "500ms": [Scenario("500 ms", 0.5, wish.slow_items, 32)],
    }
    return [scenario for name in wish.scenarios.split(",") for scenario in found[name]]


def write_questions(path: Path, count: int) -> None:
    """A CSV of `count` different four-option questions in Chinese, with keys from A to D in turn."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("id", "question", "A", "B", "C", "D", "answer", "subject"))
        for n in range(count):
            options = [f"{n + 7 * at + 11} 公里" for at in range(4)]
            stem = f"第 {n + 1} 題：某人先走 {n} 公里，休息之後再走 {7 * (n % 4) + 11} 公里，請問他一共走了多遠？"
            writer.writerow((n, stem, *options, "ABCD"[n % 4], f"科目{n % 5 + 1}"))


@contextmanager
def stub(latency: float) -> Iterator[int]:
    """A stub server in a process of its own; gives its port, and ends it afterwards."""
    words = [sys.executable, str(HERE / "stub_server.py"), "--delay", str(latency)]
    with Popen(words, stdout=PIPE, text=True, encoding="utf-8") as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.kill()


def stats(port: int) -> dict[str, Any]:
    """What the stub server has counted."""
    with build_opener(ProxyHandler({})).open(f"http://127.0.0.1:{port}/stats", timeout=10) as reply:
        found: dict[str, Any] = json.load(reply)
    return found


def run_once(tool: Any, scenario: Scenario, questions: Path, timeout: float) -> Result:
    """One run of one tool in an empty folder against a server of its own. Raises Failed."""
    with tempfile.TemporaryDirectory(prefix="bench-http-") as name, stub(scenario.latency) as port:
        folder = Path(name)
        job = Job(port, questions, SYSTEM, scenario.concurrency, folder)
        command = tool.command(job)
        measured = _bench.measure(command, timeout=timeout, log=folder / "output.log")
        seen = stats(port)
        checked(measured, seen, partial(tool.stored, job), scenario.items)
        return Result(
            wall=measured.wall,
            first=seen["first"] - measured.started,
            cpu=measured.cpu,
            peak_mb=measured.peak_mb,
            span=seen["last"] - seen["first"],
            items=scenario.items,
            connections=seen["peak_connections"],
        )


def checked(measured: _bench.Measured, seen: Mapping[str, Any], stored: Callable[[], int | None], items: int) -> None:
    """Raise Failed where the tool did less (or more) than ask each question once and keep each answer.

    `stored` counts the answers in its output; None: it stores nothing by intention.
    """
    tail = "\n    ".join(measured.output.strip().splitlines()[-6:])
    if measured.killed:
        raise Failed(
            f"it was killed after {measured.wall:.0f} s (--timeout) with {seen['answered']} of {items} answered"
        )
    if measured.code != 0:
        raise Failed(f"it ended with code {measured.code}:\n    {tail}")
    if not seen["requests"] == seen["answered"] == seen["distinct"] == items:
        raise Failed(
            f"the server saw {seen['requests']} requests, {seen['distinct']} of them different, for {items} items:"
            f"\n    {tail}"
        )
    kept = stored()
    if kept is not None and kept != items:
        raise Failed(f"its output holds {kept} answers for {items} items:\n    {tail}")


def median(results: Sequence[Result]) -> Result:
    """The median of each figure by itself."""
    rows = [asdict(result) for result in results]
    figures = {name: _bench.median(row[name] for row in rows) for name in rows[0]}
    return Result(**{**figures, "items": rows[0]["items"], "connections": int(figures["connections"])})


def measure_all(
    tools: Mapping[str, Any], plan: Sequence[Scenario], wish: argparse.Namespace, folder: Path
) -> tuple[dict[Scenario, dict[str, Result]], list[str]]:
    """Medians of every tool in every scenario, and lines on what failed. A tool that fails once is left out after."""
    out: dict[str, str] = {}
    results: dict[Scenario, dict[str, list[Result]]] = {scenario: {} for scenario in plan}
    warm = Scenario("warm-up", 0.0, WARM_ITEMS, 4)
    questions = {count: folder / f"questions-{count}.csv" for count in {WARM_ITEMS, *(s.items for s in plan)}}
    for count, path in questions.items():
        write_questions(path, count)
    rounds = [warm, *(scenario for scenario in plan for _ in range(wish.repeats))]
    for number, scenario in enumerate(rounds):
        for name in turn(list(tools), number):
            if name in out:
                continue
            try:
                result = run_once(tools[name], scenario, questions[scenario.items], wish.timeout)
            except Failed as error:
                out[name] = f"{name}, {scenario.title}: {error}"
                say(out[name])
                continue
            say(f"[load {_bench.load()}] {scenario.title}: {name}: {result.wall:.2f} s")
            if scenario is not warm:
                results[scenario].setdefault(name, []).append(result)
    order = list(tools)
    return {
        scenario: {name: median(found[name]) for name in order if name in found} for scenario, found in results.items()
    }, list(out.values())


def turn(names: list[str], number: int) -> list[str]:
    """The order of the round: each begins with another tool, so that none always follows the same one."""
    start = number % len(names)
    return names[start:] + names[:start]


def scenario_table(scenario: Scenario, found: Mapping[str, Result]) -> str:
    """One scenario's table; ratios are to twlocal (how many times its wall time) and to the bare loop (its rate)."""
    ours, limit = found.get(OURS), found.get(LIMIT)
    head = ["", "wall s", "÷ twlocal", "first s", "CPU s", "CPU ms/item", "MB", "items/s", "÷ bare", "open"]
    if scenario.ideal:
        head.append("span ÷ ideal")
    rows = []
    for name, result in found.items():
        row = [
            name,
            _bench.number(result.wall),
            _bench.ratio(result.wall, ours.wall if ours else None),
            _bench.number(result.first),
            _bench.number(result.cpu),
            _bench.number(result.cpu_ms),
            _bench.number(result.peak_mb, 0),
            _bench.number(result.rate, 0),
            _bench.ratio(result.rate, limit.rate if limit else None),
            str(result.connections),
        ]
        if scenario.ideal:
            row.append(_bench.ratio(result.span, scenario.ideal))
        rows.append(row)
    return f"{scenario.title}\n{_bench.table(head, rows)}"


def goals(scenario: Scenario, found: Mapping[str, Result]) -> list[str]:
    """What twlocal is meant to reach in this scenario, and whether it did, as lines."""
    if OURS not in found:
        return []
    ours = found[OURS]
    lines = []

    def line(what: str, value: float, goal: float, *, least: bool, unit: str = "") -> None:
        met = value >= goal if least else value <= goal
        lines.append(
            f"{'met   ' if met else 'MISSED'}  {what}: {value:.2f}{unit} (goal: "
            f"{'at least' if least else 'at most'} {goal:g}{unit})"
        )

    if not scenario.latency:
        peers = [result.wall for name, result in found.items() if name not in (OURS, LIMIT)]
        if peers:
            line("wall time of the fastest peer ÷ twlocal's", min(peers) / ours.wall, 3, least=True)
        line("first request", ours.first, 1, least=False, unit=" s")
        line("CPU per item", ours.cpu_ms, 0.7, least=False, unit=" ms")
        line("memory", ours.peak_mb, 150, least=False, unit=" MB")
    if LIMIT in found:
        share = {0.0: 0.8, 0.05: 0.9}.get(scenario.latency)
        if share:
            line("items/s while running ÷ the bare loop's", ours.rate / found[LIMIT].rate, share, least=True)
    if scenario.latency == 0.5 and scenario.ideal:
        line("first request to last reply ÷ the ideal", ours.span / scenario.ideal, 1.05, least=False)
    return lines


def chosen(wish: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """The tools to measure, by name, and lines that say which were left out and why."""
    names = {"all": list(PEERS), "none": []}.get(wish.peers, wish.peers.split(","))
    if unknown := [name for name in names if name not in PEERS]:
        raise SystemExit(f"no such peer: {unknown[0]} (there are: {', '.join(PEERS)})")
    python = wish.python
    if python is None:
        say(f"installing this checkout into {wish.peers_dir / OURS}")
        try:
            python = install_checkout(wish.peers_dir)
        except Unavailable as error:
            raise SystemExit(f"{OURS}: {error}\n(--python measures one that is installed already)") from error
    tools: dict[str, Any] = {OURS: Twlocal(python), LIMIT: Bare(python)}
    out = []
    for name in names:
        try:
            tools[name] = PEERS[name](wish.peers_dir, say)
        except Unavailable as error:
            out.append(f"{name} is left out: {error}")
            say(out[-1])
    return tools, out


def say(message: str) -> None:
    """Progress goes to standard error."""
    print(message, file=sys.stderr, flush=True)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    made.add_argument("--items", type=int, default=2000, help="questions, instant and at 50 ms (default: 2000)")
    made.add_argument("--slow-items", type=int, default=256, help="questions at 500 ms (default: 256)")
    made.add_argument("--concurrency", type=int, nargs="+", default=[1, 32, 128], help="against the instant server")
    made.add_argument("--scenarios", default="instant,50ms,500ms", help="which of instant, 50ms, 500ms")
    made.add_argument("--repeats", type=int, default=3, help="runs of each, of which the median counts (default: 3)")
    made.add_argument("--peers", default="all", help=f"all, none, or some of {','.join(PEERS)} (default: all)")
    made.add_argument(
        "--peers-dir",
        type=Path,
        default=cache / "twlocal-bench-peers",
        help="where the peers' virtual environments are, or will be made (default: %(default)s)",
    )
    made.add_argument(
        "--python", help="measure the twlocal that this Python has (default: install the checkout beside the peers)"
    )
    made.add_argument("--timeout", type=float, default=600.0, help="seconds that one run may take (default: 600)")
    made.add_argument("--json", action="store_true", help="print JSON instead of tables")
    return made


def main() -> None:
    """Measure, and print the tables or JSON."""
    wish = parser().parse_args()
    unknown = set(wish.scenarios.split(",")) - {"instant", "50ms", "500ms"}
    if unknown:
        raise SystemExit(f"no such scenario: {', '.join(sorted(unknown))} (there are: instant, 50ms, 500ms)")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that servers and folders are cleared away then too
    plan, before = scenarios(wish), _bench.machine()
    tools, left_out = chosen(wish)
    with tempfile.TemporaryDirectory(prefix="bench-http-") as folder:
        results, failed = measure_all(tools, plan, wish, Path(folder))
    machine = {**before, "load average after": _bench.load()}
    versions = {name: tool.version for name, tool in tools.items()}
    if wish.json:
        document = {
            "machine": machine,
            "versions": versions,
            "repeats": wish.repeats,
            "left_out": [*left_out, *failed],
            "scenarios": [
                {
                    **asdict(scenario),
                    "ideal": scenario.ideal,
                    "results": {
                        name: {**asdict(result), "rate": result.rate, "cpu_ms": result.cpu_ms}
                        for name, result in found.items()
                    },
                    "goals": goals(scenario, found),
                }
                for scenario, found in results.items()
            ],
        }
        print(json.dumps(document, ensure_ascii=False, indent=2))
    else:
        print("; ".join(f"{name}: {value}" for name, value in machine.items()))
        print("; ".join(f"{name} {version}" for name, version in versions.items()))
        print(f"median of {wish.repeats}, tools in turn; each tool's answers counted at the server and in its output")
        for scenario, found in results.items():
            print(f"\n{scenario_table(scenario, found)}")
            print("\n".join(goals(scenario, found)))
        if wish.items != 2000:
            print("\nthe goals are meant for 2,000 items: with fewer, start-up weighs more")
        for line in (*left_out, *failed):
            print(f"\nnot measured: {line}")
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
