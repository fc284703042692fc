"""Every known broker has a record every round, as soon as it is known, in the right order."""

import asyncio
from dataclasses import replace

import pytest
import structlog

from logdirwatch.collect.kafka.answers import LogDirsAnswer, with_acl
from logdirwatch.collect.rounds.poll import LAST_WORDS
from logdirwatch.model.records import EventRecord, MetricsRecord
from logdirwatch.model.vocabulary import PollStatus
from tests.unit.collect.builders import RESERVE, T0, Brokers, Clock, decoded, log_dir, node, ok, poller, timed_out


def brokers(*numbers, **fields):
    return Brokers(
        {number: ok(log_dir()) for number in numbers}, {number: node(number) for number in numbers}, **fields
    )


def metrics_of(sent, broker=None):
    found = [record for record in map(decoded, sent) if isinstance(record, MetricsRecord)]
    return [record for record in found if broker is None or record.broker == broker]


def statuses(sent):
    return {record.broker: str(record.status) for record in metrics_of(sent)}


def rounds(cluster, sent, *steps, **fields):
    """Do a round, and one more after each of ``steps``."""

    async def run():
        polling = poller(cluster, sent, **fields)
        await polling.poll()
        for step in steps:
            step()
            await polling.poll()
        return polling

    return asyncio.run(run())


def test_every_broker_of_the_cluster_has_a_record_in_the_first_round():
    sent = []
    rounds(brokers(1, 2, 3), sent)
    assert statuses(sent) == {1: "ok", 2: "ok", 3: "ok"}
    assert {record.key for record in sent} == {b"prod/1", b"prod/2", b"prod/3"}


@pytest.mark.parametrize("status", [PollStatus.TIMEOUT, PollStatus.UNAUTHORIZED, PollStatus.ERROR])
def test_a_broker_that_does_not_answer_has_a_record_all_the_same(status):
    sent, cluster = [], brokers(1, 2)
    cluster.says[2] = LogDirsAnswer(status, "why not")
    rounds(cluster, sent)
    (record,) = metrics_of(sent, 2)
    assert (record.status, record.error, record.log_dirs) == (status, "why not", [])


def test_a_broker_that_hangs_delays_no_other():
    async def run():
        sent, cluster = [], brokers(1, 2, 3)
        cluster.hanging[2] = asyncio.Event()
        polling = poller(cluster, sent)
        slow_round = asyncio.create_task(polling.poll())
        while len(metrics_of(sent)) < 2:
            await asyncio.sleep(0)
        assert set(statuses(sent)) == {1, 3}
        await polling.poll()
        assert [len(metrics_of(sent, number)) for number in (1, 2, 3)] == [2, 0, 2]
        cluster.hanging[2].set()
        await slow_round
        assert cluster.asked.count(2) == 1
        assert [str(record.status) for record in metrics_of(sent, 2)] == ["ok"]

    asyncio.run(run())


def test_a_limit_longer_than_a_round_leaves_no_gap_in_the_records():
    async def run():
        sent, cluster = [], brokers(1, 2)
        cluster.hanging[2] = asyncio.Event()
        polling = poller(cluster, sent)
        slow_round = asyncio.create_task(polling.poll())
        while not metrics_of(sent, 1):
            await asyncio.sleep(0)
        for _ in range(3):
            await polling.poll()
        assert [str(record.status) for record in metrics_of(sent, 2)] == ["timeout", "timeout"]
        cluster.hanging[2].set()
        await slow_round
        assert cluster.asked.count(2) == 1
        assert [str(record.status) for record in metrics_of(sent, 2)] == ["timeout", "timeout", "ok"]

    asyncio.run(run())


def test_a_failure_is_an_event_before_its_record_which_waits_for_it():
    sent, cluster = [], brokers(1)
    rounds(cluster, sent, lambda: cluster.says.update({1: ok(log_dir(error_code=56))}))
    event, record = (decoded(outgoing) for outgoing in sent[1:])
    assert isinstance(event, EventRecord)
    assert (event.event, event.log_dir, event.cluster, event.broker) == ("LogDirFailure", "/d1", "prod", 1)
    assert record.log_dirs[0].error_code == 56
    assert [outgoing.waits for outgoing in sent] == [False, False, True]


def test_a_directory_that_was_broken_at_the_start_is_no_event():
    sent, cluster = [], brokers(1)
    cluster.says[1] = ok(log_dir(error_code=56))
    rounds(cluster, sent, lambda: None)
    assert {type(decoded(outgoing)) for outgoing in sent} == {MetricsRecord}


