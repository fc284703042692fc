"""What a receiver is told of a group, and when."""

import pytest

from logdirwatch.model.vocabulary import Decision, Rule, Severity
from logdirwatch.notify.wording import text_of
from tests.unit.notify.world import INTERVAL_MS, REPEAT_MS, WAIT_MS, World, settings


@pytest.fixture
def world():
    return World()


def firing(message):
    return [member.alert.alert_id for member in message.firing]


def ended(message):
    return [found.alert_id for found in message.ended]


def later(name, severity=Severity.WARNING):
    return lambda world: world.fire(name, severity, broker=8)


@pytest.mark.parametrize(
    ("severity", "happens", "after_ms", "told_ms", "reason"),
    [
        (Severity.WARNING, later("b"), 1_000, INTERVAL_MS, "more"),
        (Severity.WARNING, later("b"), INTERVAL_MS - 1_000, INTERVAL_MS - 1_000 + WAIT_MS, "more"),
        (Severity.WARNING, lambda world: world.resolve("a"), 1_000, INTERVAL_MS, "resolved"),
        (Severity.WARNING, lambda world: None, 0, REPEAT_MS, "repeat"),
        (Severity.WARNING, later("a", Severity.CRITICAL), 1_000, 1_000 + WAIT_MS, "louder"),
        (Severity.WARNING, later("a", Severity.PAGE), 1_000, WAIT_MS, "louder"),
        (Severity.WARNING, later("b", Severity.CRITICAL), 1_000, 1_000 + WAIT_MS, "louder"),
        (Severity.CRITICAL, later("b", Severity.CRITICAL), 1_000, INTERVAL_MS, "more"),
        (Severity.PAGE, later("b", Severity.PAGE), 1_000, WAIT_MS, "more"),
        (Severity.PAGE, later("b", Severity.PAGE), 60_000, 60_000, "more"),
    ],
)
def test_a_message_is_sent_at_the_moment_its_time_is_over(world, severity, happens, after_ms, told_ms, reason):
    def pass_ms(duration_ms):
        world.pass_ms(duration_ms, duration_ms)

    world.fire("a", severity)
    world.tick()
    pass_ms(WAIT_MS - 1)
    assert world.messages == []
    pass_ms(1)
    pass_ms(after_ms)
    happens(world)
    world.tick()
    pass_ms(told_ms - after_ms - 1)
    assert world.reasons() == ["first"] + [reason] * (told_ms == after_ms)
    pass_ms(told_ms - after_ms)
    assert world.reasons() == ["first", reason]


def test_what_ended_is_listed_by_severity(world):
    for name, severity in (("b", Severity.WARNING), ("c", Severity.CRITICAL), ("a", Severity.CRITICAL)):
        world.fire(name, severity)
        world.pass_ms(1_000)
    world.pass_ms(WAIT_MS)
    for name in "bac":
        world.resolve(name)
    world.pass_ms(INTERVAL_MS)
    assert ended(world.messages[-1]) == ["a", "c", "b"]


def test_a_brokers_death_is_one_message(world):
    for number in range(12):
        world.fire(f"fast{number}", rule=Rule.LOG_DIR_OFFLINE, log_dir=f"/d{number}")
    world.fire("risk", Severity.PAGE, rule=Rule.PARTITIONS_AT_RISK, broker=None, log_dir=None)
    world.pass_ms(10_000)
    for number in range(12):
        world.resolve(f"fast{number}", reason="broker_offline")
    world.fire("broker", Severity.PAGE, rule=Rule.BROKER_OFFLINE, log_dir=None)
    world.pass_ms(REPEAT_MS - INTERVAL_MS, 5_000)
    (message,) = world.messages
    assert sorted(firing(message)) == ["broker", "risk"]


def test_a_hosts_death_is_one_message_though_others_go_to_their_own_hosts():
    world = World(settings(group_by=("cluster", "host")))
    for broker, host in ((1, "h1"), (2, "h1"), (3, "h2")):
        place = {"broker": broker, "log_dir": None, "evidence": {"host": host}}
        world.fire(f"broker{broker}", rule=Rule.BROKER_OFFLINE, **place)
    world.pass_ms(WAIT_MS + 5_000)
    assert sorted(firing(message) for message in world.messages) == [["broker1", "broker2"], ["broker3"]]
    titles = {text_of(message).title for message in world.messages}
    assert titles == {
        "[critical] 2 alerts: prod host h1: 2 brokers offline",
        "[critical] broker_offline: prod broker 3",
    }


