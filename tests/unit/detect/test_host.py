"""What an observation of the host changes: suspicions, proof of life, the cause of an open alert."""

import pytest

from logdirwatch.detect.host import CONFIG_ERRORS
from logdirwatch.detect.rules.log_dir_suspect import LEARNING
from logdirwatch.detect.settings import DetectSettings
from tests.unit.detect.builders import Driver, host_dir, host_view, log_dir

PATHS = ("/d1", "/d2", "/d3")


def polled(*paths, **settings):
    driver = Driver(settings=DetectSettings(**settings)) if settings else Driver()
    return driver.poll(*(log_dir(path) for path in paths or PATHS))


def suspected(driver):
    return {alert.log_dir: list(alert.evidence["why"]) for alert in driver.open_alerts()}


def test_each_directory_has_its_own_time():
    driver = polled()
    driver.host(host_dir("/d1", is_read_only=True))
    driver.show(host_view(driver.at_ms, host_dir("/d2", is_read_only=True)))
    assert suspected(driver) == {"/d1": ["read_only"], "/d2": ["read_only"]}


def test_a_clock_that_is_ahead_is_corrected_and_counted():
    driver = polled("/d1")
    before = driver.memory.corrected_clocks
    driver.show(host_view(driver.at_ms + 10 * 3_600_000, host_dir("/d1", probe_ms=1.0)), kafka_ms=driver.at_ms + 1)
    assert driver.memory.corrected_clocks == before + 1
    assert driver.memory.log_dirs["/d1"].proof_ms == driver.at_ms + 1
    driver.host(host_dir("/d1", probe_ms=1.0), after_ms=5)
    assert driver.memory.log_dirs["/d1"].proof_ms == driver.at_ms, "the next one counts"
    assert driver.memory.corrected_clocks == before + 1


@pytest.mark.parametrize(("is_read_only", "why"), [(True, ["read_only"]), (False, None), (None, ["read_only"])])
def test_only_a_mount_that_is_known_to_be_writable_clears_the_suspicion(is_read_only, why):
    driver = polled("/d1").host(host_dir("/d1", is_read_only=True))
    driver.host(host_dir("/d1", is_read_only=is_read_only))
    assert suspected(driver).get("/d1") == why


@pytest.mark.parametrize(
    ("fields", "is_suspect", "is_proof"),
    [
        ({"probe_ms": 2.0}, False, True),
        ({"probe_error": "write: Input/output error"}, True, False),
        ({"probe_error": "write: Input/output error", "probe_ms": 2.0}, True, False),
        ({}, False, False),
        # Nothing was checked: neither good nor bad.
        ({"config_error": "does not exist", "probe_ms": 2.0}, False, False),
        ({"config_error": "does not exist", "probe_error": "write: Input/output error"}, False, False),
        *(({"probe_error": error}, False, False) for error in sorted(CONFIG_ERRORS)),
    ],
)
def test_what_a_probe_says(fields, is_suspect, is_proof):
    driver = polled("/d1").host(host_dir("/d1", **fields))
    assert suspected(driver) == ({"/d1": ["probe"]} if is_suspect else {})
    assert driver.memory.log_dirs["/d1"].proof_ms == (driver.at_ms if is_proof else None)


@pytest.mark.parametrize(
    "error",
    ["look: not a directory", "look: Not a directory", "probe: Not a directory", "probe: No such file or directory"],
)
def test_where_no_directory_is_the_next_write_fails_and_nothing_can_wait(error):
    driver = polled("/d1").host(host_dir("/d1", probe_error=error))
    (alert,) = driver.open_alerts()
    assert (alert.log_dir, str(alert.severity), alert.evidence["why"]) == ("/d1", "critical", ["no_directory"])
    assert f"there is no directory at its path ({error})" in alert.evidence["no_directory"]
    assert "can wait until morning: no, because Kafka can create no file there" in alert.summary


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, None),
        ({"probe_ms": 2.0}, None),
        ({"probe_error": "write: Input/output error"}, ["probe"]),
        ({"config_error": "does not exist"}, ["no_directory"]),
    ],
)
def test_a_directory_that_is_there_again_is_told_of_in_the_same_alert(fields, why):
    driver = polled("/d1").host(host_dir("/d1", probe_error="look: not a directory"))
    driver.host(host_dir("/d1", **fields))
    assert suspected(driver).get("/d1") == why
    assert len({alert.alert_id for alert in driver.alerts}) == 1


