"""Never twice, never lost, never a storm: whatever fires, ends, is silenced, fails and restarts."""

from bisect import bisect_right
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.model.vocabulary import AlertStatus, Decision, Severity
from logdirwatch.notify.alertmanager import alerts_of
from tests.unit.notify.world import INTERVAL_MS, REPEAT_MS, WAIT_MS, World

NAMES = st.integers(0, 5)
STEP_MS = 10_000
MOST_IN_AN_INTERVAL = 6
"""One when the interval is over, one that tells of an end, one that begins again, and one for each louder severity."""

KINDS = ["fire", "fire", "resolve", "silence", "acknowledge", "unsay", "restart", "down", "up"]


def histories(*more):
    one = st.tuples(
        st.sampled_from([*KINDS, *more]),
        NAMES,
        st.sampled_from(list(Severity)[1:]),
        st.sampled_from([0, 5_000, 20_000, WAIT_MS + STEP_MS, INTERVAL_MS, 2 * INTERVAL_MS]),
    )
    return st.lists(one, max_size=40)


operations = histories()


class Story:
    """Plays operations; a name that fires again after its end is another alert, as its origin is another."""

    def __init__(self, steps, **world):
        self.world, self.lives = World(**world), {}
        for what, number, severity, pause_ms in steps:
            getattr(self, what)(number, severity)
            self.world.tick()
            self.world.pass_ms(pause_ms, STEP_MS)

    def name(self, number):
        return f"{number}.{self.lives.get(number, 0)}"

    def fires(self, number):
        known = self.world.alerts.get(self.name(number))
        return known is not None and known.status is AlertStatus.FIRING

    def fire(self, number, severity):
        if not self.fires(number):
            self.lives[number] = self.lives.get(number, 0) + 1
        self.world.fire(self.name(number), severity)

    def resolve(self, number, _):
        if self.fires(number):
            self.world.resolve(self.name(number))

    def silence(self, number, _):
        self.world.say(self.name(number), Decision.SILENCE)

    def acknowledge(self, number, _):
        self.world.say(self.name(number), Decision.ACKNOWLEDGE)

    def unsay(self, number, _):
        self.world.unsay(self.name(number))

    def restart(self, *_):
        self.world.restart()

    def down(self, *_):
        self.world.is_up = self.world.is_deaf = False

    def deaf(self, *_):
        self.world.is_up, self.world.is_deaf = False, True

    def up(self, *_):
        self.world.is_up, self.world.is_deaf = True, False

    def settle(self):
        self.up()
        self.world.pass_ms(2 * INTERVAL_MS + WAIT_MS, STEP_MS)
        return self.world


@given(operations)
def test_every_message_says_something_new_or_repeats_after_the_interval(steps):
    world = Story(steps).settle()
    for (before, message), quiet in zip(pairwise([None, *world.messages]), world.quiet_before, strict=True):
        news = {m.alert.alert_id: m.alert.severity for m in message.firing}
        known = dict(message.spoken)
        louder = [name for name, severity in news.items() if name in known and severity.rank > known[name].rank]
        if news.keys() - known.keys() or louder or message.ended or news.keys() & quiet:
            continue
        assert message.reason.value == "repeat"
        assert message.at_ms - before.at_ms >= REPEAT_MS


@given(operations)
def test_an_end_is_told_once_and_never_of_what_the_receiver_did_not_know_or_was_owed(steps):
    world = Story(steps).settle()
    over = set()
    for message in world.messages:
        ended = {found.alert_id for found in message.ended}
        assert not ended & over
        assert not over & {member.alert.alert_id for member in message.firing}
        over |= ended


@given(histories("deaf", "deaf"))
def test_a_receiver_that_is_back_knows_what_fires_and_nothing_that_ended(steps):
    """Also where a message arrived and its sender was killed, or told that it failed."""
    story = Story(steps)
    world = story.settle()
    open_now = {name for name, found in world.alerts.items() if found.status is AlertStatus.FIRING}
    assert world.believed() <= open_now
    assert open_now - set(world.decided_by_alert) <= world.believed()


@given(histories("deaf", "deaf"))
def test_alertmanager_knows_each_alert_with_its_severity_alone(steps):
    world = Story(steps, keeping_alive=("ops",)).settle()
    ends = {
        (posted["labels"]["alert_id"], posted["labels"]["severity"]): "endsAt" in posted
        for message in world.messages
        for posted in alerts_of(message)
    }
    known = {alert for alert, is_over in ends.items() if not is_over}
    open_now = {
        (name, str(found.severity)) for name, found in world.alerts.items() if found.status is AlertStatus.FIRING
    }
    assert known <= open_now
    assert {alert for alert in open_now if alert[0] not in world.decided_by_alert} <= known


@given(operations)
def test_nothing_that_fired_for_long_while_the_receiver_was_up_is_left_out(steps):
    story = Story(steps)
    world = story.world
    world.is_up = True
    story.fire(9, Severity.WARNING)
    name = story.name(9)
    world.pass_ms(INTERVAL_MS + WAIT_MS + STEP_MS, STEP_MS)
    story.resolve(9, None)
    world.pass_ms(INTERVAL_MS + WAIT_MS + STEP_MS, STEP_MS)
    fired = [m for m in world.messages if name in {member.alert.alert_id for member in m.firing}]
    ended = [m for m in world.messages if name in {found.alert_id for found in m.ended}]
    assert fired
    assert len(ended) == 1


@given(operations)
def test_there_is_never_a_storm(steps):
    world = Story(steps).settle()
    times = [message.at_ms for message in world.messages]
    for number, at_ms in enumerate(times):
        assert bisect_right(times, at_ms + INTERVAL_MS - 1) - number <= MOST_IN_AN_INTERVAL


@pytest.mark.parametrize("brokers", [1, 200])
def test_however_many_alerts_open_at_once_it_is_one_message(brokers):
    world = World()
    for broker in range(brokers):
        for log_dir in range(12):
            world.fire(f"{broker}.{log_dir}", broker=broker, log_dir=f"/d{log_dir}")
    world.pass_ms(INTERVAL_MS, 10_000)
    (message,) = world.messages
    assert len(message.firing) == 12 * brokers