@pytest.mark.parametrize("before", list(Severity)[:-1])
def test_an_alert_that_rises_to_a_page_beside_another_page_is_told_at_once(world, before):
    world.fire("page", Severity.PAGE, broker=8)
    world.fire("a", before)
    world.pass_ms(WAIT_MS + 500)
    world.pass_ms(60_000)
    world.fire("a", Severity.PAGE)
    world.tick()
    assert len(world.messages) == 2
    assert world.messages[-1].at_ms == world.now_ms


def failed(*paths):
    """Return the fields of an alert about directories that failed one after the other."""
    several = {path: {} for path in paths} if len(paths) > 1 else None
    return {"rule": Rule.LOG_DIR_OFFLINE, "log_dir": paths[0], "evidence": {"error_code": 56, "log_dirs": several}}


@pytest.mark.parametrize("severity", list(Severity)[1:])
def test_a_directory_that_joins_an_alert_that_was_sent_is_news_once_also_after_a_restart(world, severity):
    world.fire("a", severity, **failed("/d0"))
    world.pass_ms(WAIT_MS + 500)
    world.fire("a", severity, **failed("/d0", "/d1"))
    world.pass_ms(INTERVAL_MS)
    world.restart()
    world.pass_ms(2 * INTERVAL_MS)
    assert world.reasons() == ["first", "more"]
    assert world.messages[-1].is_new(world.messages[-1].firing[0])


def test_a_directory_that_leaves_an_alert_is_no_news_and_one_that_comes_again_is_none_until_that_was_sent(world):
    world.fire("a", **failed("/d0", "/d1"))
    world.pass_ms(WAIT_MS + 500)
    for paths in (("/d1",), ("/d0", "/d1")):
        world.fire("a", **{**failed(*paths), "log_dir": "/d0"})
        world.pass_ms(INTERVAL_MS)
    assert world.reasons() == ["first"]


def test_pages_that_come_one_by_one_are_told_together_once_a_wait(world):
    world.fire("page", Severity.PAGE)
    world.pass_ms(WAIT_MS + 500)
    for number in range(60):
        world.fire(f"page{number}", Severity.PAGE, broker=number + 10)
        world.pass_ms(1_000)
    assert 3 <= len(world.messages) <= 4


def test_a_page_that_ends_and_fires_again_is_no_storm(world):
    world.fire("page0", Severity.PAGE)
    world.pass_ms(WAIT_MS + 500)
    for number in range(5):
        world.pass_ms(WAIT_MS)
        world.resolve(f"page{number}")
        world.fire(f"page{number + 1}", Severity.PAGE)
        world.tick()
    assert len(world.messages) == 1


def test_a_silenced_page_is_not_told_at_once_either(world):
    world.fire("a", Severity.PAGE)
    world.pass_ms(2 * WAIT_MS)
    world.fire("b", Severity.PAGE, broker=8)
    world.say("b", Decision.SILENCE)
    world.pass_ms(INTERVAL_MS)
    assert world.reasons() == ["first"]


def test_a_clock_that_is_set_back_holds_nothing_up(world):
    world.fire("a")
    world.pass_ms(WAIT_MS + 500)
    world.fire("b")
    world.tick()
    world.now_ms -= 3 * 3_600_000
    world.pass_ms(INTERVAL_MS + 500)
    assert world.reasons() == ["first", "more"]