def test_what_the_host_sees_of_a_broker_that_is_away_is_told_once():
    driver = polled("/d1").host(host_dir("/d1", volume="a", is_root_volume=False))
    for _ in range(9):
        driver.poll(status="timeout").host(host_dir("/d1", volume="b", is_root_volume=True))
    assert driver.said("log_dir_changed") == [("log_dir_changed", "firing", "critical")]


def test_an_offline_directory_is_explained_and_not_suspect_besides():
    driver = polled("/d1")
    driver.poll(log_dir("/d1", error_code=56))
    assert driver.cause() == "unknown"
    said = len(driver.alerts)
    driver.host(host_dir("/d1", is_read_only=True, probe_error="write: Read-only file system"))
    assert driver.cause() == "read_only"
    assert [(str(a.rule), str(a.cause)) for a in driver.alerts[said:]] == [("log_dir_offline", "read_only")]
    driver.host(host_dir("/d1", is_read_only=True))
    assert len(driver.alerts) == said + 1, "the same cause is told once"


def learned(driver, **probes_ms):
    """Enough probes of each directory that its usual time is known."""
    for _ in range(LEARNING + 1):
        driver.host(*(host_dir(f"/{name}", probe_ms=ms) for name, ms in probes_ms.items()), after_ms=1_000)
    return driver


SLOW = {"slow_min_ms": 100, "slow_factor": 5.0}


@pytest.mark.parametrize(
    ("probes_ms", "is_suspect"),
    [
        ({"d1": 501.0, "d2": 100.0, "d3": 100.0}, True),
        ({"d1": 500.0, "d2": 100.0, "d3": 100.0}, False),  # five times is not more than five times
        ({"d1": 100.0, "d2": 10.0, "d3": 10.0}, True),
        ({"d1": 99.0, "d2": 10.0, "d3": 10.0}, False),  # what is quick is never slow
        ({"d1": 501.0, "d2": 1.0, "d3": 199.0}, True),  # the middle one of the others counts
        ({"d1": 501.0, "d2": 1.0, "d3": 200.0}, False),
        ({"d1": 900.0, "d2": 1.0}, False),  # nobody knows which of the two is the odd one
        ({"d1": 900.0}, False),
    ],
)
def test_a_disk_that_was_always_slow_is_compared_with_the_brokers_others(probes_ms, is_suspect):
    driver = learned(polled(**SLOW), **probes_ms)
    assert suspected(driver) == ({"/d1": ["slower_than_others"]} if is_suspect else {})


def test_it_is_told_once_and_ends_when_it_is_as_quick_as_the_others():
    driver = learned(polled(**SLOW), d1=600.0, d2=100.0, d3=100.0)
    said = len(driver.alerts)
    learned(driver, d1=600.0, d2=100.0, d3=100.0)
    assert len(driver.alerts) == said
    assert "usually takes 600 ms, in the broker's other directories 100 ms" in driver.alerts[-1].summary
    for _ in range(10):
        learned(driver, d1=100.0, d2=100.0, d3=100.0)
    assert suspected(driver) == {}


def test_a_disk_of_which_too_little_is_known_is_compared_with_nobody():
    driver = polled(**SLOW)
    for _ in range(LEARNING - 1):
        driver.host(*(host_dir(path, probe_ms=600.0 if path == "/d1" else 1.0) for path in PATHS))
    assert suspected(driver) == {}
