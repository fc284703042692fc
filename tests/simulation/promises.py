"""What is promised, as data: how long something may be so before people are told, and after it is over.

Each entry has its sentence in docs/reliability.md ("What is promised, in one table"), which a test holds to this one.
"""

from dataclasses import dataclass

from logdirwatch.model.vocabulary import LogDirStatus, Rule
from logdirwatch.notify.heartbeats import GATHER_MS
from tests.simulation.notifier import SETTINGS
from tests.simulation.stream import DETECT, FLEET, KINDS
from tests.simulation.topics import IDLE_MS

SLACK_MS = 3 * IDLE_MS
"""What the simulation itself takes: the steps of its loops, and the answers of receivers."""
BATCHES_MS = sum(kind.trigger_ms for kind in KINDS)
SENT_MS = SETTINGS.group_wait_ms + SLACK_MS
"""From a record on the alert topic to a message, if none was sent within ``AGAIN_MS``."""
AGAIN_MS = SETTINGS.group_interval_ms + SENT_MS
SWITCH_MS = SETTINGS.heartbeat.timeout_ms + GATHER_MS + SETTINGS.group_wait_ms + SLACK_MS
"""From the last heartbeat to the page of the dead man's switch."""


@dataclass(frozen=True)
class Promise:
    """One sentence about what is true of a directory or a broker: ``rules`` tell of it.

    On the alert topic after ``polls`` rounds of the collectors and ``wait_ms``, in a message ``SENT_MS`` later; and if
    a part of the service is down meanwhile, a message that it is after ``SWITCH_MS``. It is over as soon.
    """

    sentence: str
    rules: tuple[Rule, ...]
    polls: float
    wait_ms: int
    over_ms: int = 0

    def on_topic_ms(self, interval_ms: int) -> int:
        """Return how long it may be so before an alert fires."""
        return round(self.polls * interval_ms) + self.wait_ms + BATCHES_MS

    def over_after_ms(self, interval_ms: int) -> int:
        """Return how long an alert may fire after it is over."""
        return round(self.polls * interval_ms) + self.over_ms + BATCHES_MS


AWAY = (Rule.BROKER_OFFLINE, Rule.BROKER_UNKNOWN)
PROMISES = {
    "offline": Promise(
        "A directory that fails is told with the next poll.",
        (Rule.LOG_DIR_OFFLINE, Rule.LOG_DIR_SUSPECT),
        2,
        1_000,
        DETECT.flapping_hold_ms,
    ),
    "space": Promise(
        "A directory that is filling, critical or saturated is told after two polls in a row.",
        (Rule.LOG_DIR_SPACE, Rule.LOG_DIR_OFFLINE),
        DETECT.debounce_samples + 1,
        1_000,
        DETECT.flapping_hold_ms,
    ),
    "unknown": Promise(
        "A directory whose size is not told any more is told to be unknown, never to be healthy.",
        (Rule.LOG_DIR_UNKNOWN, Rule.LOG_DIR_SUSPECT, Rule.LOG_DIR_OFFLINE),
        2,
        1_000,
        DETECT.flapping_hold_ms,
    ),
    "broker": Promise(
        "A broker that does not answer is told after three polls, one that the controller fences after its grace.",
        AWAY,
        DETECT.failure_polls + 1,
        DETECT.broker_offline_grace_ms + FLEET.silence_gather_ms,
        DETECT.flapping_hold_ms,
    ),
    "unwatched": Promise(
        "A broker that no collector reports is told to be unknown after three polls.",
        AWAY,
        3 + 1,
        DETECT.silence_min_ms + FLEET.silence_gather_ms + FLEET.silence_gather_ms,
        DETECT.flapping_hold_ms,
    ),
}
PROMISES["silent"] = PROMISES["unwatched"]
LEVELS = {0.75: LogDirStatus.FILLING, 0.85: LogDirStatus.CRITICAL, 0.95: LogDirStatus.SATURATED}

OTHER_RULES = {
    Rule.HEARTBEAT,
    Rule.BROKER_CRASH_LOOP,
    Rule.FLEET_SPACE,
    Rule.LOG_DIR_CHANGED,
    Rule.LOG_DIR_IMBALANCE,
    Rule.UNACCOUNTED_BYTES,
    Rule.PIPELINE_LAGGING,
    Rule.PIPELINE_REJECTS,
    Rule.PIPELINE_DATA_LOSS,
}
"""Rules that may fire besides: what they say is about past absences, shares, changes and the service itself."""
