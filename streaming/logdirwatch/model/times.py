"""The one policy for times: evidence is ordered by its arrival, and waiting follows no clock that can be set.

- **Evidence** has the time that its writer gives, as long as that time advances as records arrive. When the writer's
  clock was set, ``WriterClock`` shifts its times, so that evidence goes on from what is known (``evidence_ms``).
- **Figures**, such as the time in a table or in a heartbeat, are the writer's, unless Kafka's time of the record shows
  that they are in the future (``effective_ms``).
- **Waiting**, such as for a pause or a deadline, measures ``time.monotonic()``. A test over the source tree forbids the
  wall clock there.
"""

from typing import NamedTuple

from msgspec import Struct

WEEK_HOURS = 7 * 24
"""How far the use of a directory is foreseen; it is compared with that of as long before."""
LEAD_MS = 2_000
"""How long before the multiples of an interval periodic work begins."""
GAP_POLLS = 3
"""After this many intervals without a record, the next one is not the successor of the last."""
LEAST_STEP_MS = 5
"""Polls whose time advances by less stand still: 0.2.0 raised it by 1 ms after its clock was set back."""
_SLEW = 8
"""The part of a step by which evidence that is ahead of every clock falls back."""


def until_round_ms(now_ms: int, interval_ms: int) -> int:
    """Return how long after ``now_ms`` (UTC) work that is done every ``interval_ms`` begins next: at least 1 ms.

    The rounds of all processes begin at the same moments. What they write arrives together, so the stream runs one
    batch for it instead of several. The moments are shortly before the multiples of the interval, at which Spark
    triggers ``fleet`` and ``store``: these read what ``detect`` wrote about the same round.
    """
    return interval_ms - (now_ms + LEAD_MS) % interval_ms


def effective_ms(timestamp_ms: int, kafka_timestamp_ms: int, skew_ms: int) -> tuple[int, bool]:
    """Return the time of a record as a figure, and whether its own clock was too far ahead.

    Without Kafka's time (-1) that cannot be judged.
    """
    if 0 <= kafka_timestamp_ms < timestamp_ms - skew_ms:
        return kafka_timestamp_ms, True
    return timestamp_ms, False


class Arrival(NamedTuple):
    """When a record arrived: Kafka's time of it, -1 for none, and the time of the batch that read it.

    Kafka's time is the leader's with ``message.timestamp.type=LogAppendTime``, and the producer's with ``CreateTime``.
    Either may be wrong, and neither is used while the writer's own times advance.
    """

    kafka_ms: int
    batch_ms: int

    @property
    def earliest_ms(self) -> int:
        """The earlier of both times."""
        return self.batch_ms if self.kafka_ms < 0 else min(self.kafka_ms, self.batch_ms)

    @property
    def latest_ms(self) -> int:
        """The later of both times."""
        return max(self.kafka_ms, self.batch_ms)


class Known(NamedTuple):
    """The evidence before a record: the last of its writer, the newest of all, and the batch that brought it.

    A record is newer than its writer's last one if its time advanced by ``least_ms``.
    """

    last_ms: int | None
    newest_ms: int
    heard_ms: int
    interval_ms: int
    least_ms: int
    skew_ms: int


class WriterClock(Struct, kw_only=True, omit_defaults=True):
    """What is added to the times of one writer, because its clock was set; 0 while its clock is right.

    ``stalled`` is set while its records are not newer than what is known: the batch time of the first of them, and the
    time that its writer gave.
    """

    shift_ms: int = 0
    stalled: tuple[int, int] | None = None

    def evidence_ms(self, written_ms: int, arrival: Arrival, known: Known) -> int | None:
        """Return the time of a record as evidence; None if it is not newer than what is known.

        A record that was sent twice is not newer, so one older record proves no wrong clock. A writer whose records
        keep arriving at the pace of its own clock is believed after one interval.
        """
        at_ms = written_ms + self.shift_ms
        is_right = known.newest_ms < written_ms <= arrival.earliest_ms + known.skew_ms
        if is_right and (self.shift_ms or known.last_ms is None):
            return self._follow(written_ms, written_ms)
        step_ms = None if known.last_ms is None else at_ms - known.last_ms
        is_jump = step_ms is None or step_ms > GAP_POLLS * known.interval_ms
        is_ahead = is_jump and at_ms > arrival.earliest_ms + known.skew_ms
        if not is_ahead and self._is_newer(at_ms, step_ms, known):
            return self._follow(written_ms, self._slewed(at_ms, step_ms, arrival, known))
        if is_ahead or self._goes_on(written_ms, step_ms, arrival, known):
            return self._follow(written_ms, _resumed_ms(arrival, known))
        return None

    def _is_newer(self, at_ms: int, step_ms: int | None, known: Known) -> bool:
        is_late = at_ms < known.newest_ms - max(GAP_POLLS * known.interval_ms, known.skew_ms)
        return not is_late and (step_ms is None or step_ms >= known.least_ms)

    def _goes_on(self, written_ms: int, step_ms: int | None, arrival: Arrival, known: Known) -> bool:
        """Tell whether records that are not newer have come for an interval, one at a time as they are written.

        Those that a producer sends twice, or that a collector kept while the telemetry cluster was away, come together.
        """
        began_ms, from_ms = self.stalled or (arrival.batch_ms, written_ms)
        waited_ms, written_in_ms = arrival.batch_ms - began_ms, written_ms - from_ms
        is_burst = written_in_ms > 2 * max(waited_ms, known.interval_ms)
        if self.stalled is None or waited_ms < 0 or is_burst:
            self.stalled = arrival.batch_ms, written_ms
            return False
        return step_ms != 0 and waited_ms * 4 >= known.interval_ms * 3

    def _slewed(self, at_ms: int, step_ms: int | None, arrival: Arrival, known: Known) -> int:
        """Let evidence that is ahead of Kafka's and the stream's clock fall back, without a step."""
        if step_ms is None or at_ms <= arrival.latest_ms + known.skew_ms:
            return at_ms
        return at_ms - step_ms // _SLEW

    def _follow(self, written_ms: int, at_ms: int) -> int:
        self.shift_ms, self.stalled = at_ms - written_ms, None
        return at_ms


def _resumed_ms(arrival: Arrival, known: Known) -> int:
    """Return the time of evidence whose writer's clock says nothing: when it arrived.

    Where Kafka's time is the producer's too, that is as long after the newest evidence as the stream waited for it, and
    not in the stream's future.
    """
    if known.newest_ms < arrival.kafka_ms <= arrival.batch_ms + known.skew_ms:
        return arrival.kafka_ms
    if not known.newest_ms:
        return arrival.earliest_ms
    waited_ms = arrival.batch_ms - known.heard_ms
    resumed_ms = known.newest_ms + (waited_ms if waited_ms > 0 else known.interval_ms)
    return max(known.newest_ms + LEAST_STEP_MS, min(resumed_ms, arrival.batch_ms))
