"""The monitored cluster: brokers with disks that fill, fail and hang, what is true of them, and what they answer."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from kafka.errors import KafkaConnectionError

from logdirwatch.collect.kafka.answers import LogDirAnswer, LogDirsAnswer, Node, Topology
from logdirwatch.collect.kafka.connections import Address
from logdirwatch.collect.kafka.log_dir_usage import DirUsage
from logdirwatch.model.vocabulary import KAFKA_STORAGE_ERROR, PollStatus
from tests.simulation.clock import Scheduler

CLUSTER = "prod"
TOTAL_BYTES = 100 << 30
FENCED_AFTER_MS = 9_000
"""``broker.session.timeout.ms`` of Kafka: how long the controller waits for a broker's heartbeat."""
API_VERSIONS = {35: 5, 60: 2, 75: 0, 55: 2, 42: 2}
"""The requests that tell what a broker can report, as a release of Kafka 4.3 lists them."""
Place = tuple[int, str]


@dataclass
class Disk:
    """One log directory; it holds ``used_bytes``, which grow by ``rate`` bytes a second since ``at_ms``."""

    used_bytes: int
    rate: int = 0
    at_ms: int = 0
    is_failed: bool = False
    tells_no_size: bool = False

    def used_at(self, now_ms: int) -> int:
        """Return the bytes in use."""
        return max(0, min(TOTAL_BYTES, self.used_bytes + self.rate * (now_ms - self.at_ms) // 1000))

    def grow(self, now_ms: int, rate: int, used_bytes: int | None = None) -> None:
        """Let it grow by ``rate`` from now on, from ``used_bytes``."""
        self.used_bytes = self.used_at(now_ms) if used_bytes is None else used_bytes
        self.rate, self.at_ms = rate, now_ms


@dataclass
class Broker:
    """One broker: ``since_ms`` it is up, down or hung; it runs up and down while it is in a crash loop."""

    number: int
    disks: dict[str, Disk]
    state: str = "up"
    since_ms: int = 0

    def turn(self, state: str, now_ms: int) -> None:
        """Go up, go down, or hang."""
        if state != self.state:
            self.state, self.since_ms = state, now_ms

    @property
    def is_answering(self) -> bool:
        """Whether it answers at all."""
        return self.state == "up"


class Cluster:
    """The brokers, and the time."""

    def __init__(self, scheduler: Scheduler, brokers: Iterable[Broker]) -> None:
        self.scheduler = scheduler
        self.brokers = {broker.number: broker for broker in brokers}

    def usages(self) -> dict[Place, DirUsage]:
        """Return what a scan of the replicas finds; everything on a disk is Kafka's."""
        now_ms = self.scheduler.now_ms
        return {
            (broker.number, path): DirUsage(9, disk.used_at(now_ms), 0, 0, 0, 0, {})
            for broker in self.brokers.values()
            for path, disk in broker.disks.items()
        }

    def answer(self, number: int) -> LogDirsAnswer:
        """Return what a broker answers to DescribeLogDirs now."""
        broker = self.brokers[number]
        if not broker.is_answering:
            is_hung = broker.state == "hung"
            return LogDirsAnswer(*((PollStatus.TIMEOUT, "no answer") if is_hung else (PollStatus.ERROR, "refused")))
        return LogDirsAnswer(PollStatus.OK, None, tuple(self._answers(broker)))

    def _answers(self, broker: Broker) -> Iterator[LogDirAnswer]:
        now_ms = self.scheduler.now_ms
        for path, disk in broker.disks.items():
            if disk.is_failed:
                yield LogDirAnswer(path, KAFKA_STORAGE_ERROR)
            elif disk.tells_no_size:
                yield LogDirAnswer(path, 0)
            else:
                yield LogDirAnswer(path, 0, TOTAL_BYTES, TOTAL_BYTES - disk.used_at(now_ms), is_cordoned=False)


class FakeAdmin:
    """What the collector asks of the brokers (``collect.kafka.requests.Admin``), answered by the simulated cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def topology(self, candidates: Iterable[Address], now_ms: Callable[[], int]) -> Topology:
        """Return the registered brokers; raises KafkaError when none answers."""
        del candidates
        brokers = self._cluster.brokers.values()
        if not any(broker.is_answering for broker in brokers):
            raise KafkaConnectionError("no broker answers")
        true_ms = self._cluster.scheduler.now_ms
        nodes = {
            one.number: Node(
                one.number,
                f"host{one.number}",
                9092,
                is_fenced=one.state == "down" and true_ms - one.since_ms > FENCED_AFTER_MS,
            )
            for one in brokers
        }
        return Topology(nodes, lists_fenced=True, at_ms=now_ms())

    async def capacity(self, address: Address) -> LogDirsAnswer:
        """Return one broker's answer to DescribeLogDirs."""
        return self._cluster.answer(int(address.host.removeprefix("host")))

    def kafka_version(self, address: Address) -> str | None:
        """Return the release."""
        del address
        return "4.3"

    def api_versions(self, address: Address) -> dict[int, int]:
        """Return the requests that a broker supports."""
        del address
        return API_VERSIONS
