"""One `generate()`: laziness, order, closing, threads."""

from __future__ import annotations

import threading
import time

import pytest

from twlocal.backend import Message, Request


def threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("twlocal-http")]


def counting(source, pulled):
    for request in source:
        pulled.append(request.key)
        yield request


def test_every_request_is_answered_once_over_kept_connections(bench):
    done = list(bench.connect(concurrency=8).generate(bench.requests(300)))
    assert sorted(completion.key for completion in done) == sorted(f"k{number}" for number in range(300))
    assert len(bench.server.posts) == 300
    assert bench.server.connections <= 9
    assert threads() == []


def test_requests_are_asked_side_by_side(bench):
    bench.server.route = lambda seen: bench.Reply(body=bench.completion(), delay=0.05)
    started = time.perf_counter()
    bench.ask(24, concurrency=12)
    assert bench.server.peak == 12
    assert time.perf_counter() - started < 12 * 0.05


def test_requests_are_pulled_lazily_and_on_the_callers_thread(bench):
    pulled, threads_seen = [], set()

    def source():
        for request in bench.requests(10_000):
            pulled.append(request.key)
            threads_seen.add(threading.current_thread())
            yield request

    generator = bench.connect(concurrency=4).generate(source())
    assert pulled == []
    for _ in range(10):
        next(generator)
    assert len(pulled) <= 10 + 2 * 4
    generator.close()
    assert threads_seen == {threading.current_thread()}


def test_completions_come_as_they_finish(bench):
    def route(seen):
        slow = "第0題" in seen.body["messages"][-1]["content"]
        return bench.Reply(body=bench.completion(), delay=0.3 if slow else 0.0)

    bench.server.route = route
    keys = [completion.key for completion in bench.connect(concurrency=2).generate(bench.requests(10))]
    assert keys[-1] == "k0"


def test_closing_stops_at_once_and_leaves_nothing_behind(bench):
    bench.server.replies = [bench.Reply(body=bench.completion())]
    bench.server.route = lambda seen: bench.Reply(delay=30)
    generator = bench.connect(concurrency=4).generate(bench.requests(100))
    next(generator)
    started = time.perf_counter()
    generator.close()
    assert time.perf_counter() - started < 2
    assert threads() == []


def test_closing_during_a_long_wait_stops_at_once(bench):
    bench.server.replies = [bench.Reply(body=bench.completion()), bench.Reply(429, b"", {"Retry-After": "500"})]
    generator = bench.connect(concurrency=1, real_time=True).generate(bench.requests(100))
    next(generator)
    time.sleep(0.05)
    started = time.perf_counter()
    generator.close()
    assert time.perf_counter() - started < 2
    assert threads() == []


def test_a_generator_that_is_dropped_or_never_started_leaves_nothing_behind(bench):
    generator = bench.connect(concurrency=4).generate(bench.requests(100))
    next(generator)
    del generator
    bench.connect().generate(bench.requests(100))
    assert list(bench.connect().generate(iter(()))) == []
    assert threads() == []


def test_a_short_list_ends_without_a_word_in_the_log(bench, caplog):
    backend = bench.connect()
    for _ in range(30):
        assert len(list(backend.generate(bench.requests(1)))) == 1
    assert caplog.text == ""


def test_the_callers_own_errors_pass_through(bench):
    def source():
        yield from bench.requests(3)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(bench.connect(concurrency=1).generate(source()))
    assert threads() == []


def test_an_iterator_that_is_slow_does_not_stall_what_is_in_flight(bench):
    def source():
        for request in bench.requests(6):
            time.sleep(0.02)
            yield request

    assert len(list(bench.connect(concurrency=2).generate(source()))) == 6


def test_two_sittings_in_a_row_share_what_was_learnt(bench):
    bench.server.replies = [bench.Reply(400, {"error": {"message": "top_p is not supported"}})]
    backend = bench.connect()
    list(backend.generate(bench.requests()))
    list(backend.generate(bench.requests()))
    assert ["top_p" in post.body for post in bench.server.posts] == [True, False, False]


def test_it_works_inside_a_running_event_loop(bench):
    import asyncio

    async def main():
        return bench.ask(2)

    assert len(asyncio.run(main())) == 2


def test_budgets_may_differ_from_request_to_request(bench):
    mixed = [Request(str(budget), (Message("user", "題"),), budget) for budget in (5, 9, 5)]
    list(bench.connect(concurrency=1).generate(mixed))
    assert [post.body["max_tokens"] for post in bench.server.posts] == [5, 9, 5]
    assert bench.server.posts[0].body["messages"] == [{"role": "user", "content": "題"}]


def test_an_idle_connection_that_the_server_closed_is_no_error(bench):
    bench.server.route = lambda seen: bench.Reply(
        body=bench.completion(), headers={"Connection": "keep-alive"}, end=False
    )
    done = bench.ask(5, concurrency=1)
    assert [completion.error_kind for completion in done] == [""] * 5
