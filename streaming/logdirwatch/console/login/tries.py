"""Rate limit of logins: after a few failures each further attempt has to wait, twice as long each time. Pure."""

import ipaddress
import threading
from collections.abc import Iterable
from typing import NamedTuple

FREE_TRIES = 3
FIRST_WAIT_MS = 1_000
LONGEST_WAIT_MS = 5 * 60_000
FORGOTTEN_AFTER_MS = 60 * 60_000
MOST_KEPT = 10_000


class Failures(NamedTuple):
    """The number of failed attempts in a row, the time of the last one, and whether the wait after it was logged."""

    tries: int
    at_ms: int
    is_told: bool = False


class Tries:
    """The failed attempts by user and by address; unknown user names are counted in the same way.

    Times are of a monotonic clock: on one that is set back somebody would wait for an hour.
    """

    def __init__(self) -> None:
        self._failed: dict[str, Failures] = {}
        self._lock = threading.Lock()

    def begin(self, keys: Iterable[str], now_ms: int) -> int:
        """Return how long to wait, in milliseconds; 0: the attempt is allowed, and counts as failed until it succeeds.

        Counting first prevents simultaneous attempts from passing together.
        """
        keys = list(keys)
        with self._lock:
            wait_ms = self._longest_ms(keys, now_ms)
            if wait_ms == 0:
                self._count(keys, now_ms)
        return wait_ms

    def wait_ms(self, keys: Iterable[str], now_ms: int) -> int:
        """Return how long to wait; 0: the attempt is allowed."""
        with self._lock:
            return self._longest_ms(keys, now_ms)

    def count(self, keys: Iterable[str], now_ms: int) -> None:
        """Count a failed attempt."""
        with self._lock:
            self._count(keys, now_ms)

    def is_news(self, keys: Iterable[str], now_ms: int) -> bool:
        """Tell whether a wait was not logged before: who has to wait may try very often."""
        with self._lock:
            waiting = [key for key in keys if _wait_ms(self._of(key, now_ms), now_ms)]
            untold = [key for key in waiting if not self._failed[key].is_told]
            for key in untold:
                self._failed[key] = self._failed[key]._replace(is_told=True)
        return bool(untold)

    def succeeded(self, user: str, address: str) -> None:
        """Remove an attempt: all failures of the user, but only this one of the address.

        Otherwise one valid account would give an address unlimited attempts.
        """
        self.forgive(user)
        with self._lock:
            failed = self._failed.get(address)
            if failed is not None:
                self._failed[address] = failed._replace(tries=failed.tries - 1)

    def forgive(self, key: str) -> None:
        """Remove all failures of a key."""
        with self._lock:
            self._failed.pop(key, None)

    def _longest_ms(self, keys: Iterable[str], now_ms: int) -> int:
        return max(_wait_ms(self._of(key, now_ms), now_ms) for key in keys)

    def _count(self, keys: Iterable[str], now_ms: int) -> None:
        for key in keys:
            count = self._of(key, now_ms).tries + 1
            self._failed.pop(key, None)
            self._failed[key] = Failures(count, now_ms)
        self._forget(now_ms)

    def _of(self, key: str, now_ms: int) -> Failures:
        failed = self._failed.get(key, Failures(0, now_ms))
        return failed if now_ms - failed.at_ms < FORGOTTEN_AFTER_MS else Failures(0, now_ms)

    def _forget(self, now_ms: int) -> None:
        """Drop old entries, and of too many those whose last attempt is the longest ago."""
        if len(self._failed) > MOST_KEPT:
            recent = [
                (key, failed) for key, failed in self._failed.items() if now_ms - failed.at_ms < FORGOTTEN_AFTER_MS
            ]
            self._failed = dict(recent[-MOST_KEPT:])


def _wait_ms(failed: Failures, now_ms: int) -> int:
    if failed.tries < FREE_TRIES:
        return 0
    # The exponent is bounded: a number of a thousand digits is slow too.
    wait_ms = min(LONGEST_WAIT_MS, FIRST_WAIT_MS << min(failed.tries - FREE_TRIES, 20))
    return max(0, failed.at_ms + wait_ms - now_ms)


def keys_of(user: str, address: str) -> tuple[str, str]:
    """Return the counted keys: the user, and the address; for IPv6 the network of one machine."""
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return f"user {user}", f"address {address}"
    network = ipaddress.ip_network((known, 64 if known.version == 6 else 32), strict=False)
    return f"user {user}", f"address {network}"
