"""What holds of an alert at a time: acknowledged, silenced, or neither."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from logdirwatch.decisions import SENT_WITHIN_MS, AlertDecisions, DecisionIndex, dated, ends_ms, maintenances, matches
from logdirwatch.model.records import AlertPattern, DecisionRecord
from logdirwatch.model.vocabulary import AlertStatus, Decision, Rule, Severity
from tests.unit.report.builders import NOW_MS, alert

HOUR_MS = 3_600_000
WEEK_MS = 7 * 24 * HOUR_MS
ALERT = "a" * 32


def decision(kind="acknowledge", spoken_of=ALERT, at_ms=NOW_MS, for_ms=HOUR_MS, **fields):
    values = {"by": "ada", "reason": "seen", "severity": Severity.CRITICAL, "revision": 1} | fields
    until_ms = None if for_ms is None else at_ms + for_ms
    return DecisionRecord(version=1, id=spoken_of, decision=Decision(kind), at_ms=at_ms, until_ms=until_ms, **values)


def silence_of(spoken_of="p", severity=None, **pattern):
    return decision("silence", spoken_of, severity=severity, revision=None, matching=AlertPattern(**pattern))


def maintenance(broker=7, at_ms=NOW_MS, for_ms=HOUR_MS, cluster="prod"):
    fields = {"cluster": cluster, "broker": broker, "severity": None, "revision": None}
    return decision("maintenance", f"{cluster}/{broker}", at_ms, for_ms, **fields)


def decided(*records, of=None, severities=(), at_ms=NOW_MS):
    return DecisionIndex(records, WEEK_MS).about(of or alert(), severities, at_ms)


def test_nothing_holds_of_an_alert_of_which_nobody_spoke():
    assert decided(decision(spoken_of="b" * 32)) == AlertDecisions(None, None)


def test_an_acknowledgement_and_a_silence_hold_side_by_side():
    ack, silence = decision(), decision("silence")
    assert decided(ack, silence) == AlertDecisions(ack, silence)


def test_accepting_an_action_is_no_word_about_an_alert():
    assert decided(decision("accept"), decision("reject")) == AlertDecisions()


@pytest.mark.parametrize(("after_ms", "holds"), [(-1, True), (0, True), (HOUR_MS - 1, True), (HOUR_MS, False)])
def test_it_holds_from_when_it_is_known_until_its_end(after_ms, holds):
    """Whoever said it may have a clock that is ahead."""
    assert (decided(decision(), at_ms=NOW_MS + after_ms).acknowledged is not None) is holds


@pytest.mark.parametrize("for_ms", [None, 2 * WEEK_MS])
def test_one_without_an_end_ends_with_the_bound(for_ms):
    ack = decision(for_ms=for_ms)
    assert ends_ms(ack, WEEK_MS) == NOW_MS + WEEK_MS
    assert decided(ack, at_ms=NOW_MS + WEEK_MS - 1).acknowledged == decision(for_ms=WEEK_MS)
    assert decided(ack, at_ms=NOW_MS + WEEK_MS).acknowledged is None


@pytest.mark.parametrize("for_ms", [None, 2 * WEEK_MS])
def test_what_holds_says_the_end_that_it_really_has(for_ms):
    silence = decision("silence", "p", for_ms=for_ms, severity=None, matching=AlertPattern())
    found = decided(decision(for_ms=for_ms), silence)
    assert [record.until_ms for record in found] == [NOW_MS + WEEK_MS] * 2
    assert [record.until_ms for record in DecisionIndex([silence], WEEK_MS).patterns(NOW_MS)] == [NOW_MS + WEEK_MS]


@pytest.mark.parametrize("ahead_ms", [30 * 24 * HOUR_MS, NOW_MS * 999])
def test_a_clock_that_is_far_ahead_counts_for_nothing(ahead_ms):
    """Also one that counts microseconds."""
    for for_ms, end_ms in ((4 * HOUR_MS, NOW_MS + 4 * HOUR_MS), (0, NOW_MS), (None, None)):
        found = dated(decision(at_ms=NOW_MS + ahead_ms, for_ms=for_ms), NOW_MS, 60_000)
        assert (found.at_ms, found.until_ms) == (NOW_MS, end_ms)


@pytest.mark.parametrize("kafka_timestamp_ms", [NOW_MS - 60_000, NOW_MS, NOW_MS + SENT_WITHIN_MS, -1])
def test_a_clock_that_is_hardly_wrong_is_believed(kafka_timestamp_ms):
    assert dated(decision(), kafka_timestamp_ms, 60_000) == decision()


def test_a_decision_of_a_clock_that_is_behind_is_made_when_it_arrives_and_lasts_no_longer():
    kafka_ms = NOW_MS + SENT_WITHIN_MS + 1
    found = dated(decision(for_ms=4 * HOUR_MS), kafka_ms, 60_000)
    assert (found.at_ms, found.until_ms) == (kafka_ms, NOW_MS + 4 * HOUR_MS)


@pytest.mark.parametrize("later_ms", [-HOUR_MS + 5, -1, 0, 1, HOUR_MS])
def test_the_last_word_of_the_topic_holds_whatever_the_clocks_say(later_ms):
    first, last = decision(by="ada"), decision(by="bob", at_ms=NOW_MS + later_ms)
    assert decided(first, last, at_ms=NOW_MS - 2).acknowledged == last
    planned = [replace(one, decision=Decision.MAINTENANCE, cluster="prod", broker=7) for one in (first, last)]
    assert maintenances(planned, WEEK_MS) == planned[1:]


def test_what_ends_when_it_is_said_takes_back_what_was_said():
    for at_ms in (NOW_MS, NOW_MS + 1, NOW_MS + 2):
        assert decided(decision(), decision(at_ms=NOW_MS + 1, for_ms=0), at_ms=at_ms) == AlertDecisions()


def test_nothing_holds_of_an_alert_that_is_over():
    assert decided(decision(), of=alert(status=AlertStatus.RESOLVED)) == AlertDecisions()


@pytest.mark.parametrize("kind", ["acknowledge", "silence"])
def test_a_louder_alert_ends_what_was_said_of_a_quieter_one(kind):
    louder = alert(revision=2, severity=Severity.PAGE)
    assert (
        decided(decision(kind), of=louder, severities=[(1, Severity.CRITICAL), (2, Severity.PAGE)]) == AlertDecisions()
    )


def test_it_does_not_come_back_when_the_alert_gets_quiet_again():
    severities = [(1, Severity.CRITICAL), (2, Severity.PAGE), (3, Severity.CRITICAL)]
    assert decided(decision(), of=alert(revision=3), severities=severities) == AlertDecisions()
    again = decision(at_ms=NOW_MS + 1, revision=3)
    assert decided(decision(), again, of=alert(revision=3), severities=severities, at_ms=NOW_MS + 1).acknowledged


def test_how_loud_it_was_before_does_not_count():
    severities = [(0, Severity.PAGE), (1, Severity.CRITICAL)]
    assert decided(decision(), severities=severities).acknowledged is not None


def test_a_quieter_alert_stays_acknowledged():
    assert decided(decision(), of=alert(revision=2, severity=Severity.WARNING)).acknowledged is not None


def test_one_that_names_no_severity_covers_all():
    bare = decision(severity=None, revision=None)
    assert decided(bare, of=alert(revision=5, severity=Severity.PAGE)).acknowledged == bare


@pytest.mark.parametrize(
    ("pattern", "is_about"),
    [
        ({}, True),
        ({"cluster": "prod"}, True),
        ({"cluster": "other"}, False),
        ({"rule": Rule.LOG_DIR_OFFLINE}, True),
        ({"rule": Rule.LOG_DIR_SPACE}, False),
        ({"broker": 7}, True),
        ({"broker": 8}, False),
        ({"log_dir": "/data/*"}, True),
        ({"log_dir": "/other/*"}, False),
        ({"cluster": "prod", "broker": 7, "log_dir": "/other/*"}, False),
    ],
)
def test_a_pattern_is_about_what_all_its_parts_say(pattern, is_about):
    assert matches(AlertPattern(**pattern), alert()) is is_about


def test_a_pattern_of_directories_is_about_no_whole_broker():
    assert not matches(AlertPattern(log_dir="*"), alert(log_dir=None))


def test_a_silence_by_pattern_counts_while_the_alert_is_not_louder():
    silence = silence_of(severity=Severity.CRITICAL, broker=7)
    severities = [(1, Severity.CRITICAL), (2, Severity.PAGE), (3, Severity.CRITICAL)]
    for revision, severity in severities:
        found = decided(silence, of=alert(revision=revision, severity=severity), severities=severities)
        assert (found.silenced is not None) is (severity is Severity.CRITICAL)


def test_of_several_silences_the_one_that_lasts_longest_is_told():
    short, long = silence_of("p"), decision("silence", "q", for_ms=2 * HOUR_MS, severity=None, matching=AlertPattern())
    assert decided(short, long).silenced == long


def test_silences_by_pattern_are_listed_while_they_run():
    said = DecisionIndex([silence_of("p"), silence_of("q", broker=9), decision("silence")], WEEK_MS)
    assert [record.id for record in said.patterns(NOW_MS)] == ["p", "q"]
    assert said.patterns(NOW_MS + HOUR_MS) == []


def test_the_newest_maintenance_of_each_broker_holds():
    records = [maintenance(8), maintenance(7), maintenance(7, NOW_MS + 1, 2 * HOUR_MS), maintenance(7, cluster="b")]
    found = maintenances(records, WEEK_MS, NOW_MS + 1)
    assert [(r.cluster, r.broker, r.until_ms) for r in found] == [
        ("b", 7, NOW_MS + HOUR_MS),
        ("prod", 7, NOW_MS + 1 + 2 * HOUR_MS),
        ("prod", 8, NOW_MS + HOUR_MS),
    ]


def test_maintenance_that_was_ended_or_is_over_is_listed_only_when_asked_for():
    records = [maintenance(7), maintenance(7, NOW_MS + 1, 0), maintenance(8, for_ms=5)]
    assert maintenances(records, WEEK_MS, NOW_MS + 5) == []
    assert [record.broker for record in maintenances(records, WEEK_MS)] == [7, 8]


words = st.lists(
    st.builds(
        decision,
        st.sampled_from(["acknowledge", "silence"]),
        at_ms=st.integers(NOW_MS, NOW_MS + 10),
        for_ms=st.integers(0, 10),
        by=st.sampled_from(["ada", "bob"]),
        severity=st.sampled_from([None, *Severity]),
        revision=st.integers(0, 4),
    ),
    max_size=6,
    unique_by=lambda record: (record.decision, record.at_ms),
)


@given(words, st.integers(NOW_MS, NOW_MS + 20), st.sampled_from(list(Severity)))
def test_repeats_change_nothing_and_what_is_louder_is_never_quiet(records, at_ms, severity):
    fires = alert(revision=4, severity=severity)
    found = decided(*records, of=fires, at_ms=at_ms)
    repeated = [record for record in records for _ in range(2)]
    assert decided(*repeated, of=fires, at_ms=at_ms) == found
    for record in filter(None, found):
        assert record.at_ms < record.until_ms
        assert at_ms < record.until_ms
        assert record.severity is None or severity.rank <= record.severity.rank


def test_a_decision_of_the_first_release_is_read():
    old = b'{"version":1,"id":"a","decision":"acknowledge","by":"me","reason":"r","at_ms":5,"until_ms":null}'
    record = msgspec.json.decode(old, type=DecisionRecord)
    assert (record.severity, record.matching, record.broker) == (None, None, None)
