"""From the text of a broker's log to the events that its host sends, as the product reads it."""

from logdirwatch.collect.host.news import NewsDesk
from logdirwatch.collect.host.records import event_record
from logdirwatch.collect.rounds.records import Origin
from logdirwatch.parse.broker_log.entries import Entries
from logdirwatch.parse.broker_log.findings import findings

AT = "2026-03-08 16:42:33,730"
START = f"[{AT}] INFO Registered `kafka:type=kafka.Log4jController` MBean (kafka.utils.Log4jControllerRegistration$)\n"
LOG_DIRS = ("/d0", "/d1")


def entry(message, exception="", logger="kafka.Kafka$", level="ERROR"):
    """One entry in Kafka's own pattern."""
    return f"[{AT}] {level} {message} ({logger})\n" + (f"{exception}\n\tat x.y(Z.java:1)\n" if exception else "")


def show_log(driver, text, after_ms=1):
    """Show a broker's machine what its log tells."""
    cut = Entries()
    entries = [*cut.feed(text.encode()), *cut.end()]
    told = NewsDesk().of_present_run([found for one in entries for found in findings(one, LOG_DIRS)], 0)
    for news in told:
        driver.at_ms += after_ms
        driver.show(event_record(Origin("prod", "host", 10_000), 7, news, driver.at_ms))
    return driver
