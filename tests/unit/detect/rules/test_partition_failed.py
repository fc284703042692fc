"""Partitions that the log calls bad are told one by one."""

from logdirwatch.model.records import PartitionHealth
from tests.unit.detect.builders import Driver, log_dir
from tests.unit.detect.rules.test_kernel_errors import healthy

MINUTE_MS = 60_000


def test_one_bad_partition_does_not_condemn_its_directory():
    driver = Driver().polls(0.5)
    for partition in (0, 1, 1):
        driver.event("PartitionFailed", "/d1", topic="orders", partition=partition, detail="CorruptRecordException")
    assert driver.status() == "online"
    assert driver.memory.status == "online"
    assert [a.evidence["why"] for a in driver.alerts] == [["orders-0"], ["orders-0", "orders-1"]]
    driver.at_ms += 25 * 60 * MINUTE_MS
    for health in (None, PartitionHealth(out_of_sync=1), PartitionHealth()):
        driver.poll(log_dir(), partitions=health)
        assert driver.said()[-1] == ("partition_failed", "firing", "warning"), "silence is no evidence of health"
    driver.poll(log_dir(), partitions=PartitionHealth(out_of_sync=0))
    assert driver.said()[-1] == ("partition_failed", "resolved", "not seen again")


def test_failed_partitions_are_stale_while_their_broker_is_unknown():
    driver = Driver().polls(0.5).event("PartitionFailed", topic="t", partition=0)
    for _ in range(4):
        driver.poll(status="timeout")
    driver.polls(0.5)
    told = [a.stale_since_ms is None for a in driver.alerts if a.rule == "partition_failed"]
    assert told == [True, False, True]


def test_a_persons_word_ends_what_the_log_called_bad_before():
    driver = Driver().polls(0.5)
    for partition in (0, 1):
        driver.event("PartitionFailed", "/d1" if partition else None, topic="t", partition=partition)
    healthy(driver)
    assert [a.evidence["why"] for a in driver.open_alerts() if a.rule == "partition_failed"] == [["t-0"]]
    healthy(driver, path=None)
    assert driver.said("partition_failed")[-1] == ("partition_failed", "resolved", "ada declared it healthy: new disk")
