"""``delete_records``: delete records of a topic once, which cannot be undone.

``DeleteRecords`` moves the start of a log; whole segments before it are deleted at the next retention check, the active
segment never (Kafka 4.3.1 ``UnifiedLog.deletableSegments``; KIP-107). It changes no configuration. Kafka takes the
request wherever the cleanup policy contains ``delete`` (``deleteRecordsOnLeader``); where it also contains ``compact``,
the last value of every key that was not written since is deleted too, which only a person can decide (KIP-71).
"""

import math
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind, LogDirStatus
from logdirwatch.plan.actions.action_type import ActionType, FixRole, frees_as_much
from logdirwatch.plan.actions.parts import bytes_at, frees
from logdirwatch.plan.actions.progress import Progress, directory_of, in_one_step
from logdirwatch.plan.capacity.timing import in_time, place_target
from logdirwatch.plan.cluster.layout import LogDirId, Replica, Topic
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.kafka_tools import Tools
from logdirwatch.plan.proposal import NAMED, Policy, Precondition, ProposedAction, Veto, owner_of, vetoes_of
from logdirwatch.plan.retention import retention_vetoes
from logdirwatch.plan.retention.cut_conditions import consumers_done, is_moved, keeps_too_little, last_values
from logdirwatch.plan.retention.limits import (
    RETENTION_MS,
    effective_after_ms,
    fastest,
    floor_of_replica,
    freed_bytes,
    segment_bytes,
    wanted_ms,
)
from logdirwatch.plan.retention.overdue import is_reached
from logdirwatch.plan.retention.planner import all_replicas, by_topic
from logdirwatch.text.units import human_bytes, human_ms, human_ratio
from logdirwatch.text.words import some_of

OFFSETS = "kafka-get-offsets"
DELETE_RECORDS = "kafka-delete-records"
_PERCENT = 100
_PLAIN_NAME = re.compile(r"[a-zA-Z0-9._-]+")
"""What Kafka allows in a topic's name (``Topic.LEGAL_CHARS``): nothing that a pattern or awk reads, but the dot."""


def propose_deletion(
    source: LogDir, snapshot: ClusterSnapshot, policy: Policy, needed: int, cut: set[str]
) -> list[ProposedAction]:
    """Return the deletion of records of the topic that frees most and that no retention cut (``cut``) reaches."""
    here = by_topic(replica for replica in snapshot.replicas_in(source.place) if is_reached(replica, snapshot))
    topics = (snapshot.topics[name] for name in here if name in snapshot.topics and name not in cut)
    gains = {
        t.name: _gain(t, here[t.name], _most_percent(t, snapshot, policy), snapshot)
        for t in topics
        if _may_lose(t, snapshot, policy)
    }
    # Topics without vetoes come first, however much a compacted topic would free.
    names = sorted(gains, key=lambda name: (not snapshot.topics[name].is_compacted, gains[name], name), reverse=True)
    name = next((name for name in names if gains[name] > 0), None)
    if name is None:
        return []
    topic, wanted = snapshot.topics[name], min(needed, gains[name])
    # Only whole segments are deleted, so what is freed grows in steps: the first percentage that reaches it loses
    # least.
    percent = next(p for p in range(1, _PERCENT + 1) if _gain(topic, here[name], p, snapshot) >= wanted)
    return [_delete_records(topic, percent, source, snapshot, policy)]


def _most_percent(topic: Topic, snapshot: ClusterSnapshot, policy: Policy) -> int:
    """Return how much of a topic may be deleted: unread records of consumer groups and a minimum of history stay."""
    wanted, age = wanted_ms(topic, policy), topic.configs.get(RETENTION_MS)
    sized = [(r, r.size_bytes) for r in all_replicas(topic, snapshot) if r.size_bytes]
    kept = max((floor_of_replica(replica, age, wanted, snapshot) / size for replica, size in sized), default=0.0)
    stays = max(kept, _unread_ratio(topic) if policy.limits.spare_unread else 0.0)
    return max(0, _PERCENT - math.ceil(stays * _PERCENT))


def _unread_ratio(topic: Topic) -> float:
    return max((partition.unread_ratio or 0.0 for partition in topic.partitions), default=0.0)


def _history_stays(topic: Topic, snapshot: ClusterSnapshot, policy: Policy) -> Precondition:
    held = [replica for replica in all_replicas(topic, snapshot) if replica.size_bytes]
    text = f"the last {human_ms(wanted_ms(topic, policy))} of {topic.name} stay"
    if fastest(held, topic.configs.get(RETENTION_MS), snapshot) is not None:
        return Precondition("min_retention", text, True)
    return Precondition("min_retention", f"{text}: not known, nor how fast it is written; half of it stays", None)


