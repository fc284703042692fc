"""What the collector and the stream do, in one thread, for bench_autopilot.py: the product's own code without Spark.

Each second every broker is asked. The answers go through ``detect.machine.advance``, alerts and decisions into the
recommender of the query ``recommend``, with facts from the brokers in place of the tables, and its actions to Kafka.
"""

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import TracebackType

import msgspec
from kafka import KafkaConsumer

from logdirwatch.cli.reading import live_cluster
from logdirwatch.collect.loop import ClusterWatch
from logdirwatch.collect.publish.buffer import Outgoing
from logdirwatch.collect.settings import JmxExporterSettings
from logdirwatch.detect import machine
from logdirwatch.detect.observations import Sample
from logdirwatch.detect.state.broker_state import BrokerMemory
from logdirwatch.jobs.policy import policy_for
from logdirwatch.jobs.queries.recommend import Recommender, Record
from logdirwatch.kafka import clients
from logdirwatch.model import topics
from logdirwatch.model.identity import Origin
from logdirwatch.model.records import ActionRecord, HeartbeatRecord, MetricsRecord
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.settings import Settings
from logdirwatch_lab.config import CLUSTER
from tests.kafka.applying import now
from tests.kafka.telemetry import send_records

EVERY_S = 1.0


class Watch:
    """Watches and plans while its block runs; ``check`` raises what stopped it."""

    def __init__(self, own: Settings) -> None:
        self._own = own
        self._said: list[Outgoing] = []
        self._brokers: dict[int, BrokerMemory] = {}
        self._offset = 0
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True, name="watch")
        self._keeper = Recommender(
            read=tuple,
            facts=self._facts,
            publish=self._publish,
            policy=lambda cluster: policy_for(own, cluster),
            skew_ms=own.detect.clock_skew_ms,
            rests=0.0,
        )

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def check(self) -> None:
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        own, loop = self._own, asyncio.new_event_loop()
        collector = ClusterWatch(
            CLUSTER,
            own.clusters[CLUSTER],
            JmxExporterSettings(),
            own.collect,
            lambda path, total_bytes: own.detect.reserve_of(CLUSTER, path, total_bytes),
            self._said.extend,
            now,
        )
        try:
            with clients.consumer(own.telemetry, auto_offset_reset="earliest") as decisions:
                decisions.assign(clients.partitions_of(decisions, topics.DECISIONS))
                decisions.seek_to_beginning()
                while not self._stop.is_set():
                    due_s = time.monotonic() + EVERY_S
                    loop.run_until_complete(collector.once())
                    self._keeper.take([*self._alerts(), *_decided(decisions)], now())
                    self._keeper.look(now())
                    self._stop.wait(max(0.0, due_s - time.monotonic()))
        except BaseException as error:
            self._error = error
        finally:
            collector.close()
            loop.close()

    def _alerts(self) -> Iterator[Record]:
        said, self._said[:] = list(self._said), []
        for one in said:
            if one.topic != topics.METRICS:
                continue
            record = msgspec.json.decode(one.value, type=MetricsRecord | HeartbeatRecord)
            if isinstance(record, HeartbeatRecord):
                continue
            self._offset += 1
            memory = self._brokers.setdefault(record.broker, BrokerMemory(cluster=CLUSTER, broker=record.broker))
            sample = Sample(record, Origin(topics.METRICS, 0, self._offset, record.timestamp_ms))
            for alert in machine.advance(memory, sample, now(), self._own.detect).alerts:
                yield topics.ALERTS, alert.alert_id.encode(), msgspec.json.encode(alert), alert.at_ms

    def _facts(self, cluster: str) -> ClusterSnapshot:
        found = live_cluster.facts_of(cluster, live_cluster.seen(self._own.clusters[cluster], self._own), self._own, {})
        directories = {place: self._judged(directory) for place, directory in found.directories.items()}
        return replace(found, directories=directories)

    def _judged(self, directory: LogDir) -> LogDir:
        """A directory with what the state machine knows of it, as the tables have it."""
        memory = self._brokers.get(directory.broker)
        known = None if memory is None else memory.log_dirs.get(directory.path)
        if known is None:
            return directory
        return replace(directory, status=known.status, cause=known.cause, growth_bytes_per_s=known.growth_bytes_per_s)

    def _publish(self, actions: Sequence[ActionRecord]) -> None:
        send_records(self._own, topics.ACTIONS, *actions)


def _decided(decisions: KafkaConsumer) -> Iterator[Record]:
    for records in decisions.poll(timeout_ms=50).values():
        yield from ((one.topic, one.key, one.value, one.timestamp) for one in records)
