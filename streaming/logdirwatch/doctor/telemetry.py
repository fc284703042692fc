"""Checks of the telemetry topics: existence, settings, replication and permissions. Pure."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from logdirwatch.doctor.findings import Finding
from logdirwatch.kafka import telemetry_topics
from logdirwatch.kafka.telemetry_topics import Existing
from logdirwatch.model.topics import Topic
from logdirwatch.plan.commands.kafka_tools import Tools
from logdirwatch.settings import Settings

MIN_ISR = "min.insync.replicas"
NEEDED = ("DESCRIBE", "READ", "WRITE")
CREATE = "logdirwatch topics create"
QUOTED_TOPIC = '"$topic"'


@dataclass(frozen=True)
class TelemetryFacts:
    """The topics of the telemetry cluster.

    ``operations`` are those that the user may do, if the cluster reports them; ``hidden`` topics may not be described.
    """

    brokers: int
    existing: Mapping[str, Existing] = field(default_factory=dict)
    operations: Mapping[str, Sequence[str] | None] = field(default_factory=dict)
    hidden: Sequence[str] = ()
    no_configs: Sequence[str] = ()


def judge_topics(settings: Settings, facts: TelemetryFacts) -> Iterator[Finding]:
    """Judge partitions, retention and compaction against what ``topics create`` creates."""
    servers, factor = settings.telemetry.bootstrap_servers, settings.topics.replication_factor
    missing = [topic.name for topic in telemetry_topics.wanted(settings.topics) if _is_missing(topic, facts)]
    if missing:
        what = "does not exist" if len(missing) == 1 else "do not exist"
        yield Finding("topics", ", ".join(missing), what, f"create what is missing: {CREATE}")
    topics_of: dict[telemetry_topics.Difference, list[str]] = {}
    for topic in telemetry_topics.wanted(settings.topics):
        existing = facts.existing.get(topic.name)
        for difference in (
            telemetry_topics.differences(topic, existing, factor, servers, facts.brokers) if existing else ()
        ):
            topics_of.setdefault(difference, []).append(topic.name)
    # A difference that several topics share, such as the number of replicas, is one finding.
    for difference, names in topics_of.items():
        yield Finding("topics", ", ".join(names), difference.text, difference.command)


def _is_missing(topic: Topic, facts: TelemetryFacts) -> bool:
    return topic.name not in {*facts.existing, *facts.hidden, *facts.no_configs}


def judge_replication(settings: Settings, facts: TelemetryFacts) -> Iterator[Finding]:
    """Judge whether telemetry survives the loss of a broker, and whether it is writable meanwhile."""
    server = f"--bootstrap-server {shlex.quote(settings.telemetry.bootstrap_servers)}"
    single = [name for name, existing in facts.existing.items() if existing.replication_factor == 1]
    if single and facts.brokers > 1:
        yield Finding(
            "replication",
            ", ".join(single),
            f"one replica on a cluster of {facts.brokers} brokers: its data is unavailable while that broker is down",
            f"set topics.replication_factor to {min(3, facts.brokers)} before topics are created; "
            "add replicas to existing ones with kafka-reassign-partitions.sh, see docs/doctor.md",
        )
    blocking: dict[tuple[int, int], list[str]] = {}
    for name, existing in facts.existing.items():
        replicas, text = existing.replication_factor, existing.configs.get(MIN_ISR)
        min_isr = int(text) if text and text.isdecimal() else 1
        if min_isr >= replicas > 1 or min_isr > replicas:
            blocking.setdefault((min_isr, replicas), []).append(name)
    for (min_isr, replicas), names in blocking.items():
        what = "no writes are possible" if min_isr > replicas else "no writes are possible while one broker is down"
        of = f"{replicas} replica{'' if replicas == 1 else 's'}"
        remedy = _min_isr_command(server, names, max(1, replicas - 1))
        yield Finding("replication", ", ".join(names), f"{MIN_ISR} {min_isr} with {of}: {what}", remedy)


def _min_isr_command(server: str, names: Sequence[str], min_isr: int) -> str:
    one = f"kafka-configs.sh {server} --alter --entity-type topics --entity-name {{}} --add-config {MIN_ISR}={min_isr}"
    if len(names) == 1:
        return one.format(names[0])
    return f"for topic in {' '.join(names)}; do {one.format(QUOTED_TOPIC)}; done"


def judge_permissions(facts: TelemetryFacts, tools: Tools, principal: str | None) -> Iterator[Finding]:
    """Judge whether the user of the telemetry cluster may read, write and describe every topic."""
    for name in facts.hidden:
        yield _lacking(name, ["DESCRIBE", "READ", "WRITE", "DESCRIBE_CONFIGS"], tools, principal)
    for name, allowed in facts.operations.items():
        lacking = [] if allowed is None else [operation for operation in NEEDED if operation not in allowed]
        lacking += ["DESCRIBE_CONFIGS"] if name in facts.no_configs else []
        if lacking:
            yield _lacking(name, lacking, tools, principal)


def _lacking(name: str, operations: Sequence[str], tools: Tools, principal: str | None) -> Finding:
    words = [_spelled(operation) for operation in operations]
    return Finding(
        "permissions",
        f"telemetry topic {name}",
        f"{principal or 'its user'} lacks the ACL {', '.join(words)} on topic {name}",
        tools.allow(words, ["--topic", name], principal),
    )


def _spelled(operation: str) -> str:
    return "".join(word.capitalize() for word in operation.split("_"))
