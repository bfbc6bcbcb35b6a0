"""What of the Ray backend is decided without Ray: who is given what, how much, where, and what a node must have."""

from __future__ import annotations

import builtins
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twlocal import backend as backends
from twlocal import cluster
from twlocal.backend import Decoding, Message, Request
from twlocal.backends import ray
from twlocal.backends.ray.actor import Actor, Report
from twlocal.backends.ray.deal import Deal
from twlocal.backends.ray.layout import lay_out
from twlocal.backends.ray.settings import Settings, parse
from twlocal.backends.ray.supply import MOST, Supply
from twlocal.cluster import Node
from twlocal.errors import BackendError, ConfigurationError, EngineMissing, UsageError


def asked(count: int) -> list[Request]:
    return [Request(str(number), (Message("user", f"第{number}題"),), 5) for number in range(count)]


# -- who is given what ------------------------------------------------------------------------------------------------


def test_requests_go_to_whoever_asks_and_the_last_call_says_so() -> None:
    deal = Deal(asked(3), prior={}, limit=3)
    assert [request.key for request in deal.take("a", 2)[0]] == ["0", "1"]
    assert deal.waiting
    given_out, last = deal.take("b", 5)
    assert ([request.key for request in given_out], last) == (["2"], True)
    assert not deal.waiting


def test_what_a_lost_actor_had_goes_out_again_in_halves_and_alone() -> None:
    deal = Deal(asked(8), prior={}, limit=3)
    deal.take("a", 5)
    deal.answered("a", "1")
    assert deal.lost("a") is None
    assert [request.key for request in deal.take("b", 1)[0]] == ["0", "2"]
    assert deal.take("b", 5) == ([], True), "nothing stands beside suspects"
    deal.answered("b", "0")
    assert deal.take("b", 5) == ([], True)
    deal.answered("b", "2")
    assert [request.key for request in deal.take("b", 1)[0]] == ["3", "4"]
    assert [request.key for request in deal.take("c", 1)[0]] == ["5"], "others go on with what is new"


def test_alone_in_flight_at_its_limit_of_deaths_a_request_is_given_up() -> None:
    deal = Deal(asked(1), prior={"0": 1}, limit=3)
    deal.take("a", 1)
    blame = deal.lost("a")
    assert blame is not None and (blame.deaths, blame.given_up) == (2, False)
    assert [request.key for request in deal.take("b", 1)[0]] == ["0"]
    blame = deal.lost("b")
    assert blame is not None and (blame.deaths, blame.given_up) == (3, True)
    assert deal.take("c", 1) == ([], True)


def test_what_an_actor_leaves_unanswered_is_not_held_against_it() -> None:
    deal = Deal(asked(2), prior={}, limit=3)
    deal.take("a", 1)
    deal.idle("a")
    assert [request.key for request in deal.take("a", 9)[0]] == ["1"]
    assert deal.lost("a") is not None, "alone"


@settings(max_examples=300, deadline=None)
@given(
    count=st.integers(0, 40),
    actors=st.integers(1, 4),
    slots=st.integers(1, 7),
    poison=st.sets(st.integers(0, 39), max_size=3),
    chance=st.randoms(use_true_random=False),
)
def test_everything_is_answered_once_and_only_what_kills_is_given_up(
    count: int, actors: int, slots: int, poison: set[int], chance: Any
) -> None:
    """A cluster by dice: actors take, answer and die; those with a poisoned request die before they answer it."""
    poisoned = {str(number) for number in poison if number < count}
    deal = Deal(asked(count), prior={}, limit=3)
    names = list(range(actors))
    flying: dict[int, list[str]] = {name: [] for name in names}
    answers: Counter[str] = Counter()
    blamed: Counter[str] = Counter()
    given_up: set[str] = set()
    accidents = 4
    for _ in range(20_000):
        if not deal.waiting and not any(flying.values()):
            break
        name = chance.choice(names)
        now = flying[name]
        if len(now) < slots:
            taken, _ = deal.take(name, chance.randint(1, slots))
            now += [request.key for request in taken]
        if not now:
            deal.idle(name)
            continue
        accident = accidents > 0 and len(now) > 1 and chance.random() < 0.05
        if accident or (poisoned.intersection(now) and chance.random() < 0.5):
            accidents -= accident
            alone = len(now) == 1
            blame = deal.lost(name)
            assert (blame is not None) == alone
            if blame is not None:
                blamed[blame.request.key] += 1
                if blame.given_up:
                    given_up.add(blame.request.key)
            names[names.index(name)] = fresh = max(flying) + 1
            del flying[name]
            flying[fresh] = []
            continue
        ready = [key for key in now if key not in poisoned]
        if ready:
            key = chance.choice(ready)
            now.remove(key)
            answers[key] += 1
            deal.answered(name, key)
    else:
        pytest.fail("it never ended")
    assert given_up == poisoned
    assert answers == Counter({str(number): 1 for number in range(count) if str(number) not in poisoned})
    assert set(blamed) == poisoned and all(times == 3 for times in blamed.values())


