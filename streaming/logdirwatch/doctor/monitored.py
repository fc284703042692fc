"""Checks of a monitored cluster: every broker answers, permissions, clocks, and known bugs of Kafka. Pure."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from logdirwatch.collect.exporter.mbeans import never_counts_offline_replicas
from logdirwatch.collect.kafka.answers import with_acl
from logdirwatch.collect.kafka.live import LiveCluster
from logdirwatch.collect.kafka.log_dir_usage import CapacityOf
from logdirwatch.config.servers import authority
from logdirwatch.doctor.findings import Finding
from logdirwatch.model.capabilities import HIDES_LOG_DIRS, OLDEST_KAFKA, SEVERAL_DIRECTORIES_SINCE, is_too_old
from logdirwatch.model.vocabulary import MetadataMode, NotReported, PollStatus
from logdirwatch.plan.cluster import cordons as versions
from logdirwatch.plan.commands.kafka_tools import Tools
from logdirwatch.report.not_reported import notice
from logdirwatch.text.units import human_ms
from logdirwatch.text.words import counted, some_of

ASKED = (PollStatus.OK, PollStatus.UNAUTHORIZED)
"""The poll statuses of a broker that answers."""


@dataclass(frozen=True)
class ClusterFacts:
    """The answers of a monitored cluster, and the releases that its brokers' API versions indicate."""

    name: str
    seen: LiveCluster
    kafka_versions: Mapping[int, str | None]
    metadata_version: str | None
    metadata_mode: MetadataMode | None = None
    not_reported: frozenset[str] = frozenset()

    @property
    def is_zookeeper(self) -> bool:
        """Whether the cluster keeps its metadata in ZooKeeper."""
        return self.metadata_mode is MetadataMode.ZOOKEEPER


def judge_brokers(facts: ClusterFacts) -> Iterator[Finding]:
    """Judge whether each broker answers: the collector asks every one."""
    for number, answer in facts.seen.log_dirs.items():
        node = facts.seen.nodes[number]
        if answer.status in ASKED or answer.error == HIDES_LOG_DIRS:
            continue
        if node.is_fenced:
            what, remedy = "is fenced and does not answer", "start it; or unregister it if it was removed"
        else:
            what = f"does not answer at {authority(node.host, node.port)}: {answer.error}"
            remedy = (
                "make that address reachable from this machine (DNS, firewall), or correct the broker's "
                "advertised.listeners; every broker is asked directly"
            )
        yield Finding("connectivity", f"cluster {facts.name}, broker {number}", what, remedy)


def judge_releases(facts: ClusterFacts) -> Iterator[Finding]:
    """Judge whether each broker runs a Kafka that can be watched."""
    if hiding := [number for number, answer in facts.seen.log_dirs.items() if answer.error == HIDES_LOG_DIRS]:
        yield Finding(
            "kafka_release",
            f"cluster {facts.name}, {_brokers(hiding)}",
            HIDES_LOG_DIRS,
            f"take {facts.name} out of clusters, and watch its storage with its provider: there are no disks to watch",
        )
    old = [number for number, version in facts.kafka_versions.items() if is_too_old(version)]
    if old:
        yield Finding(
            "kafka_release",
            f"cluster {facts.name}",
            f"Kafka {facts.kafka_versions[old[0]]} of {_brokers(old)} is too old: {OLDEST_KAFKA} is the oldest that "
            "logdirwatch watches",
            f"upgrade to {OLDEST_KAFKA} or later",
        )


def judge_permissions(facts: ClusterFacts, tools: Tools, principal: str | None) -> Iterator[Finding]:
    """Judge whether the collector's user has the permissions it needs."""
    seen, who = facts.seen, principal or "the collector's user"
    refused = [number for number, answer in seen.log_dirs.items() if answer.status is PollStatus.UNAUTHORIZED]
    if refused:
        yield Finding(
            "permissions",
            f"cluster {facts.name}",
            f"{who} lacks the ACL Describe on the cluster: {_brokers(refused)} do not return their log directories",
            tools.allow(["Describe"], ["--cluster"], principal),
        )
    reticent = [number for number, answer in seen.log_dirs.items() if _hides_configs(seen, number, answer.status)]
    if reticent:
        yield Finding(
            "permissions",
            f"cluster {facts.name}",
            f"{who} lacks the ACL DescribeConfigs on the cluster: {_brokers(reticent)} do not return their config",
            tools.allow(["DescribeConfigs"], ["--cluster"], principal),
        )
    if "GroupAuthorizationFailed" in seen.unknown.get("consumer groups", ""):
        yield Finding(
            "permissions",
            f"cluster {facts.name}",
            f"{who} lacks the ACL Describe on consumer groups: their unread records are unknown, so no action can "
            "preserve them",
            tools.allow(["Describe"], ["--group", "*"], principal),
        )
    yield from _topics(facts, tools, principal)


def _hides_configs(seen: LiveCluster, broker: int, status: PollStatus) -> bool:
    return status in ASKED and broker not in seen.broker_configs and f"configs of broker {broker}" not in seen.unknown


