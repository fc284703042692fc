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
    """The number of failed attempts in a row, and the time of the last one."""

    tries: int
    at_ms: int


class Tries:
    """The failed attempts by user and by address; unknown user names are counted in the same way."""

    def __init__(self) -> None:
        self._failed: dict[str, Failures] = {}
        self._lock = threading.Lock()

    def begin(self, keys: Iterable[str], now_ms: int) -> int:
        """Return how long to wait, in milliseconds; 0: the attempt is allowed, and counts as failed until it succeeds.

        Counting first prevents simultaneous attempts from passing together.
        """
        keys = list(keys)
        with self._lock:
            wait_ms = max(_wait_ms(self._of(key, now_ms), now_ms) for key in keys)
            if wait_ms == 0:
                for key in keys:
                    count = self._of(key, now_ms).tries + 1
                    self._failed.pop(key, None)
                    self._failed[key] = Failures(count, now_ms)
                self._forget(now_ms)
        return wait_ms

    def succeeded(self, user: str, address: str) -> None:
        """Remove an attempt: all failures of the user, but only this one of the address.

        Otherwise one valid account would give an address unlimited attempts.
        """
        with self._lock:
            self._failed.pop(user, None)
            failed = self._failed.get(address)
            if failed is not None:
                self._failed[address] = failed._replace(tries=failed.tries - 1)

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
