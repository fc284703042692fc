"""Brokers that only speak Kafka's protocol, for ``bench_watch.py``: more of them than a machine can run.

    python bench/watch_brokers.py BROKERS LOG_DIRS PARTITIONS

Prints the address of the first one, then answers until it is stopped: three replicas of each partition, directories at
half, nothing moves. A directory grows by a mebibyte with each answer.
"""

import sys
import time
from itertools import count

from kafka.protocol.admin import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeQuorumRequest,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)

from tests.support.fake_broker import KRAFT_4_3, FakeBroker

VERSIONS = {**KRAFT_4_3, DescribeLogDirsRequest: 5, DescribeConfigsRequest: 4, ListGroupsRequest: 5}
del VERSIONS[DescribeQuorumRequest]
CONFIGS = {"retention.ms": "604800000", "retention.bytes": "-1", "cleanup.policy": "delete", "min.insync.replicas": "2"}
UNSAID = {"read_only": False, "is_sensitive": False, "synonyms": [], "config_type": 0, "documentation": None}
TOTAL_BYTES, REPLICA_BYTES, PARTITIONS_OF_A_TOPIC = 4 << 40, 64 << 30, 24


class Broker(FakeBroker):
    """One of ``fleet``, which they share."""

    fleet: "list[Broker]"
    log_dirs = partitions = 0

    def answer(self, request_class, request, version):
        answers = {
            DescribeLogDirsRequest: self._log_dirs,
            DescribeTopicPartitionsRequest: self._topic_partitions,
            DescribeConfigsRequest: self._configs,
            ListGroupsRequest: lambda _, version: ListGroupsResponse(version=version, error_code=0, groups=[]),
        }
        self.asked.clear()
        if request_class in answers:
            return answers[request_class](request, version)
        return super().answer(request_class, request, version)

    def _replicas(self, partition):
        return [(partition + step) % len(self.fleet) + 1 for step in range(3)]

    def _log_dirs(self, request, version):
        asks_sizes_alone, brokers = request.topics == [], len(self.fleet)
        firsts = [] if asks_sizes_alone else [(self.broker - 1 - step) % brokers for step in range(3)]
        held = [number for first in firsts for number in range(first, self.partitions, brokers)]
        result = DescribeLogDirsResponse.DescribeLogDirsResult
        topic = result.DescribeLogDirsTopic
        grown = next(self.ages) << 20
        return DescribeLogDirsResponse(
            version=version,
            error_code=0,
            results=[
                result(
                    version=version,
                    error_code=0,
                    log_dir=f"/data/d{place}",
                    total_bytes=TOTAL_BYTES,
                    usable_bytes=TOTAL_BYTES // 2 - grown,
                    is_cordoned=False,
                    topics=[
                        topic(version=version, name=_topic(number), partitions=[_held(topic, version, number)])
                        for number in held[place :: self.log_dirs]
                    ],
                )
                for place in range(self.log_dirs)
            ],
        )

    def _topic_partitions(self, request, version):
        response = DescribeTopicPartitionsResponse
        topic = response.DescribeTopicPartitionsResponseTopic
        begin = 0 if request.cursor is None else int(request.cursor.topic_name[1:]) * PARTITIONS_OF_A_TOPIC
        end = min(begin + PARTITIONS_OF_A_TOPIC * 40, self.partitions)
        wanted = {one.name for one in request.topics}
        numbers = [
            range(first, min(first + PARTITIONS_OF_A_TOPIC, self.partitions))
            for first in range(begin, end, PARTITIONS_OF_A_TOPIC)
            if not wanted or _topic(first) in wanted
        ]
        cursor = response.Cursor(version=version, topic_name=_topic(end), partition_index=0)
        return response(
            version=version,
            topics=[
                topic(
                    version=version,
                    error_code=0,
                    name=_topic(found[0]),
                    topic_id=None,
                    is_internal=False,
                    partitions=[self._partition(topic, version, number) for number in found],
                )
                for found in numbers
            ],
            next_cursor=None if end == self.partitions else cursor,
        )

    def _partition(self, topic, version, number):
        replicas = self._replicas(number)
        return topic.DescribeTopicPartitionsResponsePartition(
            version=version,
            error_code=0,
            partition_index=number % PARTITIONS_OF_A_TOPIC,
            leader_id=replicas[0],
            leader_epoch=1,
            replica_nodes=replicas,
            isr_nodes=replicas,
            eligible_leader_replicas=[],
            last_known_elr=[],
            offline_replicas=[],
        )

    def _configs(self, request, version):
        result = DescribeConfigsResponse.DescribeConfigsResult
        config = result.DescribeConfigsResourceResult
        return DescribeConfigsResponse(
            version=version,
            results=[
                result(
                    version=version,
                    error_code=0,
                    error_message=None,
                    resource_type=one.resource_type,
                    resource_name=one.resource_name,
                    configs=[
                        config(version=version, name=name, value=value, config_source=5, **UNSAID)
                        for name, value in CONFIGS.items()
                        if one.resource_type == 2
                    ],
                )
                for one in request.resources
            ],
        )


def _topic(number):
    return f"t{number // PARTITIONS_OF_A_TOPIC:05}"


def _held(topic, version, number):
    return topic.DescribeLogDirsPartition(
        version=version,
        partition_index=number % PARTITIONS_OF_A_TOPIC,
        partition_size=REPLICA_BYTES,
        offset_lag=0,
        is_future_key=False,
    )


def main():
    brokers, Broker.log_dirs, Broker.partitions = map(int, sys.argv[1:])
    fleet = [Broker(VERSIONS, number + 1, poll_s=1.0) for number in range(brokers)]
    for one in fleet:
        one.fleet, one.ages, one.reassigning = fleet, count(), []
        one.others = [other for other in fleet if other is not one]
        one.controller = 1
    print(fleet[0].address, flush=True)
    time.sleep(86_400)


if __name__ == "__main__":
    main()