def test_two_directories_that_fail_in_one_poll_have_times_of_their_own():
    sent, cluster = [], brokers(1)
    cluster.says[1] = ok(log_dir("/d1"), log_dir("/d2"))
    rounds(cluster, sent, lambda: cluster.says.update({1: ok(log_dir("/d1", 56), log_dir("/d2", 56))}))
    first, second, record = (decoded(outgoing).timestamp_ms for outgoing in sent[1:])
    assert first < second <= record


def test_times_of_a_broker_rise_even_when_the_clock_falls_back():
    sent, clock = [], Clock()
    rounds(brokers(1), sent, lambda: setattr(clock, "at_ms", T0 - 30_000), clock=clock)
    first, second = (record.timestamp_ms for record in metrics_of(sent))
    assert second == first + 1


def test_a_failure_is_told_with_the_partitions_as_they_are_after_it():
    async def run():
        sent, cluster, looked = [], brokers(1), []

        async def look():
            looked.append(len(sent))

        polling = poller(cluster, sent)
        polling.after_failure = look
        await polling.poll()
        assert looked == []
        cluster.says[1] = ok(log_dir(error_code=56))
        await polling.poll()
        assert looked == [2]
        assert len(sent) == 3

    asyncio.run(run())


def test_a_look_at_the_partitions_that_hangs_does_not_hold_the_record_back(monkeypatch):
    monkeypatch.setattr("logdirwatch.collect.rounds.poll.LOOK_TIMEOUT_S", 0.01)

    async def run():
        sent, cluster = [], brokers(1)
        polling = poller(cluster, sent)
        polling.after_failure = asyncio.Event().wait
        await polling.poll()
        cluster.says[1] = ok(log_dir(error_code=56))
        await polling.poll()
        assert len(sent) == 3

    asyncio.run(run())


def test_less_than_the_reserve_is_an_event():
    sent, cluster = [], brokers(1)
    rounds(cluster, sent, lambda: cluster.says.update({1: ok(log_dir(usable=RESERVE - 1))}))
    assert decoded(sent[1]).event == "LogDirSaturated"


def test_a_broker_that_is_gone_from_the_cluster_keeps_its_records():
    sent, cluster = [], brokers(1, 2)

    def goes():
        cluster.nodes.pop(2)
        cluster.says[2] = LogDirsAnswer(PollStatus.ERROR, "refused")

    rounds(cluster, sent, goes, lambda: None)
    last = metrics_of(sent, 2)[-1]
    assert (last.status, last.is_registered, last.controller_at_ms) == (PollStatus.ERROR, False, T0)


def test_a_broker_that_stays_unregistered_is_asked_no_more():
    sent, cluster = [], brokers(1, 2)

    def goes():
        cluster.nodes.pop(2)
        cluster.says[2] = LogDirsAnswer(PollStatus.ERROR, "refused")

    rounds(cluster, sent, goes, *[lambda: None] * 20)
    told = [record for record in metrics_of(sent, 2) if record.is_registered is False]
    assert len(told) == LAST_WORDS
    assert len(metrics_of(sent, 1)) == 22, "the other one is asked as ever"


def test_a_fenced_broker_is_told_as_fenced():
    sent, cluster = [], brokers(1, 2)
    rounds(cluster, sent, lambda: cluster.nodes.update({2: node(2, is_fenced=True)}), lambda: None)
    assert [record.is_fenced for record in metrics_of(sent, 2)][-1] is True


def test_a_new_broker_is_asked_in_the_round_that_finds_it():
    sent, cluster = [], brokers(1)

    def joins():
        cluster.nodes[2] = node(2)
        cluster.says[2] = ok(log_dir())

    rounds(cluster, sent, joins)
    assert len(metrics_of(sent, 2)) == 1


