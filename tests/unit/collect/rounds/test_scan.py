"""A scan writes what it saw, ends with its own record, and never calls the unknown healthy."""

import asyncio
import gc

import pytest
import structlog
from kafka.protocol.admin import DescribeClusterRequest, DescribeLogDirsRequest

from logdirwatch.collect.kafka.answers import Reassignment
from logdirwatch.collect.rounds.scan import Scanner
from logdirwatch.model.records import ReplicasRecord, ScanRecord, TopicRecord
from logdirwatch.model.vocabulary import MetadataMode
from tests.unit.collect.builders import (
    T0,
    Brokers,
    decoded,
    log_dir,
    node,
    ok,
    partition,
    placement,
    poller,
    timed_out,
    topic,
)


def cluster(**fields):
    dirs = [log_dir("/d1", replicas=[placement(size=70)]), log_dir("/d2")]
    return Brokers(
        {number: ok(*dirs) for number in (1, 2)},
        {number: node(number) for number in (1, 2)},
        topics=(topic("t", partition(leader=None, isr=(1,), offline=(1, 2, 3))), topic("u", partition())),
        **fields,
    )


def scanned(brokers, *, looks=True):
    """Do a round, a scan and a look at the partitions; return what was written by the scan, and the poller."""
    sent = []

    async def run():
        polling = poller(brokers, sent)
        await polling.poll()
        sent.clear()
        scanner = Scanner(polling, 900_000, reads_groups=True)
        is_complete = await scanner.scan()
        if looks:
            await scanner.look_at_partitions()
        return is_complete, polling

    is_complete, polling = asyncio.run(run())
    return is_complete, [decoded(outgoing) for outgoing in sent], sent, polling


def test_a_scan_tells_replicas_topics_and_its_end():
    is_complete, written, sent, _ = scanned(cluster())
    assert is_complete
    replicas = {
        outgoing.key for outgoing, record in zip(sent, written, strict=True) if isinstance(record, ReplicasRecord)
    }
    assert replicas == {b"prod/1//d1", b"prod/1//d2", b"prod/2//d1", b"prod/2//d2"}
    topics = [record for record in written if isinstance(record, TopicRecord)]
    assert [(record.topic, record.configs) for record in topics] == [
        ("t", {"min.insync.replicas": "2"}),
        ("u", {"min.insync.replicas": "2"}),
    ]
    (end,) = (record for record in written if isinstance(record, ScanRecord))
    assert (end.topics, end.is_complete, end.timestamp_ms) == (2, True, T0)
    assert {record.timestamp_ms for record in written} == {T0}


def test_a_scan_that_is_cut_leaves_asyncio_nothing_to_complain_about():
    complaints = []

    class Silent(Brokers):
        async def replicas(self, address):
            await asyncio.Event().wait()

        async def reassignments(self, address):
            await asyncio.Event().wait()

    async def run():
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context["message"]))
        polling = poller(Silent({1: ok()}, {1: node(1)}), [])
        await polling.poll()
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(Scanner(polling, 900_000, reads_groups=False).scan(), 0.01)

    asyncio.run(run())
    gc.collect()
    assert complaints == []


def test_the_end_of_a_scan_is_last_and_waits_for_the_rest():
    _, written, sent, _ = scanned(cluster())
    assert [outgoing.waits for outgoing in sent] == [isinstance(record, ScanRecord) for record in written]
    assert isinstance(written[-1], ScanRecord)


def test_the_next_metrics_record_knows_what_the_scan_saw():
    _, _, sent, polling = scanned(cluster())
    sent.clear()
    asyncio.run(polling.poll())
    record = next(record for record in map(decoded, sent) if record.broker == 1)
    first, second = record.log_dirs
    assert (first.replica_count, first.replica_bytes, first.incoming_bytes) == (1, 70, 0)
    assert (first.is_metadata_dir, second.is_metadata_dir) == (True, False)
    assert (record.controller_id, record.metadata_version) == (3, "4.3-IV0")
    assert record.configs == {"log.dirs": "/d1,/d2"}
    assert (record.partitions.leaderless, record.partitions.under_min_isr) == (1, 1)


def polled_after_a_scan(**fields):
    _, _, sent, polling = scanned(cluster(**fields))
    sent.clear()
    asyncio.run(polling.poll())
    return next(record for record in map(decoded, sent) if record.broker == 1)


def test_a_zookeeper_broker_has_no_metadata_directory_and_says_what_it_cannot_report():
    configs = {"log.dirs": "/d1,/d2", "process.roles": ""}
    versions = {DescribeClusterRequest.API_KEY: 1, DescribeLogDirsRequest.API_KEY: 4}
    record = polled_after_a_scan(configs=configs, versions=versions)
    assert [log_dir.is_metadata_dir for log_dir in record.log_dirs] == [False, False]
    assert (record.metadata_mode, record.controller_id) == (MetadataMode.ZOOKEEPER, 3)
    assert record.not_reported == ["cordons", "fenced_brokers", "elr", "metadata_quorum"]


def test_the_controller_is_unknown_during_a_migration_for_brokers_name_any():
    configs = {"log.dirs": "/d1,/d2", "process.roles": "", "zookeeper.metadata.migration.enable": "true"}
    record = polled_after_a_scan(configs=configs)
    assert (record.metadata_mode, record.controller_id) == (MetadataMode.MIGRATING, None)
    assert [log_dir.is_metadata_dir for log_dir in record.log_dirs] == [False, False]