def _topics(facts: ClusterFacts, tools: Tools, principal: str | None) -> Iterator[Finding]:
    seen, who = facts.seen, principal or "the collector's user"
    if hidden := sorted(seen.hidden_topics):
        yield Finding(
            "permissions",
            f"cluster {facts.name}",
            f"{who} lacks the ACL Describe on {counted(len(hidden), 'topic', 'topics')} on the "
            f"disks, such as {hidden[0]}",
            tools.allow(["Describe", "DescribeConfigs"], ["--topic", "*"], principal),
        )
    if untold := sorted(name for name, error in seen.topic_configs.failed.items() if "AuthorizationFailed" in error):
        yield Finding(
            "permissions",
            f"cluster {facts.name}",
            f"{who} lacks the ACL DescribeConfigs on {counted(len(untold), 'topic')}, such as {untold[0]}",
            tools.allow(["DescribeConfigs"], ["--topic", "*"], principal),
        )


def not_told(facts: ClusterFacts) -> Iterator[str]:
    """Yield the requests that failed and have no finding, with the errors: the permissions for them are unknown."""
    by_error: dict[str, list[str]] = defaultdict(list)
    for what, error in _not_asked(facts.seen):
        by_error[with_acl(what, error)].append(what)
    for error, kinds in by_error.items():
        yield f"cluster {facts.name} does not return {some_of(kinds)}: {error}"


def _not_asked(seen: LiveCluster) -> Iterator[tuple[str, str]]:
    statuses = {number: answer.status for number, answer in seen.log_dirs.items()}
    silent = {f"configs of broker {number}" for number, status in statuses.items() if status not in ASKED}
    for what, error in seen.unknown.items():
        is_refused = "ClusterAuthorizationFailed" in error and PollStatus.UNAUTHORIZED in statuses.values()
        if what not in silent and not is_refused and "GroupAuthorizationFailed" not in error:
            yield what, error
    for topic, error in seen.topic_configs.failed.items():
        if "AuthorizationFailed" not in error and "UnknownTopicOrPartition" not in error:
            yield f"configs of topic {topic}", error


def judge_metadata_version(facts: ClusterFacts, tools: Tools) -> Iterator[Finding]:
    """Judge whether the finalized ``metadata.version`` supports several log directories per broker."""
    several = [number for number, answer in facts.seen.log_dirs.items() if len(answer.log_dirs) > 1]
    if several and versions.at_least(facts.metadata_version, SEVERAL_DIRECTORIES_SINCE) is False:
        yield Finding(
            "metadata_version",
            f"cluster {facts.name}",
            f"metadata.version is {facts.metadata_version} and {_brokers(several)} have several log directories: below "
            f"{SEVERAL_DIRECTORIES_SINCE} a failing one can make partitions unavailable permanently (KAFKA-16606)",
            f"upgrade brokers to 3.9 or later, then: {tools.call('kafka-features', 'upgrade', '--metadata', '3.9')} "
            "(this cannot be undone)",
        )


def judge_offline_replica_count(facts: ClusterFacts) -> Iterator[Finding]:
    """Judge whether the gauge OfflineReplicaCount is broken."""
    broken = [number for number, version in facts.kafka_versions.items() if never_counts_offline_replicas(version)]
    if broken:
        yield Finding(
            "offline_replica_count",
            f"cluster {facts.name}",
            f"OfflineReplicaCount of {_brokers(broken)} is always 0: from 3.7 to 4.2 the gauge never counts",
            "remove it from your dashboards and alerts and use logdirwatch's counts, or upgrade the brokers to 4.3; "
            "then use --ignore offline_replica_count",
        )


def notices(facts: ClusterFacts, capacity_of: CapacityOf) -> Iterator[Finding]:
    """Yield what the cluster's release cannot report; the host source, which may know sizes, is not asked here.

    That no broker reports log directories is a finding.
    """
    if NotReported.LOG_DIRS in facts.not_reported:
        return
    sizes = [
        log_dir.total_bytes or capacity_of(broker, log_dir.path)
        for broker, answer in facts.seen.log_dirs.items()
        for log_dir in answer.log_dirs
    ]
    is_size_known = bool(sizes) and None not in sizes
    releases = facts.kafka_versions.values()
    told = notice(facts.name, facts.metadata_mode, releases, facts.not_reported, is_size_known=is_size_known)
    if told is not None:
        yield Finding("notice", f"cluster {facts.name}", told.text, told.remedy)


def _brokers(numbers: list[int]) -> str:
    return f"broker{'s' if len(numbers) > 1 else ''} {some_of(sorted(numbers))}"


MOST_APART_MS = 5_000
"""Synchronized clocks differ by milliseconds; ages of samples and ends of silences depend on clocks."""


class Clock(NamedTuple):
    """A cluster's time (its active controller's) and this machine's before the request and after the answer."""

    where: str
    asked_ms: int
    answered_ms: int
    theirs_ms: int


def judge_clock(clock: Clock) -> Iterator[Finding]:
    """Judge a clock; the time that the answer took is not counted against it."""
    apart_ms = max(clock.asked_ms - clock.theirs_ms, clock.theirs_ms - clock.answered_ms, 0)
    if apart_ms > MOST_APART_MS:
        word = "ahead of" if clock.theirs_ms > clock.answered_ms else "behind"
        yield Finding(
            "clocks",
            clock.where,
            f"its controller's clock is {human_ms(apart_ms)} {word} this machine's",
            "synchronize both clocks (chrony or another NTP client): chronyc tracking, timedatectl",
        )
