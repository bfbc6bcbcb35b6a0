"""How long to wait and how many at once: the pure parts, and through the wire with a clock that only sleeping moves."""

from __future__ import annotations

import asyncio
from email.utils import formatdate

import pytest

from twlocal.backends.http.retry import LONGEST_WAIT, Throttle, asked_wait, backoff, come_back
from twlocal.errors import ConfigurationError

NOW = 1_790_000_000.0


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry-After": "2"}, 2.0),
        ({"retry-after": " 2 "}, 2.0),
        ({"Retry-After": "1.5"}, 1.5),
        ({"Retry-After": "0"}, 0.0),
        ({"Retry-After": "12s"}, 12.0),
        ({"Retry-After": "86400"}, 86400.0),
        ({"Retry-After": formatdate(NOW + 30, usegmt=True)}, 30.0),
        ({"Retry-After": "2026-09-21T14:14:20Z"}, 1_790_000_060.0 - NOW),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, None),
        ({"Retry-After": "-5"}, None),
        ({"Retry-After": "abc"}, None),
        ({"Retry-After": ""}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "1e3"}, None),
        ({"Retry-After": "２"}, None),
        ({"Retry-After": "Wed, 99 Foo 2015"}, None),
        ({"Retry-After-Ms": "250", "Retry-After": "7"}, 0.25),
        ({"X-RateLimit-Reset-Requests": "6m0s"}, 60.0),
        ({"X-RateLimit-Reset-Tokens": "20ms"}, 0.02),
        ({"X-RateLimit-Reset": str(int(NOW + 5))}, 5.0),
        ({"X-RateLimit-Reset": str(int((NOW + 5) * 1000))}, 5.0),
        ({"x-ratelimit-reset-tokens": "9s", "x-ratelimit-remaining-tokens": "120"}, None),
        ({"x-ratelimit-reset-requests": "soon"}, None),
        ({}, None),
    ],
)
def test_waits_that_servers_ask_for(headers, wait):
    assert asked_wait(headers, NOW) == (pytest.approx(wait, abs=0.01) if wait is not None else None)


def test_a_number_of_a_thousand_digits_is_just_too_long():
    assert asked_wait({"Retry-After": "9" * 1000}, NOW) > LONGEST_WAIT
    assert come_back(asked_wait({"Retry-After": "9" * 1000}, NOW), NOW)


def test_backoff_doubles_up_to_its_ceiling_under_full_jitter():
    assert [backoff(tries, lambda: 1.0) for tries in (1, 2, 3, 7, 1000)] == [0.5, 1.0, 2.0, 30.0, 30.0]
    assert backoff(3, lambda: 0.0) == 0.0
    assert backoff(20, lambda: 1.0, throttled=True) == 60.0


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("header", "least", "most"), [("2", 2, 3), ("1.5", 1.5, 2.5), ("0", 0, 0.5), ("-5", 0, 1), ("abc", 0, 1)]
)
def test_retry_after_is_honoured(bench, status, header, least, most):
    completion = bench.one(bench.Reply(status, b"later", {"Retry-After": header}))
    assert (completion.error_kind, completion.attempts) == ("", 2)
    assert least <= sum(bench.time.slept) <= most
    assert all(seconds >= 0 for seconds in bench.time.slept)


def test_a_date_in_the_future_is_waited_for_and_one_in_the_past_is_not(bench):
    later = formatdate(bench.time.now + 20, usegmt=True)
    bench.one(bench.Reply(429, b"", {"Retry-After": later}))
    assert 20 <= sum(bench.time.slept) <= 22
    bench.time.slept.clear()
    bench.one(bench.Reply(429, b"", {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}))
    assert 0 <= sum(bench.time.slept) <= 1


def test_a_day_is_not_slept_but_said(bench):
    bench.server.replies = [bench.Reply(body=bench.completion()), bench.Reply(429, b"", {"Retry-After": "86400"})]
    done = []
    with pytest.raises(ConfigurationError, match="24 hours, until 2026-09-22") as caught:
        for completion in bench.connect(concurrency=1).generate(bench.requests(5)):
            done.append(completion)
    assert len(done) == 1
    assert "what was answered is kept" in str(caught.value)
    assert bench.time.slept == []


def test_a_wait_holds_everybody_back(bench):
    refused = bench.Reply(429, b"", {"Retry-After": "0.4"})
    bench.server.replies = [bench.Reply(body=bench.completion(), delay=0.02)] * 6 + [refused]
    bench.server.route = lambda seen: bench.Reply(body=bench.completion(), delay=0.02)
    done = list(bench.connect(concurrency=4, real_time=True).generate(bench.requests(30)))
    assert [completion.error_kind for completion in done] == [""] * 30
    times = [post.at for post in bench.server.posts]
    refused_at = times[6]
    # Those that were on their way already may still arrive; then nobody does, until the wait is over.
    assert not [at for at in times if refused_at + 0.15 < at < refused_at + 0.4]
    assert len([at for at in times if at >= refused_at + 0.4]) >= 15


def test_429_asks_less_at_once_and_grows_back(bench):
    limit = 3

    def route(seen):
        if bench.server.in_flight > limit:
            return bench.Reply(429, {"error": "too many at once"})
        return bench.Reply(body=bench.completion(), delay=0.003)

    bench.server.route = route
    backend = bench.connect(concurrency=16)
    done = list(backend.generate(bench.requests(120)))
    assert [completion.error_kind for completion in done] == [""] * 120
    assert 1 <= backend.describe().settings["lowest_concurrency"] <= 4
    assert len(bench.server.posts) < 120 + 90


def test_a_server_that_asks_for_a_second_again_and_again_gets_more(bench):
    bench.server.route = lambda seen: bench.Reply(429, b"", {"Retry-After": "1"})
    (completion,) = bench.ask(1, retries=6)
    assert (completion.error_kind, completion.attempts) == ("server", 13)
    assert 60 < sum(bench.time.slept) < 600


def throttle(ceiling, clock=lambda: 0.0):
    async def sleep(seconds):
        await asyncio.sleep(0)

    return Throttle(ceiling, clock, sleep, lambda: 0.0)


def test_one_burst_halves_once():
    now = [10.0]
    subject = throttle(16, lambda: now[0])
    for _ in range(16):
        subject.too_many(sent_at=9.0)
    assert subject.limit == 8
    now[0] = 12.0
    subject.too_many(sent_at=11.0)
    assert subject.limit == 4
    for _ in range(7):
        subject.went_well()
    assert subject.limit == 4
    subject.went_well()
    assert subject.limit == 5
    for _ in range(1000):
        subject.went_well()
    assert subject.limit == 16


def test_no_more_than_the_limit_enter():
    async def run():
        subject = throttle(2)
        await subject.enter()
        await subject.enter()
        third = asyncio.ensure_future(subject.enter())
        await asyncio.sleep(0)
        assert not third.done()
        subject.leave()
        await asyncio.wait_for(third, 1)
        assert subject.active == 2

    asyncio.run(run())