class TestACluster:
    """The whole cluster away, and back."""

    def away(self, cluster):
        cluster.away = ConnectionError("refused")
        for number in cluster.says:
            cluster.says[number] = timed_out()

    def back(self, cluster):
        cluster.away = None
        for number in cluster.says:
            cluster.says[number] = ok(log_dir())

    def test_has_records_all_the_time_one_line_when_it_goes_and_one_when_it_is_back(self):
        sent, cluster, clock = [], brokers(1, 2), Clock()

        def later():
            clock.waited_ms += 60_000

        with structlog.testing.capture_logs() as logged:
            rounds(
                cluster,
                sent,
                lambda: self.away(cluster),
                later,
                later,
                lambda: (later(), self.back(cluster)),
                later,
                clock=clock,
            )
        assert [line["event"] for line in logged] == ["collect.cluster.failed", "collect.cluster.recovered"]
        assert [str(record.status) for record in metrics_of(sent, 1)] == [
            "ok",
            "timeout",
            "timeout",
            "timeout",
            "ok",
            "ok",
        ]

    def test_is_asked_less_often_while_its_records_go_on_and_say_so(self):
        sent, cluster, clock = [], brokers(1), Clock()

        def soon():
            clock.waited_ms += 100

        rounds(cluster, sent, lambda: self.away(cluster), soon, soon, soon, soon, clock=clock)
        asked, records = cluster.asked.count(1), metrics_of(sent, 1)
        assert len(records) == 6
        assert asked < 6
        assert "not asked again yet" in records[-1].error
        assert records[-1].error.count("not asked") == 1

    @pytest.mark.parametrize("by_ms", [-3_600_000, 3_600_000])
    def test_is_asked_again_after_its_pause_whatever_the_clock_does(self, by_ms):
        sent, cluster, clock = [], brokers(1), Clock()

        def is_set():
            clock.at_ms += by_ms

        def later():
            clock.waited_ms += 60_000

        rounds(cluster, sent, lambda: self.away(cluster), is_set, is_set, later, clock=clock)
        assert cluster.asked.count(1) == 3

    def test_that_was_never_reached_is_said_once(self):
        cluster = replace(brokers(1), away=ConnectionError("refused"))
        with structlog.testing.capture_logs() as logged:
            rounds(cluster, [], lambda: None, lambda: None)
        assert [line["event"] for line in logged] == ["collect.cluster.failed"]


@pytest.mark.parametrize(("release", "lines"), [("2.7", 1), ("2.8", 0), ("4.4", 0)])
def test_a_release_that_is_too_old_is_said_once_and_it_is_polled_all_the_same(release, lines):
    sent, cluster = [], replace(brokers(1, 2), release=release)
    with structlog.testing.capture_logs() as logged:
        rounds(cluster, sent, lambda: None, lambda: None)
    told = [line for line in logged if line["event"] == "collect.release.too_old"]
    assert [(line["brokers"], line["kafka_version"]) for line in told] == [([1, 2], release)] * lines
    assert len(metrics_of(sent, 1)) == 3


def test_one_broker_that_falls_silent_and_comes_back_is_two_lines():
    cluster = brokers(1, 2)
    with structlog.testing.capture_logs() as logged:
        rounds(
            cluster,
            [],
            lambda: cluster.says.update({2: timed_out()}),
            lambda: None,
            lambda: cluster.says.update({2: ok(log_dir())}),
        )
    assert [line["event"] for line in logged] == ["collect.broker.failed", "collect.broker.recovered"]


def test_brokers_that_all_refuse_are_no_cluster_that_is_away():
    cluster = brokers(1, 2)
    cluster.says = dict.fromkeys((1, 2), LogDirsAnswer(PollStatus.UNAUTHORIZED, "no"))
    with structlog.testing.capture_logs() as logged:
        rounds(cluster, [], lambda: None)
    assert [(line["event"], line["broker"]) for line in logged] == [
        ("collect.broker.failed", 1),
        ("collect.broker.failed", 2),
    ]


def test_brokers_that_answered_are_asked_about_the_cluster_first():
    cluster = brokers(1, 2, 3)
    cluster.says[1] = timed_out()
    polling = rounds(cluster, [])
    first = {polling.addresses()[0].host}
    polling._rounds += 1
    first |= {polling.addresses()[0].host}
    assert first == {"host2", "host3"}
    assert {address.host for address in polling.addresses()} == {"host1", "host2", "host3", "boot"}


@pytest.mark.parametrize(
    ("what", "acl"),
    [
        ("broker", "Describe on the cluster"),
        ("configs of broker 12", "DescribeConfigs on the cluster"),
        ("configs of some topics", "DescribeConfigs on topics"),
        ("consumer groups", "Describe on groups"),
        ("some topics", "Describe on topics"),
        ("quorum", "Describe on the cluster"),
    ],
)
def test_a_refusal_names_the_acl(what, acl):
    error = "[Error 31] ClusterAuthorizationFailedError"
    assert with_acl(what, error) == f"{error}: the user lacks the ACL {acl}"


def test_another_error_stays_as_it_is():
    assert with_acl("quorum", "TimeoutError: no answer") == "TimeoutError: no answer"
