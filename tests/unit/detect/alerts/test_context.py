"""Which transitions are written, with which statuses, time and cause, and what is remembered of them."""

import pytest

from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime
from logdirwatch.detect.settings import DetectSettings, ThresholdRule, Thresholds
from logdirwatch.detect.state.broker_state import BrokerMemory
from logdirwatch.model.vocabulary import BrokerStatus
from tests.unit.detect.builders import T0, Driver, log_dir

MOMENT = EvidenceTime(T0 + 5, "logdir.metrics/0/1")


def context(log_dir=None, settings=None, **broker):
    dirs = {} if log_dir is None else {"/d1": log_dir}
    memory = BrokerMemory(cluster="prod", broker=7, log_dirs=dirs, **broker)
    return BrokerContext(memory, settings or DetectSettings())


def told(made):
    return [(t.log_dir, t.from_status, t.to_status, t.cause, t.reason, t.at_ms) for t in made.outcome().transitions]


@pytest.mark.parametrize("is_judged", [True, False])
def test_the_removal_of_a_broker_is_told_only_if_it_was_ever_judged(is_judged):
    made = context(status=BrokerStatus.ONLINE, is_judged=is_judged)
    made.remove_broker("gone", MOMENT)
    assert told(made) == ([(None, "online", "removed", None, "gone", T0 + 5)] if is_judged else [])
    memory = made.memory
    assert (memory.status, memory.is_judged, memory.reason) == (BrokerStatus.UNKNOWN, False, "gone")


def test_thresholds_are_those_of_the_cluster_and_directory():
    rules = (
        ThresholdRule(cluster="dev", thresholds=Thresholds(filling_ratio=0.1)),
        ThresholdRule(cluster="prod", log_dir="/d1", thresholds=Thresholds(filling_ratio=0.5)),
    )
    made = context(settings=DetectSettings(rules=rules))
    assert [made.thresholds(path).filling_ratio for path in ("/d1", "/d2")] == [0.5, 0.75]


def test_an_alert_that_comes_and_goes_is_held_open_and_says_so():
    driver = Driver()
    for _ in range(3):
        driver.polls(0.8, 0.8, 0.6, 0.6)
    assert [item[1] for item in driver.said("log_dir_space")] == [
        *["firing", "resolved"] * 2,
        "firing",
        "firing",
    ]
    assert driver.status() == "online"
    assert driver.open_alerts()[0].evidence["flapping"] == 3
    held = driver.open_alerts()[0].summary
    assert "Broker 7 /d1 has had no log_dir_space since 2023-11-14" in held
    assert "ended 3 times within an hour, held open until 2023-11-14" in held
    driver.polls(0.8, 0.8)
    assert "is filling" in driver.open_alerts()[0].summary, "it is not well, and does not say so"
    driver.polls(0.6, 0.6)
    assert len(driver.said("log_dir_space")) == 8
    driver.polls(*[0.6] * 118)
    assert driver.open_alerts(), "not calm for ten minutes yet"
    driver.polls(*[0.6] * 3)
    assert driver.said("log_dir_space")[-1] == ("log_dir_space", "resolved", "recovered")


def test_a_flapping_directory_that_fails_ends_its_alert_at_once():
    driver = Driver()
    for _ in range(3):
        driver.polls(0.8, 0.8, 0.6, 0.6)
    driver.poll(log_dir(error_code=56))
    assert ("log_dir_space", "resolved", "offline") in driver.said()
    assert [str(alert.rule) for alert in driver.open_alerts()] == ["log_dir_offline"]