# -- how much ---------------------------------------------------------------------------------------------------------


def test_a_slow_engine_has_one_ahead_and_a_fast_one_what_it_answers_meanwhile() -> None:
    supply = Supply()
    assert supply.wanted(0, starving=True) == 1
    for number in range(20):
        supply.pulled()
        supply.finished(float(number))
    assert supply.ahead == 1
    for number in range(400):
        supply.pulled()
        supply.finished(20 + number / 1000)
    assert 40 <= supply.ahead <= 60, "50 ms of 1,000 a second"
    for number in range(1000):
        supply.pulled()
        supply.finished(21 + number / 1e6)
    assert supply.ahead <= MOST


def test_a_batch_that_fills_is_given_twice_as_much_each_time() -> None:
    supply, given_out, calls = Supply(), 0, 0
    while given_out < 64:
        supply.starved()
        grant = supply.wanted(0, starving=True)
        for _ in range(min(grant, 64 - given_out)):
            supply.pulled()
        given_out, calls = given_out + grant, calls + 1
    assert calls <= 6
    assert given_out < 2 * 64
    assert supply.wanted(0, starving=False) == 16, "a quarter of the batch lies ready for those that end together"
    assert supply.wanted(9, starving=False) == 0
    supply.finished(1.0)
    supply.starved()
    assert supply.wanted(0, starving=True) == 16


# -- where ------------------------------------------------------------------------------------------------------------

BOX = Node("box", 16, 4)
PLAIN = Node("plain", 8, 0)


def test_an_actor_a_gpu_or_an_actor_a_node() -> None:
    there = lay_out([BOX, PLAIN], Settings("vllm"), engine_on_gpu=True)
    assert (there.actors, there.gpus, there.cpus) == (4, 1.0, 1)
    there = lay_out([PLAIN, PLAIN], Settings("llama_cpp"), engine_on_gpu=True)
    assert (there.actors, there.gpus, there.cpus, there.crowded) == (2, 0.0, 8, False)
    there = lay_out([BOX, PLAIN], Settings("http"), engine_on_gpu=False)
    assert (there.actors, there.gpus) == (2, 0.0)


def test_wishes_go_first_and_actors_share_what_a_node_has() -> None:
    there = lay_out([PLAIN], Settings("llama_cpp", actors=3), engine_on_gpu=True)
    assert (there.actors, there.cpus, there.crowded) == (3, 2, True)
    there = lay_out([BOX], Settings("vllm", gpus_per_actor=2), engine_on_gpu=True)
    assert there.actors == 2
    there = lay_out([BOX], Settings("llama_cpp", gpus_per_actor=1 / 3), engine_on_gpu=True)
    assert there.actors == 12
    assert lay_out([BOX], Settings("llama_cpp", gpus_per_actor=0), engine_on_gpu=True).gpus == 0


