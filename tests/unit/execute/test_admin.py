"""What is read of a cluster, and called there, in Kafka's own requests is what the model of its admin side has."""

import asyncio
import random
from copy import deepcopy
from dataclasses import replace
from types import SimpleNamespace

import pytest
from kafka import TopicPartition
from kafka.admin import ConfigResourceType
from kafka.errors import (
    ClusterAuthorizationFailedError,
    ElectionNotNeededError,
    KafkaConnectionError,
    NoError,
    NoReassignmentInProgressError,
    NotControllerError,
    ReplicaNotAvailableError,
    UnknownTopicOrPartitionError,
)
from kafka.protocol.admin import DescribeClusterRequest

from logdirwatch.execute.admin import AdminCluster
from logdirwatch.execute.calls import ChangeConfig, Do, ElectLeaders, Reassign
from logdirwatch.execute.decide import decide
from logdirwatch.execute.ports import NoAnswerError, RefusedError
from logdirwatch.execute.seen import Seen
from logdirwatch.execute.steps import Elect, Move, Order, SetConfig, Throttle, steps_of
from logdirwatch.execute.surroundings import Around, around
from logdirwatch.plan.commands import operations
from logdirwatch.plan.commands.throttles import Limit
from tests.simulation.hand.run import Schedule

DEFAULT, OWN = "DEFAULT_CONFIG", {"topics": "DYNAMIC_TOPIC_CONFIG", "brokers": "DYNAMIC_BROKER_CONFIG"}


class Client:
    """Kafka's admin client, before the model."""

    broker_release = (4, 2)

    def __init__(self, kafka):
        self.kafka, self.elected, self.answers = kafka, [], {}

    def describe_topics(self, topics=None):
        known = sorted({topic for topic, _ in self.kafka.partitions})
        return [self._topic(topic, topic in known) for topic in (known if topics is None else topics)]

    def _topic(self, topic, is_known):
        if not is_known:
            return {"name": topic, "error_code": 3, "topic_id": None, "partitions": []}
        found = [(number, one) for (name, number), one in sorted(self.kafka.partitions.items()) if name == topic]
        parts = [
            {
                "partition_index": number,
                "replica_nodes": list(one.replicas),
                "isr_nodes": sorted(one.isr),
                "leader_id": -1 if (leader := self.kafka.leader((topic, number))) is None else leader,
            }
            for number, one in found
        ]
        topic_id = f"{topic}/{self.kafka.ids[topic]}"
        return {"name": topic, "error_code": 0, "topic_id": topic_id, "partitions": parts}

    @property
    def _manager(self):
        return self

    def run(self, ask):
        return asyncio.run(ask())

    async def send(self, request):
        assert isinstance(request, DescribeClusterRequest)
        # A dead broker is fenced, and then not listed any more.
        listed = [one for one in self.kafka.brokers if one not in self.kafka.dead or one % 2]
        brokers = [SimpleNamespace(broker_id=one, is_fenced=one in self.kafka.dead) for one in listed]
        return SimpleNamespace(error_code=0, cluster_id="c", brokers=brokers)

    def describe_configs(self, resources, config_filter):
        assert config_filter == "all"
        found = {"topic": {}, "broker": {}}
        for one in resources:
            kind = "topics" if one.resource_type is ConfigResourceType.TOPIC else "brokers"
            own = self.kafka.configs.get((kind, one.name))
            entries = {} if own is None else {"min.insync.replicas": (str(self.kafka.min_isr), DEFAULT)}
            entries |= {key: (value, OWN[kind]) for key, value in (own or {}).items()}
            if kind == "topics" and entries:
                entries["retention.bytes"] = ("1", "STATIC_BROKER_CONFIG")
            found[kind.removesuffix("s")][one.name] = {
                key: {"value": value, "config_source": source} for key, (value, source) in entries.items()
            }
        return found

    def describe_log_dirs(self, topics, brokers):
        (broker,) = brokers
        if broker in self.kafka.dead:
            raise KafkaConnectionError
        return [{"log_dirs": [self._log_dir(broker, path, topics) for path in self.kafka.paths(broker)]}]

    def _log_dir(self, broker, path, topics):
        place, parts = (broker, path), []
        for is_future, copies in ((False, self.kafka.logs), (True, self.kafka.futures)):
            for (topic, number, on), copy in copies.items():
                if (on, copy.path) == place and number in topics.get(topic, ()):
                    part = {"partition_index": number, "partition_size": copy.size_bytes, "is_future_key": is_future}
                    parts.append({"name": topic, "partitions": [part]})
        size, used = self.kafka.log_dirs[place], self.kafka.used_bytes(place)
        sizes = {"total_bytes": size, "usable_bytes": size - used}
        return {"log_dir": path, "error_code": 56 * (place in self.kafka.offline), "topics": parts, **sizes}

    def list_partition_reassignments(self, keys=None):
        return {
            TopicPartition(*key): {
                "replicas": list(one.replicas),
                "adding_replicas": list(one.adding),
                "removing_replicas": list(one.removing),
            }
            for key, one in self.kafka.partitions.items()
            if (one.adding or one.removing) and (keys is None or TopicPartition(*key) in keys)
        }

    def alter_configs(self, resources, *, raise_on_unknown, incremental):
        assert (raise_on_unknown, incremental) == (False, True)
        (one,) = resources
        ((key, (how, value)),) = one.configs.items()
        assert (how == "DELETE") is (value is None)
        kind = "topics" if one.resource_type is ConfigResourceType.TOPIC else "brokers"
        error = _error(lambda: self.kafka.call(ChangeConfig(kind, one.name, key, value)), "refused")
        if error is NotControllerError:
            raise error
        return {kind.removesuffix("s"): {one.name: error or "OK"}}

    def alter_replica_log_dirs(self, paths):
        return {replica: self._placed(tuple(replica), path) for replica, path in paths.items()}

    def _placed(self, held, path):
        error = _error(lambda: self.kafka._place(held, path), ClusterAuthorizationFailedError)
        return error or (NoError if held in self.kafka.logs else ReplicaNotAvailableError)

    def alter_partition_reassignments(self, wanted, *, allow_replication_factor_change):
        return {
            key: self._reassigned(tuple(key), goal, allow_replication_factor_change) for key, goal in wanted.items()
        }

    def _reassigned(self, key, goal, changes_factor):
        partition = self.kafka.partitions.get(key)
        if goal is None and partition is not None and not (partition.adding or partition.removing):
            return NoReassignmentInProgressError
        return _error(
            lambda: self.kafka.reassign(key, goal, changes_factor=changes_factor), ClusterAuthorizationFailedError
        )

    def elect_leaders(self, how, partitions, *, raise_errors):
        assert (how.name, raise_errors) == ("PREFERRED", False)
        self.elected.append(partitions)
        found = [
            SimpleNamespace(
                topic=topic,
                partition_result=[
                    SimpleNamespace(partition_id=one, error_code=self.answers.get((topic, one), 0)) for one in numbers
                ],
            )
            for topic, numbers in partitions.items()
        ]
        return SimpleNamespace(error_code=self.answers.get(None, 0), replica_election_results=found)