def test_the_end_is_told_once_and_only_of_what_was_told(world):
    world.fire("a")
    world.fire("brief")
    world.pass_ms(WAIT_MS // 2)
    world.resolve("brief")
    world.pass_ms(INTERVAL_MS + WAIT_MS)
    world.resolve("a")
    world.pass_ms(REPEAT_MS * 2, 5_000)
    assert world.reasons() == ["first", "resolved"]
    assert (firing(world.messages[0]), ended(world.messages[1])) == (["a"], ["a"])
    assert world.believed() == set()


def test_what_is_acknowledged_is_not_told_again_but_its_end_is(world):
    world.fire("a")
    world.pass_ms(WAIT_MS + 500)
    world.say("a", Decision.ACKNOWLEDGE)
    world.pass_ms(2 * REPEAT_MS, 5_000)
    assert world.reasons() == ["first"]
    world.resolve("a")
    world.pass_ms(WAIT_MS + 5_000)
    assert world.reasons() == ["first", "resolved"]


@pytest.mark.parametrize("what", [Decision.SILENCE, Decision.ACKNOWLEDGE])
def test_what_somebody_spoke_of_before_it_was_told_is_not_told_nor_is_its_end(world, what):
    world.fire("a")
    world.say("a", what)
    world.pass_ms(REPEAT_MS, 5_000)
    world.resolve("a")
    world.pass_ms(INTERVAL_MS)
    assert world.messages == []


def test_when_a_silence_ends_what_still_fires_is_told(world):
    world.fire("a")
    world.say("a", Decision.SILENCE)
    world.pass_ms(REPEAT_MS, 5_000)
    world.unsay("a")
    world.pass_ms(WAIT_MS + 500)
    assert world.reasons() == ["first"]


def test_what_was_told_before_its_silence_is_told_again_when_that_ends(world):
    world.fire("a")
    world.fire("b", Severity.WARNING)
    world.pass_ms(WAIT_MS + 500)
    world.say("a", Decision.SILENCE)
    world.resolve("b")
    world.pass_ms(INTERVAL_MS)
    over = text_of(world.messages[-1])
    assert over.title == "[partly resolved] log_dir_offline: prod broker 7 /data/d1 (silenced: 1 critical)"
    assert over.body.endswith("\nstill firing, but silenced: 1; list them with: logdirwatch alerts")
    assert over.severity is Severity.CRITICAL, "an incident stays open until all of it is over"
    world.restart()
    world.unsay("a")
    world.pass_ms(INTERVAL_MS + 500)
    assert world.reasons() == ["first", "resolved", "more"]
    assert firing(world.messages[-1]) == ["a"]
    world.pass_ms(REPEAT_MS - INTERVAL_MS, 5_000)
    assert len(world.messages) == 3, "it is told once"
    world.resolve("a")
    world.pass_ms(WAIT_MS + 5_000)
    last = text_of(world.messages[-1])
    assert (last.title[:10], last.severity) == ("[resolved]", None)


def test_a_silence_during_which_nothing_was_told_ends_with_a_message_too(world):
    world.fire("a")
    world.pass_ms(WAIT_MS + 500)
    world.say("a", Decision.SILENCE)
    world.pass_ms(2 * INTERVAL_MS)
    world.unsay("a")
    world.pass_ms(WAIT_MS + 500)
    assert world.reasons() == ["first", "more"]


def test_what_is_acknowledged_when_its_silence_ends_is_not_told_again(world):
    world.fire("a")
    world.pass_ms(WAIT_MS + 500)
    world.say("a", Decision.SILENCE)
    world.pass_ms(INTERVAL_MS)
    world.say("a", Decision.ACKNOWLEDGE)
    world.pass_ms(REPEAT_MS, 5_000)
    assert world.reasons() == ["first"]


def test_a_silenced_alert_is_left_out_of_what_is_told_of_others(world):
    world.fire("a")
    world.pass_ms(WAIT_MS + 500)
    world.say("a", Decision.SILENCE)
    world.fire("b")
    world.pass_ms(INTERVAL_MS)
    assert firing(world.messages[-1]) == ["b"]


def test_both_lanes_are_one_notification(world):
    """The fast lane's alert merges into the directory's: the same incident, told already."""
    world.fire("fast", log_dir=None)
    world.pass_ms(WAIT_MS + 500)
    world.fire("exact")
    world.resolve("fast", reason="merged", merged_into="exact")
    world.pass_ms(REPEAT_MS - 2 * INTERVAL_MS, 5_000)
    assert world.reasons() == ["first"]
    world.resolve("exact")
    world.pass_ms(WAIT_MS + 5_000)
    assert ended(world.messages[-1]) == ["exact"]


def test_a_merge_into_a_louder_alert_is_told_as_louder(world):
    world.fire("fast", log_dir=None)
    world.pass_ms(WAIT_MS + 500)
    world.fire("exact", Severity.PAGE)
    world.resolve("fast", reason="merged", merged_into="exact")
    world.pass_ms(WAIT_MS + 500)
    assert world.reasons() == ["first", "louder"]
    assert ended(world.messages[-1]) == []


def test_a_merge_into_one_that_was_told_as_louder_leaves_it_so(world):
    world.fire("fast", log_dir=None)
    world.fire("exact", Severity.PAGE)
    world.pass_ms(WAIT_MS + 500)
    world.resolve("fast", reason="merged", merged_into="exact")
    world.pass_ms(2 * INTERVAL_MS)
    assert world.reasons() == ["first"]


@pytest.mark.parametrize(
    ("merged", "into"),
    [
        (
            {"rule": Rule.BROKER_UNKNOWN, "log_dir": None},
            {"rule": Rule.BROKER_UNKNOWN, "broker": None, "log_dir": None},
        ),
        ({"rule": Rule.LOG_DIR_SPACE}, {"rule": Rule.LOG_DIR_OFFLINE}),
        ({"rule": Rule.BROKER_UNKNOWN, "log_dir": None}, {"rule": Rule.BROKER_OFFLINE, "log_dir": None}),
    ],
)
def test_what_ends_in_an_alert_that_says_more_is_no_all_clear_and_that_one_is_news(world, merged, into):
    world.fire("one", **merged)
    world.pass_ms(WAIT_MS + 500)
    world.fire("more", **into)
    world.resolve("one", reason="merged", merged_into="more")
    world.pass_ms(INTERVAL_MS + 500)
    assert [(firing(message), ended(message)) for message in world.messages] == [(["one"], []), (["more"], [])]


def test_a_start_on_an_old_topic_tells_what_fires_and_no_history(world):
    for number in range(500):
        world.fire(f"old{number}")
        world.resolve(f"old{number}")
    world.fire("open")
    world.pass_ms(REPEAT_MS - 60_000, 60_000)
    (message,) = world.messages
    assert (firing(message), ended(message)) == (["open"], [])


def test_a_restart_tells_nothing_again_and_the_end_of_what_ended_meanwhile(world):
    world.fire("a")
    world.fire("b")
    world.pass_ms(WAIT_MS + 500)
    world.now_ms += INTERVAL_MS
    world.resolve("b")
    world.restart()
    world.pass_ms(INTERVAL_MS)
    assert world.reasons() == ["first", "resolved"]
    assert ended(world.messages[-1]) == ["b"]
    world.restart()
    world.pass_ms(REPEAT_MS - INTERVAL_MS, 5_000)
    assert len(world.messages) == 2


def test_a_receiver_that_was_away_is_told_of_what_began_and_ended_meanwhile(world):
    world.is_up = False
    world.fire("a")
    world.pass_ms(WAIT_MS + 500)
    world.resolve("a")
    world.pass_ms(INTERVAL_MS)
    world.restart()
    world.is_up = True
    world.pass_ms(WAIT_MS + 500)
    (message,) = world.messages
    assert (firing(message), ended(message)) == ([], ["a"])


def test_what_rose_again_after_it_was_quiet_for_an_interval_is_told_again(world):
    world.fire("a", Severity.PAGE)
    world.pass_ms(WAIT_MS + 500)
    world.fire("a", Severity.WARNING)
    world.pass_ms(2 * INTERVAL_MS)
    world.fire("a", Severity.PAGE)
    world.pass_ms(WAIT_MS + 500)
    assert world.reasons() == ["first", "louder"]


def test_who_keeps_alerts_alive_gets_every_change_at_once_and_everything_each_interval():
    world = World(settings(resend_interval_ms=60_000), keeping_alive=("ops",))
    world.fire("a", Severity.WARNING)
    world.pass_ms(500)
    world.say("a", Decision.SILENCE)
    world.fire("a", Severity.CRITICAL)
    world.pass_ms(500)
    world.fire("a", Severity.WARNING)
    world.pass_ms(500)
    assert [dict(message.spoken) for message in world.messages] == [
        {},
        {"a": Severity.WARNING},
        {"a": Severity.CRITICAL},
    ]
    world.pass_ms(120_000)
    assert world.reasons()[3:] == ["repeat", "repeat"]
    world.resolve("a")
    world.pass_ms(500)
    assert ended(world.messages[-1]) == ["a"]


def test_who_keeps_alerts_alive_is_told_of_a_merge_as_of_an_end_and_a_beginning():
    world = World(settings(), keeping_alive=("ops",))
    world.fire("fast", log_dir=None)
    world.pass_ms(500)
    world.fire("exact")
    world.resolve("fast", reason="merged", merged_into="exact")
    world.pass_ms(500)
    assert (firing(world.messages[-1]), ended(world.messages[-1])) == (["exact"], ["fast"])
