"""A broker of any release on loopback: it lists the requests that it knows, and answers them as a test says."""

import contextlib
import socket
import socketserver
import struct
import threading

from kafka.protocol.admin import (
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeQuorumRequest,
    DescribeTopicPartitionsRequest,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from kafka.protocol.consumer import OffsetFetchRequest, OffsetFetchResponse
from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse, MetadataRequest, MetadataResponse

# The highest version of each request that our questions depend on, by release, as `kafka-broker-api-versions` lists it.
ZOOKEEPER_2_7 = {MetadataRequest: 9, OffsetFetchRequest: 7, ListPartitionReassignmentsRequest: 0}
ZOOKEEPER_2_8 = {**ZOOKEEPER_2_7, MetadataRequest: 11, DescribeClusterRequest: 0}
ZOOKEEPER_3_9 = {**ZOOKEEPER_2_8, MetadataRequest: 12, OffsetFetchRequest: 9, DescribeClusterRequest: 1}
KRAFT_3_7 = {**ZOOKEEPER_3_9, DescribeQuorumRequest: 1}
KRAFT_3_9 = {**KRAFT_3_7, DescribeQuorumRequest: 2, DescribeTopicPartitionsRequest: 0}
KRAFT_4_3 = {**KRAFT_3_9, MetadataRequest: 13, OffsetFetchRequest: 10, DescribeClusterRequest: 2}
CLUSTER_ID = "the-cluster"


class Handler(socketserver.BaseRequestHandler):
    """Answers one connection's requests, one after another."""

    def handle(self):
        with contextlib.suppress(OSError, struct.error):
            while True:
                (size,) = struct.unpack(">i", self._read(4))
                self._answer(self._read(size))

    def _answer(self, frame):
        key, version, correlation_id = struct.unpack(">hhi", frame[:8])
        if key == ApiVersionsRequest.API_KEY:
            response, is_flexible = self.server.api_versions(version), False  # its header never is
        else:
            request_class = next(known for known in self.server.versions if key == known.API_KEY)
            request = request_class.decode(frame, version=version, header=True)
            self.server.asked.append((request_class, request))
            response = self.server.answer(request_class, request, version)
            is_flexible = type(response).flexible_version_q(version)
        header = struct.pack(">i", correlation_id) + (b"\0" if is_flexible else b"")
        body = header + bytes(response.encode(version=version))
        self.request.sendall(struct.pack(">i", len(body)) + body)

    def _read(self, size):
        return self.request.recv(size, socket.MSG_WAITALL)


class FakeBroker(socketserver.ThreadingTCPServer):
    """Broker 1 of a cluster, or any other; ``versions`` are the requests that it knows.

    ``topics`` are (error code, name, partitions) with partitions as fields of Metadata's; ``reassigning`` is None where
    this broker is not the controller; ``answers`` are whole responses by request. ``asked`` holds what came.
    """

    daemon_threads = True

    def __init__(self, versions, broker=1, poll_s=0.01):
        super().__init__(("127.0.0.1", 0), Handler)
        self.versions = versions
        self.broker = broker
        self.controller = broker
        self.others = []
        self.topics = []
        self.reassigning = None
        self.committed = {}
        self.refused_groups = set()
        self.answers = {}
        self.asked = []
        self._thread = threading.Thread(target=self.serve_forever, args=(poll_s,))
        self._thread.start()

    @property
    def port(self):
        return self.server_address[1]

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def close(self):
        self.shutdown()
        self._thread.join()
        self.server_close()

    def times(self, request_class):
        """Return how often something was asked."""
        return sum(asked is request_class for asked, _ in self.asked)

    def api_versions(self, version):
        key = ApiVersionsResponse.ApiVersion
        known = {known.API_KEY: (0, newest) for known, newest in self.versions.items()}
        known[ApiVersionsRequest.API_KEY] = (0, 3)
        keys = [
            key(version=version, api_key=number, min_version=oldest, max_version=newest)
            for number, (oldest, newest) in known.items()
        ]
        return ApiVersionsResponse(version=version, error_code=0, api_keys=keys, throttle_time_ms=0)

    def answer(self, request_class, request, version):
        if request_class in self.answers:
            response = self.answers[request_class]
            response._header = None  # as in one that was not decoded
            return response
        return {
            MetadataRequest: self._metadata,
            DescribeClusterRequest: self._cluster,
            ListPartitionReassignmentsRequest: self._reassignments,
            OffsetFetchRequest: self._offsets,
        }[request_class](request, version)

    def _brokers(self, part, version, id_field):
        return [
            part(version=version, host="127.0.0.1", port=other.port, rack=None, **{id_field: other.broker})
            for other in (self, *self.others)
        ]

    def _metadata(self, request, version):
        response = MetadataResponse
        topic = response.MetadataResponseTopic
        names = None if request.topics is None else {wanted.name for wanted in request.topics}
        return response(
            version=version,
            brokers=self._brokers(response.MetadataResponseBroker, version, "node_id"),
            cluster_id=CLUSTER_ID,
            controller_id=self.controller,
            topics=[
                topic(
                    version=version,
                    error_code=error_code,
                    name=name,
                    is_internal=name.startswith("__"),
                    partitions=[topic.MetadataResponsePartition(version=version, **part) for part in partitions],
                )
                for error_code, name, partitions in self.topics
                if names is None or name in names
            ],
        )

    def _cluster(self, request, version):
        response = DescribeClusterResponse
        return response(
            version=version,
            error_code=0,
            cluster_id=CLUSTER_ID,
            controller_id=self.controller,
            brokers=self._brokers(response.DescribeClusterBroker, version, "broker_id"),
        )

    def _reassignments(self, request, version):
        response = ListPartitionReassignmentsResponse
        if self.reassigning is None:
            return response(version=version, error_code=41, error_message=None, topics=[])
        topic = response.OngoingTopicReassignment
        part = topic.OngoingPartitionReassignment
        return response(
            version=version,
            error_code=0,
            error_message=None,
            topics=[
                topic(
                    version=version,
                    name=name,
                    partitions=[
                        part(
                            version=version,
                            partition_index=number,
                            replicas=[1, 2, 3],
                            adding_replicas=adding,
                            removing_replicas=removing,
                        )
                    ],
                )
                for name, number, adding, removing in self.reassigning
            ],
        )

    def _offsets(self, request, version):
        if version >= 8:
            group = OffsetFetchResponse.OffsetFetchResponseGroup
            groups = [
                group(
                    version=version,
                    group_id=asked.group_id,
                    error_code=self._error_of(asked.group_id),
                    topics=self._offsets_of(
                        asked.group_id, group.OffsetFetchResponseTopics, "OffsetFetchResponsePartitions", version
                    ),
                )
                for asked in request.groups
            ]
            return OffsetFetchResponse(version=version, groups=groups)
        return OffsetFetchResponse(
            version=version,
            error_code=self._error_of(request.group_id),
            topics=self._offsets_of(
                request.group_id, OffsetFetchResponse.OffsetFetchResponseTopic, "OffsetFetchResponsePartition", version
            ),
        )

    def _error_of(self, group):
        return 30 if group in self.refused_groups else 0

    def _offsets_of(self, group, topic, part_name, version):
        if group in self.refused_groups:
            return []
        part = getattr(topic, part_name)
        return [
            topic(
                version=version,
                name=name,
                partitions=[
                    part(version=version, partition_index=number, committed_offset=offset, metadata="", error_code=0)
                ],
            )
            for (name, number), offset in self.committed[group].items()
        ]