def _error(change, refused):
    """Make a change; return the answer of Kafka's where it is none that the model makes."""
    try:
        change()
    except RefusedError:
        return refused
    except NoAnswerError:
        return NotControllerError
    return None


def asked(ask, *about):
    """Return an answer, or what kind of error there is instead."""
    try:
        return ask(*about)
    except (NoAnswerError, RefusedError) as error:
        return type(error)


def meddled(kafka, draw):
    """Let something happen to a cluster."""
    for happens in draw.sample(range(4), 2):
        if happens == 0:
            kafka.die(draw.choice(kafka.brokers))
        elif happens == 1:
            kafka.fail(draw.choice(sorted(kafka.log_dirs)))
        elif happens == 2:
            kafka.lag(draw.choice(sorted(kafka.logs)))
        kafka.tick(1.0)


@pytest.mark.parametrize("seed", range(1, 41))
def test_what_is_seen_and_called_is_what_the_model_has(seed):
    drawn, draw = Schedule(seed, ()), random.Random(seed)
    kafka, data = drawn.kafka, operations.as_data(drawn.found)
    cluster = AdminCluster(Client(kafka))
    for back in (False, True):
        for step in steps_of(data, back=back):
            limits = list(step.limits) if isinstance(step, Throttle) else ()
            for what in (step, None):
                seen, model = asked(cluster.look, what, limits), asked(kafka.look, what, limits)
                if isinstance(seen, Seen) and isinstance(model, Seen):
                    # Kafka tells of all partitions of a topic.
                    seen = replace(seen, partitions={key: seen.partitions[key] for key in model.partitions})
                assert seen == model
            found = decide(step, kafka.look(step, ()), ()) if isinstance(step, Move | SetConfig) else None
            calls = found.calls if isinstance(found, Do) else [ChangeConfig(*one) for one in limits]
            for call in calls:
                other = deepcopy(kafka)
                assert asked(cluster.call, call) == asked(other.call, call)
                other._rests = kafka._rests
                assert vars(other) == vars(kafka)
            ours = around(drawn.record)
            now, model = cluster.look_around(ours), kafka.look_around(ours)
            assert now.used_ratios == pytest.approx(model.used_ratios)
            # One that never has as many replicas as it needs in sync is no news to an execution.
            lacking = {
                key
                for key in model.under_min_isr
                if len(kafka.partitions[key].isr) < len(kafka.partitions[key].replicas)
            }
            assert replace(now, used_ratios={}) == replace(model, used_ratios={}, under_min_isr=lacking)
        meddled(kafka, draw)