@pytest.mark.parametrize(
    ("nodes", "wished", "says"),
    [
        ([PLAIN], Settings("vllm", gpus_per_actor=1), "1 GPU and 1 CPU"),
        ([BOX], Settings("vllm", actors=5), "5 actors"),
        ([BOX, BOX], Settings("vllm", actors=1, gpus_per_actor=8), "room for 0"),
        ([PLAIN], Settings("llama_cpp", actors=9), "8 CPU and 0 GPU"),
        ([], Settings("llama_cpp"), "0 nodes"),
    ],
)
def test_what_the_cluster_can_never_give_is_refused_with_what_it_has(
    nodes: list[Node], wished: Settings, says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        lay_out(nodes, wished, engine_on_gpu=True)


@given(
    nodes=st.lists(st.builds(Node, st.just("n"), st.integers(0, 64), st.integers(0, 8)), min_size=1, max_size=5),
    actors=st.none() | st.integers(1, 20),
    gpus=st.none() | st.sampled_from([0, 0.25, 0.5, 1, 2, 4]),
    cpus=st.none() | st.integers(1, 8),
)
def test_a_layout_that_is_given_fits(
    nodes: list[Node], actors: int | None, gpus: float | None, cpus: int | None
) -> None:
    wished = Settings("vllm", actors=actors, gpus_per_actor=gpus, cpus_per_actor=cpus)
    try:
        there = lay_out(nodes, wished, engine_on_gpu=True)
    except UsageError:
        return
    assert there.actors >= 1 and there.cpus >= 1
    left = there.actors
    for node in nodes:
        has_cpus, cards = node.cpus, [1.0] * int(node.gpus)
        while left and has_cpus >= there.cpus:
            if there.gpus >= 1:
                if len(cards) < there.gpus:
                    break
                del cards[: int(there.gpus)]
            elif there.gpus:
                free = next((n for n, card in enumerate(cards) if card >= there.gpus), None)
                if free is None:
                    break
                cards[free] -= there.gpus
            has_cpus -= there.cpus
            left -= 1
    assert left == 0


# -- settings ---------------------------------------------------------------------------------------------------------


def test_settings_that_are_not_ours_go_to_the_engine() -> None:
    ours, theirs = parse({"engine": "mlx", "actors": "2", "gpus_per_actor": "0.5", "slots": 8, "seed": 1})
    assert (ours.engine, ours.actors, ours.gpus_per_actor) == ("mlx", 2, 0.5)
    assert theirs == {"slots": 8, "seed": 1}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("actors", 0),
        ("gpus_per_actor", 1.5),
        ("gpus_per_actor", -1),
        ("gpus_per_actor", "viele"),
        ("gpus_per_actor", float("nan")),
        ("ray_address", "host"),
        ("ray_address", "host:port"),
        ("ray_address", "http://host:1"),
        ("ray_address", "host:99999"),
    ],
)
def test_a_wrong_setting_is_named(name: str, value: Any) -> None:
    with pytest.raises(UsageError, match="Ray cluster" if name == "ray_address" else name):
        parse({"engine": "mlx", name: value})


@pytest.mark.parametrize("address", ["auto", "10.0.0.1:6379", "ray://head.example:10001", "[::1]:6379"])
def test_addresses_as_ray_takes_them(address: str) -> None:
    assert parse({"engine": "mlx", "ray_address": address})[0].ray_address == address


def test_it_is_a_spreader_and_engines_are_not() -> None:
    assert backends.spreader(backends.load("ray")) is not None
    assert backends.spreader(backends.load("http")) is None
    assert not ray.ANSWERING, "how many actors there are changes no answer"


# -- errors -----------------------------------------------------------------------------------------------------------


class _WithoutClient:
    """Ray as it is installed without its client."""

    __version__ = "2"

    def init(self, **_: Any) -> None:
        raise ImportError("No module named 'grpc'")

    def shutdown(self) -> None:
        pass


def test_without_rays_client_it_is_a_package_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_ray", _WithoutClient)
    monkeypatch.setattr(cluster, "_reach", lambda address: None)
    with pytest.raises(EngineMissing) as failed:
        cluster.join("ray://head:10001")
    assert failed.value.hint == "pip install 'ray[client]'" and failed.value.exit_code == 2


def test_without_ray_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def importer(name: str, *rest: Any) -> Any:
        if name == "ray":
            raise ImportError("No module named 'ray'")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", importer)
    with pytest.raises(EngineMissing) as failed:
        ray.open("m.gguf", Decoding(), {"engine": "http"})
    assert failed.value.hint == "pip install 'twlocal[ray]'"


def test_an_actor_cannot_hold_ray_itself() -> None:
    with pytest.raises(UsageError, match="holds others itself"):
        ray.open("m.gguf", Decoding(), {"engine": "ray"})


def test_where_nothing_listens_it_says_so_at_once(free_port: int) -> None:
    started = time.monotonic()
    with pytest.raises(UsageError, match=f"nothing answers at 127.0.0.1:{free_port}"):
        cluster._reach(f"127.0.0.1:{free_port}")
    assert time.monotonic() - started < 11


