"""How often a login may be tried."""

import pytest

from logdirwatch.console.login import tries
from logdirwatch.console.login.tries import FORGOTTEN_AFTER_MS, FREE_TRIES, LONGEST_WAIT_MS, Tries, keys_of

NOW_MS = 1_700_000_000_000
ADA = keys_of("ada", "10.0.0.1")


def failed(tried, keys, times, now_ms=NOW_MS):
    """Try as soon as it is allowed; return each wait."""
    waits = []
    for _ in range(times):
        wait_ms = tried.begin(keys, now_ms)
        if wait_ms:
            now_ms += wait_ms
            assert tried.begin(keys, now_ms) == 0
        waits.append(wait_ms)
    return waits


def test_after_some_free_tries_each_waits_twice_as_long_up_to_a_limit():
    waits = failed(Tries(), ADA, FREE_TRIES + 12)
    assert waits[: FREE_TRIES + 4] == [0] * FREE_TRIES + [1_000, 2_000, 4_000, 8_000]
    assert waits[-1] == LONGEST_WAIT_MS


def test_a_try_that_has_to_wait_does_not_count():
    tried = Tries()
    failed(tried, ADA, FREE_TRIES)
    assert {tried.begin(ADA, NOW_MS) for _ in range(50)} == {1_000}


def test_one_user_is_counted_from_every_address_and_one_address_for_every_user():
    tried = Tries()
    failed(tried, ADA, FREE_TRIES)
    assert tried.begin(keys_of("ada", "10.0.0.2"), NOW_MS) > 0
    assert tried.begin(keys_of("bob", "10.0.0.1"), NOW_MS) > 0
    assert tried.begin(keys_of("bob", "10.0.0.2"), NOW_MS) == 0


def test_tries_at_the_same_time_do_not_pass_together():
    tried = Tries()
    assert [tried.begin(ADA, NOW_MS) > 0 for _ in range(5)] == [False] * FREE_TRIES + [True] * (5 - FREE_TRIES)


def test_a_success_forgives_the_user_but_not_the_address():
    tried = Tries()
    failed(tried, keys_of("eve", "10.0.0.1"), FREE_TRIES - 1)
    assert tried.begin(ADA, NOW_MS) == 0
    tried.succeeded(*ADA)
    assert tried.begin(keys_of("eve", "10.0.0.1"), NOW_MS) == 0
    assert tried.begin(keys_of("bob", "10.0.0.1"), NOW_MS) > 0


def test_failures_are_forgotten_in_time():
    tried = Tries()
    failed(tried, ADA, FREE_TRIES)
    assert failed(tried, ADA, 1, NOW_MS + FORGOTTEN_AFTER_MS) == [0]


@pytest.mark.parametrize(
    ("address", "other", "is_same"),
    [
        ("2001:db8::1", "2001:db8::ffff", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("10.0.0.1", "10.0.0.2", False),
        ("unix socket", "unix socket", True),
    ],
)
def test_an_address_of_ipv6_is_counted_with_its_network(address, other, is_same):
    assert (keys_of("ada", address) == keys_of("ada", other)) is is_same


def test_no_more_is_kept_than_a_limit(monkeypatch):
    monkeypatch.setattr(tries, "MOST_KEPT", 10)
    tried = Tries()
    for number in range(100):
        tried.begin(keys_of(f"user {number}", f"10.0.0.{number}"), NOW_MS)
    assert len(tried._failed) == 10
