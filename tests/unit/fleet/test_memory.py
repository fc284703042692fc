"""What is kept of a cluster: small, versioned, and read again."""

import msgspec
import pytest

from logdirwatch.detect.settings import DetectSettings
from logdirwatch.errors import UserError
from logdirwatch.fleet import machine, tally
from logdirwatch.fleet.context import ClusterContext
from logdirwatch.fleet.machine import digest
from logdirwatch.fleet.memory import FleetMemory, decode, encode, restored
from logdirwatch.fleet.settings import FleetSettings
from logdirwatch.model.records import PartitionHealth
from logdirwatch.model.vocabulary import Rule
from tests.unit.fleet.builders import T0, Driver, filling, log_dir, seen, state

BROKERS, DIRS = 2_000, 12
MOST_BYTES = 4_100_000


def large_cluster():
    """Every number at its full length, and every broker in distress, with as many examples as a record may have."""
    memory = FleetMemory(cluster="prod", newest_ms=T0)
    names = [f"a.topic.of.usual.length-{number}" for number in range(20)]
    for broker in range(BROKERS):
        dirs = [
            log_dir(f"/var/lib/kafka/data{number:02}", 0.7654321, full_at_ms=T0, total_bytes=15_999_999_999_999)
            for number in range(DIRS)
        ]
        named = names if broker % 4 == 0 else []
        health = PartitionHealth(
            leaderless=20, under_min_isr=100, examples=named, out_of_sync=100, hurt_topics=named, hurt_groups=named
        )
        host = f"kafka-{broker:05}.example.internal"
        memory.brokers[broker] = digest(state(broker, *dirs, health=health, host=host), None, T0)
    return memory


def test_two_thousand_brokers_stay_small():
    body = encode(large_cluster())
    assert len(body) <= MOST_BYTES, f"{len(body)} bytes"
    assert encode(decode(1, body)) == body


def test_memory_is_what_it_was_when_it_is_read_again():
    driver = Driver().show(1, filling(volume="v")).show(2, filling(), health=PartitionHealth(leaderless=1)).gone(1)
    driver.silent(2).wait(60_000)
    assert decode(1, encode(driver.memory)) == driver.memory
    assert driver.memory.alerts
    assert driver.memory.gone


def test_what_a_state_record_carries_beside_is_not_kept():
    record = msgspec.structs.replace(state(1, log_dir()), machine="x" * 100_000)
    memory = FleetMemory(cluster="prod", brokers={1: digest(record, None, T0)})
    assert len(encode(memory)) < 1_000


def test_state_of_another_release_is_refused_with_one_line():
    body = encode(FleetMemory(cluster="prod"))
    with pytest.raises(UserError, match="state of version 2, this release reads version 1"):
        decode(2, body)
    with pytest.raises(UserError, match="cannot be read"):
        decode(1, "{}")


def test_an_array_that_gains_a_field_reads_the_old_one():
    short = '{"cluster":"prod","brokers":{"1":[1,5,"online",null,[["/d1","online",null,null]]]}}'
    broker = decode(1, short).brokers[1]
    assert (broker.log_dirs[0].volume, broker.is_silent, broker.partitions) == (None, False, None)


def test_a_broker_that_was_kept_before_its_host_and_its_flushes_were_is_read():
    memory = msgspec.json.decode(encode(Driver().show(1, host="h1", flush_ms=9.0).memory))
    assert memory["brokers"]["1"][-3:] == ["h1", 9.0, {}]
    memory["brokers"]["1"] = memory["brokers"]["1"][:-3]
    old = decode(1, msgspec.json.encode(memory).decode()).brokers[1]
    assert (old.host, old.flush_ms) == (None, None)


def test_judging_one_record_looks_at_one_broker(monkeypatch):
    """The work for a record must not grow with the cluster: a batch may hold one of every broker."""
    context = ClusterContext(large_cluster(), FleetSettings(), DetectSettings())
    looked_at = []
    judged = tally.disks
    monkeypatch.setattr(tally, "disks", lambda broker, *rest: looked_at.append(broker) or judged(broker, *rest))
    machine.take(context, seen(state(7, log_dir(), sequence=2, at_ms=T0 + 1), 5), T0)
    assert looked_at == [7]


class TestAlertsAlone:
    """What is left when the checkpoint is lost: the alerts on the topic, and the states."""

    @staticmethod
    def again(before):
        """The driver that reads everything again, after the last thing that was told."""
        (memory,) = restored({alert.alert_id: alert for alert in before.alerts}.values())
        after = Driver(memory=memory, alerts=list(before.alerts), now_ms=before.now_ms, at_ms=before.at_ms)
        after.sequences, after.offset = dict(before.sequences), before.offset
        for record in before.taken:
            after.read(record)
        assert after.alerts == before.alerts, "what was told is not told again, nor taken back"
        return after

    def test_what_is_still_so_goes_on_under_its_identity_and_ends(self):
        before = Driver().show(2).show(1, after_ms=1).show(1, health=PartitionHealth(leaderless=1), after_ms=1)
        (opened,) = before.alerts
        after = self.again(before)
        after.show(1, health=PartitionHealth(leaderless=1), after_ms=1).show(2, after_ms=1).show(1, after_ms=1)
        assert {alert.alert_id for alert in after.alerts} == {opened.alert_id}
        assert (str(after.alerts[-1].status), after.alerts[-1].reason) == ("resolved", "recovered")
        assert [alert.revision for alert in after.alerts] == list(range(1, len(after.alerts) + 1))

    def test_what_ended_long_ago_is_not_raised_again(self):
        before = Driver().show(2).show(1, health=PartitionHealth(leaderless=1), after_ms=1).show(1, after_ms=1)
        assert [str(alert.status) for alert in before.alerts] == ["firing", "resolved"]
        after = self.again(before)
        after.show(1, health=PartitionHealth(leaderless=2), after_ms=1)
        assert [(str(alert.status), alert.revision) for alert in after.alerts[2:]] == [("firing", 1)]

    def test_a_broker_that_is_still_silent_is_not_taken_back_and_ends_when_it_is_heard_of(self):
        before = Driver().show(1).show(2, after_ms=1).silent(1).wait(60_000)
        assert [str(alert.rule) for alert in before.alerts] == ["broker_unknown"]
        after = self.again(before)
        after.at_ms = before.now_ms
        after.show(1, after_ms=1)
        assert [(str(alert.status), alert.revision) for alert in after.alerts] == [("firing", 1), ("resolved", 2)]

    def test_another_querys_alerts_are_not_taken_on(self):
        driver = Driver().show(1, health=PartitionHealth(leaderless=1)).show(1)
        (memory,) = restored(driver.alerts[-1:])
        assert not memory.alerts
        (firing, _) = driver.alerts
        of_detect = {"rule": Rule.BROKER_UNKNOWN, "broker": 1, "evidence": {"status": "timeout"}}
        assert restored([msgspec.structs.replace(firing, **of_detect)]) == []
        of_fleet = of_detect | {"evidence": {"silent_brokers": 1}}
        (memory,) = restored([msgspec.structs.replace(firing, **of_fleet)])
        assert list(memory.alerts) == ["broker_unknown/1"]