def test_a_broker_that_does_not_answer_makes_the_scan_incomplete_but_not_its_topics():
    brokers = cluster()
    brokers.says[2] = timed_out()
    is_complete, written, _, _ = scanned(brokers)
    assert not is_complete
    assert {record.broker for record in written if isinstance(record, ReplicasRecord)} == {1}
    assert [record.is_complete for record in written if isinstance(record, ScanRecord)] == [True]


def test_a_directory_that_broke_keeps_its_last_known_usage():
    brokers = cluster()

    async def run():
        sent = []
        polling = poller(brokers, sent)
        await polling.poll()
        scanner = Scanner(polling, 900_000, reads_groups=True)
        await scanner.scan()
        brokers.says[1] = ok(log_dir("/d1", error_code=56), log_dir("/d2"))
        sent.clear()
        await scanner.scan()
        return polling, [record for record in map(decoded, sent) if isinstance(record, ReplicasRecord)]

    polling, written = asyncio.run(run())
    assert polling.facts.usages[1, "/d1"].replica_count == 1
    assert (1, "/d1") not in {(record.broker, record.log_dir) for record in written}


@pytest.mark.parametrize("broken", ["topics", "configs"])
def test_what_cannot_be_asked_is_one_line_and_unknown(broken):
    with structlog.testing.capture_logs() as logged:
        _, written, _, polling = scanned(cluster(broken={broken}))
    end = written[-1]
    if broken == "topics":
        assert polling.facts.partitions is None
        assert (end.is_complete, end.topics) == (False, 0)
        assert [line["what"] for line in logged] == ["topics", "partitions"]
    else:
        assert polling.facts.partitions[1].leaderless == 1
        assert polling.brokers[1].configs is None
        assert sum(line["what"] == "topic configs" for line in logged) == 1


def scanner_after_rounds(broken, *, reads_groups=True):
    """Do a poll, a scan and a look at the partitions; return the scanner."""

    async def run():
        brokers = cluster(broken=set(broken))
        brokers.topics += (topic("__consumer_offsets", partition(), is_internal=True),)
        polling = poller(brokers, [])
        await polling.poll()
        scanner = Scanner(polling, 900_000, reads_groups=reads_groups)
        await scanner.scan()
        await scanner.look_at_partitions()
        return scanner

    return asyncio.run(run())


@pytest.mark.parametrize("broken", ["topics", "configs", "reassignments", "groups", "features", "controller"])
def test_a_round_that_leaves_anything_unknown_is_lacking(broken):
    with structlog.testing.capture_logs():
        assert scanner_after_rounds({broken}).is_lacking


def test_a_round_lacks_nothing_when_all_is_answered_and_not_what_nobody_wants_to_know():
    assert not scanner_after_rounds(()).is_lacking
    assert not scanner_after_rounds({"groups"}, reads_groups=False).is_lacking


def test_topics_that_the_user_may_not_see_make_the_partitions_unknown_and_are_no_deleted_ones():
    brokers = cluster(hidden={"t"})
    brokers.topics = brokers.topics[1:]
    with structlog.testing.capture_logs() as logged:
        is_complete, written, _, polling = scanned(brokers)
    assert polling.facts.partitions is None
    assert (is_complete, written[-1].is_complete) == (False, False)
    (line,) = logged
    assert (line["event"], line["what"]) == ("collect.scan.failed", "some topics")
    assert line["error"].endswith("t lies on a disk and is not listed: the user lacks the ACL Describe on topics")


def test_a_topic_that_was_deleted_while_it_was_asked_is_not_hidden():
    brokers = cluster()
    brokers.topics = brokers.topics[1:]
    is_complete, _, _, polling = scanned(brokers)
    assert is_complete
    assert polling.facts.partitions[1].leaderless == 0


def test_moves_are_unknown_when_the_reassignments_are():
    _, _, _, polling = scanned(cluster(broken={"reassignments"}))
    usage = polling.facts.usages[1, "/d1"]
    assert (usage.replica_count, usage.incoming_bytes) == (1, None)


def test_a_running_reassignment_is_told_with_its_partition_and_none_is_unknown_when_it_cannot_be_asked():
    def told(**fields):
        _, written, _, _ = scanned(cluster(**fields))
        parts = {record.topic: record.partitions[0] for record in written if isinstance(record, TopicRecord)}
        return {name: (part.adding, part.removing) for name, part in parts.items()}

    assert told(moves={("t", 0): Reassignment((3,), (1,))}) == {"t": ([3], [1]), "u": ([], [])}
    assert told(broken={"reassignments"}) == {"t": (None, None), "u": (None, None)}


def test_health_that_cannot_be_asked_again_is_forgotten():
    brokers = cluster()
    _, _, _, polling = scanned(brokers)
    assert polling.facts.partitions is not None
    brokers.broken.add("topics")
    asyncio.run(Scanner(polling, 900_000, reads_groups=True).look_at_partitions())
    assert polling.facts.partitions is None


def test_nothing_is_scanned_before_a_broker_is_known():
    sent = []
    assert asyncio.run(Scanner(poller(Brokers(), sent), 900_000, reads_groups=True).scan()) is False
    assert sent == []