def _delete_records(
    topic: Topic, percent: int, source: LogDir, snapshot: ClusterSnapshot, policy: Policy
) -> ProposedAction:
    # Followers delete what their leaders delete; nothing is deleted where a directory does not serve.
    gained: Counter[LogDirId] = Counter()
    for replica in all_replicas(topic, snapshot):
        directory = snapshot.directories.get(replica.place)
        if directory is not None and directory.is_serving and is_reached(replica, snapshot):
            gained[replica.place] += _freed(topic, replica, percent, snapshot)
    freed, needs = gained[source.place], effective_after_ms(topic, snapshot)
    is_spared = percent <= _PERCENT - math.ceil(_unread_ratio(topic) * _PERCENT)
    return ProposedAction(
        kind=ActionKind.DELETE_RECORDS,
        target={**place_target(source), "topic": topic.name},
        reason=f"delete the oldest {human_ratio(percent / 100, 0)} of the records of {topic.name}: frees about "
        f"{human_bytes(freed)} in {source.path}, once and without touching its configuration",
        expected=frees(
            source,
            freed,
            needs_ms=needs,
            on=bytes_at({place: size for place, size in gained.items() if size > 0}),
            topic_bytes_before=snapshot.layout.topic_bytes(source.place, topic.name),
            deletes_percent=percent,
            is_estimate=True,
        ),
        preconditions=(
            in_time(source, needs),
            consumers_done(topic, snapshot, spared=is_spared),
            _history_stays(topic, snapshot, policy),
            *last_values(topic),
            Precondition("owner_agrees", f"{owner_of(topic.name, policy)} agrees to lose it", None),
            Precondition(
                "records_alike", f"old and new records of {topic.name} are about as large, and as dense", None
            ),
        ),
        vetoes=(
            *_against(topic, source),
            *vetoes_of(retention_vetoes.unread_goes(topic, snapshot, is_spared=is_spared)),
        ),
        commands=(_delete_oldest(policy.tools, topic.name, percent),),
        undo={"text": "deleted records cannot be restored"},
        data_loss=True,
    )


def _may_lose(topic: Topic, snapshot: ClusterSnapshot, policy: Policy) -> bool:
    """Tell whether records of a topic may be deleted, and the command can name it."""
    if topic.name in snapshot.decisions.cutting or snapshot.leaves_alone(topic):
        return False
    if retention_vetoes.only_by_limits(topic, policy) is not None:
        return False
    against = retention_vetoes.against_loss(topic, all_replicas(topic, snapshot), snapshot, policy)
    return next(against, None) is None and _PLAIN_NAME.fullmatch(topic.name) is not None


def _against(topic: Topic, source: LogDir) -> Iterator[Veto]:
    # Moving the log start offset deletes no segment of a saturated directory (KIP-928).
    if not source.is_serving or source.status is LogDirStatus.SATURATED:
        text = f"deleting records frees nothing in {source.path}: it is {source.status}"
        yield Veto("delete_records_frees_nothing", text)
    # Only the leader takes the request (KIP-107).
    if without := [partition.label for partition in topic.partitions if partition.leader is None]:
        yield Veto("leaders_missing", f"{some_of(without, NAMED)} has no leader to ask")


def _gain(topic: Topic, replicas: Iterable[Replica], percent: int, snapshot: ClusterSnapshot) -> int:
    return sum(_freed(topic, replica, percent, snapshot) for replica in replicas)


def _freed(topic: Topic, replica: Replica, percent: int, snapshot: ClusterSnapshot) -> int:
    size = replica.size_bytes or 0
    deleted = freed_bytes(size, size * (_PERCENT - percent) // _PERCENT, segment_bytes(topic))
    return snapshot.on_disk_bytes(replica.place, deleted)


def _delete_oldest(tools: Tools, topic: str, percent: int) -> str:
    """Return the command that deletes a share of each partition's offsets.

    It queries the first and last offset. ``kafka-get-offsets`` takes a pattern, so the dots in a name are escaped; it
    prints ``topic:partition:offset``.
    """
    # With an equals sign, as a topic's name may begin with a dash.
    pattern = "--topic=" + topic.replace(".", "\\.")
    # ListOffsets takes -2 for the earliest offset and -1 for the next one to be written.
    earliest = tools.call(OFFSETS, pattern, "--time", "-2")
    latest = tools.call(OFFSETS, pattern, "--time", "-1")
    # %.0f, since %d of mawk ends at 2147483647.
    script = (
        'BEGIN { FS = ":"; printf "{\\"version\\":1,\\"partitions\\":[" } '
        "!($2 in first) { first[$2] = $3; next } "
        '{ printf "%s{\\"topic\\":\\"%s\\",\\"partition\\":%s,\\"offset\\":%.0f}", sep, $1, $2, '
        f'first[$2] + int(($3 - first[$2]) * {percent} / 100); sep = "," }} '
        'END { print "]}" }'
    )
    run = tools.call(DELETE_RECORDS, "--offset-json-file", "/dev/stdin")
    return f"{{ {earliest} && {latest}; }} | awk {shlex.quote(script)} | {run}"


def _progress(action: ActionRecord, snapshot: ClusterSnapshot) -> Progress | None:
    topic, directory = str(action.target["topic"]), directory_of(action, snapshot)
    if directory is None or topic not in snapshot.topics:
        return None
    freed = action.expected["topic_bytes_before"] - snapshot.layout.topic_bytes(directory.place, topic)
    # Half of it counts: the estimate is rough, and the topic is written meanwhile.
    return in_one_step(bool(freed * 2 >= action.expected["frees_bytes"]), snapshot)


ACTION_TYPE = ActionType(
    kind=ActionKind.DELETE_RECORDS,
    fix_role=FixRole.MAKES_ROOM_WITH_LOSS,
    progress=_progress,
    covers=frees_as_much,
    reasons_against=keeps_too_little,
    live_check=is_moved,
    changes_declared=False,
)