@pytest.fixture
def free_port() -> int:
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_a_node_without_twlocal_or_with_another_one() -> None:
    failure = cluster.import_failure(RuntimeError("blah\nModuleNotFoundError: No module named 'twlocal'\n"), "n7")
    assert failure is not None and "n7" in failure.message and "No module named 'twlocal'" in failure.message
    assert cluster.import_failure(RuntimeError("out of memory"), "n7") is None
    with pytest.raises(ConfigurationError, match=r"n7 has twlocal 0\.0\.1"):
        cluster.same_version({"n7": "0.0.1"})


def test_the_last_words_are_those_before_the_report_of_the_fault() -> None:
    fault = (
        "*** SIGABRT received at time=1 on cpu 0 ***\nPC: @ 0x7f\nFatal Python error: Aborted\n\nExtension modules: a\n"
    )
    assert cluster.last_words(f":job_id:01\n:actor_name:Actor\nCUDA error: out of memory\n{fault}") == (
        "CUDA error: out of memory"
    )
    assert cluster.last_words(f":job_id:01\n{fault}").startswith("*** SIGABRT")
    assert cluster.last_words(":job_id:01\n:actor_name:Actor\n") == ""


# -- an actor, without Ray around it ----------------------------------------------------------------------------------


class Hub:
    """Calls an actor as the driver does, in threads as Ray's calls come."""

    def __init__(self, actor: Actor) -> None:
        self.actor = actor

    def answer(self, requests: list[Request], wanted: int = 1) -> list[str]:
        waiting, keys, idle = list(requests), [], False
        while waiting or not idle:
            part, waiting = waiting[:wanted], waiting[wanted:]
            report = self.actor.exchange(part, not waiting)
            assert report.error is None
            keys += [completion.key for completion in report.completions]
            wanted, idle = report.wanted, report.idle
        return keys


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF")
    return str(path)


@pytest.mark.parametrize("ahead", [1, 4])
def test_an_actor_answers_all_in_several_rounds(model: str, ahead: int) -> None:
    actor = Actor("scripted", model, Decoding(), {"ahead": ahead}, [model, "/nowhere"])
    assert actor.place().sizes == (4, None)
    info = actor.ready().info
    assert info is not None and info.engine == "scripted"
    hub = Hub(actor)
    assert sorted(hub.answer(asked(30)), key=int) == [str(number) for number in range(30)]
    assert hub.answer(asked(1)) == ["0"]
    assert actor.exchange([], True) == Report(idle=True)


def test_an_actor_never_asks_for_much_more_than_its_engine_holds(model: str) -> None:
    actor = Actor("scripted", model, Decoding(), {"ahead": 8, "delay": 0.002}, [])
    actor.ready()
    given_out, answered, most = 0, 0, 0
    waiting = asked(100)
    wanted = 1
    while waiting:
        part, waiting = waiting[:wanted], waiting[wanted:]
        given_out += len(part)
        most = max(most, given_out - answered)
        report = actor.exchange(part, not waiting)
        answered += len(report.completions)
        wanted = report.wanted
    assert most <= 8 + MOST // 4


def test_what_an_engine_refuses_comes_back_as_its_error(model: str) -> None:
    actor = Actor("scripted", model, Decoding(), {"refuse_after": 0}, [])
    actor.ready()
    error = actor.exchange(asked(1), True).error
    assert isinstance(error, ConfigurationError) and error.hint == "set the key"


def test_an_engine_that_cannot_be_opened_says_why(model: str) -> None:
    actor = Actor("http", "no-address", Decoding(), {}, [])
    error = actor.ready().error
    assert error is not None
    actor = Actor("scripted", model, Decoding(), {"load": "soon"}, [])
    assert isinstance(actor.ready().error, BackendError)


def test_an_actor_that_is_asked_for_nothing_more_lets_its_engine_end(model: str) -> None:
    actor = Actor("scripted", model, Decoding(), {"ahead": 50}, [])
    actor.ready()
    found: list[Report] = []

    def drive() -> Iterator[None]:
        found.append(actor.exchange(asked(3), False))
        while not found[-1].idle:
            yield
            found.append(actor.exchange([], True))

    thread = threading.Thread(target=lambda: list(drive()), daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive(), "an engine that waits for a full batch must be told that none comes"
    assert sum(len(report.completions) for report in found) == 3
