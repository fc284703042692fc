"""What the log cleaner gave up on (KIP-346): by gauges, by the log, and ended only by a gauge."""

from logdirwatch.detect.state.broker_state import NAMES
from tests.unit.detect.builders import GIB, POLL_MS, Driver, log_dir
from tests.unit.detect.rules.test_kernel_errors import healthy

COUNT, BYTES = "UncleanablePartitionsCount:/d1", "UncleanableBytes:/d1"
GIVEN_UP = {COUNT: 3.0, BYTES: 200.0 * GIB}
WELL = {COUNT: 0.0, BYTES: 0.0}


def given_up(driver, partition=20, log_dir="/d1", detail="IllegalStateException", **fields):
    return driver.event(
        "PartitionUncleanable", log_dir, topic="__consumer_offsets", partition=partition, detail=detail, **fields
    )


def opened(driver):
    return [alert for alert in driver.open_alerts() if alert.rule == "uncleanable_partitions"]


def test_the_gauges_alone_open_it_and_end_it():
    driver = Driver().poll(log_dir(), metrics=WELL)
    assert opened(driver) == []
    driver.poll(log_dir(), metrics=GIVEN_UP).poll(log_dir(), metrics=GIVEN_UP)
    (alert,) = opened(driver)
    assert (alert.log_dir, alert.severity, alert.revision) == ("/d1", "warning", 1)
    assert (alert.evidence["uncleanable_partitions"], alert.evidence["uncleanable_bytes"]) == (3, 200 * GIB)
    assert "gave up on 3 partitions with 200 GiB to clean" in alert.summary
    driver.poll(log_dir(), metrics=WELL)
    assert opened(driver) == []
    assert driver.said("uncleanable_partitions")[-1] == ("uncleanable_partitions", "resolved", "recovered")


def test_one_more_partition_is_news():
    driver = Driver().poll(log_dir(), metrics=GIVEN_UP).poll(log_dir(), metrics={**GIVEN_UP, COUNT: 4.0})
    assert [alert.revision for alert in opened(driver)] == [2]


def test_the_log_names_the_partition_and_what_the_cleaner_met():
    (alert,) = opened(given_up(Driver().polls(0.5)))
    assert (alert.log_dir, alert.evidence["why"]) == ("/d1", ["__consumer_offsets-20"])
    assert alert.evidence["detail"] == "IllegalStateException"
    assert "__consumer_offsets-20" in alert.summary


def test_a_gauge_that_counts_more_than_the_log_names_is_told_with_them():
    (alert,) = opened(given_up(Driver().polls(0.5)).poll(log_dir(), metrics=GIVEN_UP))
    assert "gave up on 3 partitions (__consumer_offsets-20 among them) with 200 GiB to clean" in alert.summary
    assert alert.evidence["uncleanable_partitions"] == 3


def test_one_partition_is_counted_as_one():
    (alert,) = opened(Driver().poll(log_dir(), metrics={COUNT: 1.0}))
    assert "gave up on 1 partition;" in alert.summary


def test_a_partition_whose_directory_nobody_knows_is_told_of_its_broker():
    for path in (None, "/elsewhere"):
        driver = given_up(Driver().polls(0.5), log_dir=path)
        assert [alert.log_dir for alert in opened(driver)] == [None]
        assert opened(driver.poll(log_dir(), metrics=GIVEN_UP))[0].log_dir is None
        driver.poll(log_dir(), metrics=WELL)
        assert opened(driver) == []


def test_a_directory_that_fills_makes_it_critical():
    driver = given_up(Driver().polls(0.5)).polls(0.8, 0.8)
    assert [str(alert.severity) for alert in opened(driver)] == ["critical"]
    assert "can wait until morning: no, because the directory fills" in opened(driver)[0].summary
    driver.polls(0.5, 0.5)
    assert [str(alert.severity) for alert in opened(driver)] == ["warning"]


def test_without_a_gauge_a_persons_word_ends_what_the_log_named_before():
    driver = healthy(given_up(Driver().polls(0.5)))
    assert opened(driver) == []
    assert driver.said("uncleanable_partitions")[-1][2] == "ada declared it healthy: new disk"
    assert opened(driver.polls(0.5, 0.5)) == [], "nothing is left that would open it again"
    assert [alert.evidence["why"] for alert in opened(given_up(driver, partition=21))] == [["__consumer_offsets-21"]]


def test_of_the_brokers_own_the_word_about_the_broker_ends_it():
    driver = given_up(Driver().polls(0.5), log_dir=None)
    assert opened(healthy(driver))
    assert opened(healthy(driver, path=None)) == []


def test_what_the_gauge_counts_goes_on_whatever_is_said():
    driver = given_up(Driver().polls(0.5)).poll(log_dir(), metrics=GIVEN_UP)
    (alert,) = opened(healthy(driver))
    assert (alert.evidence["why"], alert.evidence["uncleanable_partitions"]) == ([], 3)


def test_without_a_gauge_and_a_word_nothing_ends_it_not_even_a_restart():
    driver = given_up(Driver().polls(0.5))
    for _ in range(100):
        driver.poll(status="timeout", error="refused", controller_at_ms=driver.at_ms + POLL_MS, is_fenced=True)
    driver.polls(*[0.5] * 20).poll(log_dir(), metrics={"DeadThreadCount": 0.0})
    assert opened(driver)


def test_a_gauge_that_is_not_there_any_more_ends_nothing():
    driver = Driver().poll(log_dir(), metrics=GIVEN_UP)
    for _ in range(20):
        driver.poll(log_dir(), metrics={"DeadThreadCount": 0.0}).poll(log_dir())
    assert opened(driver)


def test_a_gauge_that_was_scraped_before_the_line_does_not_end_it():
    driver = given_up(Driver().poll(log_dir(), metrics=WELL), after_ms=1_000)
    driver.at_ms -= 1_000
    driver.poll(log_dir(), metrics={**WELL, "scrape_age_ms": POLL_MS - 1.0}).poll(log_dir(), metrics={})
    assert opened(driver)
    driver.poll(log_dir(), metrics=WELL)
    assert opened(driver) == []


def test_bytes_alone_are_a_witness_where_the_exporter_shows_no_count():
    driver = Driver().poll(log_dir(), metrics={BYTES: 5.0 * GIB})
    assert "gave up on partitions with 5 GiB to clean" in opened(driver)[0].summary
    assert opened(driver.poll(log_dir(), metrics={BYTES: 0.0})) == []


def test_a_directory_that_goes_offline_takes_it_over():
    driver = given_up(Driver().polls(0.5)).poll(log_dir(error_code=56))
    assert opened(driver) == []
    assert opened(given_up(driver, partition=21)) == []


def test_it_reaches_an_alert_of_space_that_is_open():
    driver = Driver().polls(0.5, 0.8, 0.8)
    (before,) = driver.open_alerts()
    given_up(driver).polls(0.8)
    (after,) = [alert for alert in driver.open_alerts() if alert.rule == "log_dir_space"]
    assert after.revision == before.revision + 1
    assert "its log cleaner gave up on __consumer_offsets-20" in after.summary
    assert after.evidence["keeps_growing"] == ["uncleanable"]


def test_however_many_are_named_the_newest_are_kept():
    driver = Driver().polls(0.5)
    for number in range(NAMES + 2):
        given_up(driver, number)
    kept = driver.memory.log_dirs["/d1"].uncleanable
    assert len(kept) == NAMES
    assert "__consumer_offsets-1" not in kept
    assert f"__consumer_offsets-{NAMES + 1}" in kept
