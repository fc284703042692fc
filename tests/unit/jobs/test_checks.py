"""What the stream checks before it starts."""

import pytest

from logdirwatch.errors import UserError
from logdirwatch.jobs import checks
from logdirwatch.jobs.checks import check_permissions, check_slots, check_topics, local_slots, needed_slots
from logdirwatch.kafka.settings import KafkaSettings
from tests.support import fake_broker
from tests.support.fake_broker import CLUSTER_ID, FakeBroker

NEEDED = {"READ": {"logdir.metrics", "logdir.events"}, "WRITE": {"logdir.alerts"}}


def test_every_missing_permission_is_named_at_once():
    allowed = {"logdir.metrics": ["DESCRIBE", "WRITE"], "logdir.events": [], "logdir.alerts": ["READ"]}
    with pytest.raises(UserError, match=r"Read on logdir\.events, logdir\.metrics; Write on logdir\.alerts; see docs"):
        check_permissions(allowed, NEEDED)


@pytest.mark.parametrize(
    "allowed",
    [
        {"logdir.metrics": ["READ"], "logdir.events": ["READ", "WRITE"], "logdir.alerts": ["WRITE"]},
        dict.fromkeys(("logdir.metrics", "logdir.events", "logdir.alerts")),
    ],
    ids=["all there", "a cluster that does not tell"],
)
def test_what_is_there_or_not_known_is_no_reason_to_refuse(allowed):
    check_permissions(allowed, NEEDED)


@pytest.mark.parametrize(("partitions", "others", "needed"), [(3, True, 5), (3, False, 3), (1, True, 3), (6, True, 8)])
def test_one_slot_an_events_partition_and_two_for_the_others_are_enough_and_one_less_is_refused(
    partitions, others, needed
):
    assert needed_slots(partitions, others=others) == needed
    check_slots(needed, partitions, others=others)
    with pytest.raises(UserError, match=f"{needed - 1} task slots are too few: .* give Spark at least {needed},"):
        check_slots(needed - 1, partitions, others=others)


@pytest.mark.parametrize(
    ("master", "slots"),
    [
        ("local", 1),
        ("local[1]", 1),
        ("local[8]", 8),
        ("local[8,4]", 8),
        ("local[8, 4]", 8),
        ("local[*]", None),
        ("local[*,4]", None),
        ("spark://host:7077", None),
    ],
)
def test_a_local_master_tells_its_slots(master, slots):
    assert local_slots(master) == slots


def test_a_missing_topic_is_named():
    check_topics(["a", "b"], ["a"])
    with pytest.raises(UserError, match="lacks b, c; create them with: logdirwatch topics create"):
        check_topics(["a"], ["c", "b", "a"])


def test_whose_cluster_it_is_never_stops_the_stream(monkeypatch):
    def odd(client):
        raise KeyError("endpoint_type")

    broker = FakeBroker(fake_broker.ZOOKEEPER_2_8)
    try:
        settings = KafkaSettings(bootstrap_servers=broker.address)
        assert checks.cluster_id(settings) == CLUSTER_ID
        monkeypatch.setattr(checks, "describe_cluster", odd)
        assert checks.cluster_id(settings) is None
    finally:
        broker.close()
    assert checks.cluster_id(settings) is None, "nothing listens there any more"
