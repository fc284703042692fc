"""Partitions that the log cleaner gave up: fix the cause, then restart the broker so that it tries again (KIP-346)."""

import re
from dataclasses import replace
from typing import NamedTuple

from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.brokers import BrokerUncleanableEvidence
from logdirwatch.model.vocabulary import Cause
from logdirwatch.parse.broker_log.causes import cause_of
from logdirwatch.plan.actions.brokers.investigate import UNDER_REPLICATED, Runbook, describe_log_dirs
from logdirwatch.plan.actions.parts import host_notes
from logdirwatch.plan.actions.replicas.demote_leaders import demote, led_by
from logdirwatch.plan.proposal import ProposedAction
from logdirwatch.plan.responses.response import Response, Situation


class _Answer(NamedTuple):
    said: "re.Pattern[str] | Cause"
    why: str
    steps: tuple[str, ...]


_RESTART = "Then restart the broker, one broker at a time: only a restart lets the cleaner try again."
# SkimpyOffsetMap has 16 bytes of MD5 and 8 of the offset for each key.
_LARGER_BUFFER = (
    "kafka-configs.sh --alter --entity-type brokers --entity-name BROKER --add-config "
    "log.cleaner.dedupe.buffer.size=BYTES: 24 bytes a message of the largest segment, for each cleaner thread, divided "
    "by log.cleaner.io.buffer.load.factor; or give the topic a smaller segment.bytes."
)
_COPY_AGAIN = (
    "With another replica in sync and leading: stop the broker, move the partition's folder out of the log directory, "
    "and start it; the replica is copied again. Where all replicas have the same record, a newer release may help."
)
# The first that fits counts: the last pattern also matches the line about the offset map.
_ANSWERS = (
    _Answer(
        re.compile(r"offset map can fit only|messages in segment"),
        "its buffer is too small for one segment: raise log.cleaner.dedupe.buffer.size",
        (_LARGER_BUFFER, _RESTART),
    ),
    _Answer(
        # The cleaner writes new segments beside the old ones before it swaps them (Cleaner.cleanSegments).
        Cause.FULL,
        "it had no room for the cleaned copy: make room for two segments of the topic first",
        (_RESTART,),
    ),
    _Answer(
        Cause.LIMIT,
        "it ran into a limit of its process: raise that first",
        (_RESTART,),
    ),
    _Answer(
        re.compile(r"Corrupt|Invalid|IllegalState|producerId|[Oo]ffset|IndexOutOfBounds|BufferUnderflow"),
        "a record in this copy of the log cannot be cleaned: let it be copied again from another replica",
        (_COPY_AGAIN, _RESTART),
    ),
)
_UNKNOWN = _Answer(
    re.compile(""),
    "find out in log-cleaner.log what it met",
    ("grep -A 3 'as uncleanable' log-cleaner.log server.log", _RESTART),
)


def propose(situation: Situation) -> list[ProposedAction]:
    """Return the cleaner's error and the remedy; leaders move off a broken copy first."""
    alert, snapshot = situation.alert, situation.snapshot
    shown, broker = read_as(alert.evidence, BrokerUncleanableEvidence), alert.broker
    answer = next((answer for answer in _ANSWERS if _fits(answer.said, shown.detail)), _UNKNOWN)
    looked = situation.look_because(answer.why)
    found = replace(looked, commands=(*looked.commands, *host_notes(broker, *answer.steps)))
    if _COPY_AGAIN not in answer.steps or broker is None:
        return [found]
    led = led_by(broker, (p for p in snapshot.partitions.values() if p.label in shown.why), snapshot)
    why = "its copies cannot be cleaned and are to be copied again"
    return [found, *demote(broker, alert.log_dir, led, snapshot, situation.policy, why)]


def _fits(said: "re.Pattern[str] | Cause", detail: str | None) -> bool:
    if not detail:
        return False
    return cause_of(detail) is said if isinstance(said, Cause) else said.search(detail) is not None


RESPONSE = Response(
    runbook=Runbook(
        "partitions that the log cleaner gave up on grow until their broker restarts: fix the error that it met first",
        (UNDER_REPLICATED, describe_log_dirs),
    ),
    propose=propose,
    ends_when="the broker's gauge of uncleanable partitions is 0",
)
