"""Brokers that are away."""

from tests.unit.detect.builders import POLL_MS


def timeout(driver, **fields):
    return driver.poll(status="timeout", error="no answer in 4000 ms", **fields)


def fenced(driver, **fields):
    return timeout(driver, is_fenced=True, controller_at_ms=driver.at_ms + POLL_MS, **fields)


def away_for(driver, ms, **fields):
    until_ms = driver.at_ms + ms
    while driver.at_ms < until_ms:
        fenced(driver, **fields)
    return driver