KEYS = (("t", 0), ("t", 1), ("u", 0))
ORDER, ELECTION = Order(dict.fromkeys(KEYS, (2, 1)), dict.fromkeys(KEYS, (1, 2))), Elect(dict.fromkeys(KEYS))


def of_two_topics():
    """Three partitions on the brokers 1 and 2, and a broker 3."""
    kafka = deepcopy(Schedule(-1, ()).kafka)
    kafka.partitions, kafka.logs, kafka.ids = {}, {}, {}
    kafka.configs = {entity: held for entity, held in kafka.configs.items() if entity[0] == "brokers"}
    for key in KEYS:
        kafka.create(key, {1: "/a", 2: "/a"}, 100)
    return kafka


class TestTwoTopics:
    def test_are_seen_with_their_partitions(self):
        kafka = of_two_topics()
        for step in (ORDER, ELECTION):
            assert AdminCluster(Client(kafka)).look(step, ()) == kafka.look(step, ())

    def test_are_hosted_where_their_replicas_are(self):
        kafka = of_two_topics()
        kafka.partitions["u", 0].replicas = (2, 3)
        cluster = AdminCluster(Client(kafka))
        assert [cluster.hosts(frozenset(names)) for names in ("t", "u", "tu", "")] == [{1, 2}, {2, 3}, {1, 2, 3}, set()]

    def test_have_no_values_when_they_are_gone_and_are_refused_when_they_are_hidden(self):
        client = Client(of_two_topics())
        limit = Limit("topics", "gone", "k", "v")
        assert AdminCluster(client).look(None, [limit]).configs == {("topics", "gone"): {}}
        del client.kafka.configs["topics", "t"]
        with pytest.raises(RefusedError, match="the configuration of topic t is not shown"):
            AdminCluster(client).look(None, [limit._replace(name="t")])

    def test_are_under_their_least_of_replicas_in_sync(self):
        kafka = of_two_topics()
        kafka.min_isr = 2
        kafka.partitions["t", 1].isr = {1}
        found = AdminCluster(Client(kafka)).look_around(Around(frozenset(), frozenset(), frozenset()))
        assert found.under_min_isr == {("t", 1)}

    @pytest.mark.parametrize(
        ("answers", "error"),
        [
            ({}, None),
            ({("t", 1): ElectionNotNeededError.errno}, None),
            ({("t", 1): ClusterAuthorizationFailedError.errno}, RefusedError),
            ({("u", 0): UnknownTopicOrPartitionError.errno}, NoAnswerError),
            ({None: ClusterAuthorizationFailedError.errno}, RefusedError),
        ],
    )
    def test_get_their_preferred_leaders_unless_kafka_says_why_not(self, answers, error):
        client = Client(of_two_topics())
        client.answers = answers
        assert asked(AdminCluster(client).call, ElectLeaders(KEYS)) is error
        assert client.elected == [{"t": [0, 1], "u": [0]}]


@pytest.mark.parametrize("release", [(2, 7), (4, 1), (4, 2), (5, 0)])
def test_a_cancelled_copy_stops_cleaning_before_the_release_that_resumes_it(release):
    client = Client(of_two_topics())
    client.broker_release = release
    assert AdminCluster(client).look(ORDER, ()).stops_cleaning is (release < (4, 2))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (KafkaConnectionError(), NoAnswerError),
        (NotControllerError(), NoAnswerError),
        (OSError("reset"), NoAnswerError),
        (ClusterAuthorizationFailedError(), RefusedError),
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_may_pass_is_asked_again_and_what_kafka_refuses_is_not(error, kind):
    client = Client(of_two_topics())

    def fails(*_, **__):
        raise error

    client.describe_topics = client.alter_partition_reassignments = client.list_partition_reassignments = fails
    cluster = AdminCluster(client)
    around_it = Around(frozenset(), frozenset(), frozenset())
    assert asked(cluster.look, ORDER, ()) is kind
    assert asked(cluster.look_around, around_it) is kind
    assert asked(cluster.hosts, frozenset("t")) is kind
    assert asked(cluster.call, Reassign({KEYS[0]: (2, 1)})) is kind
