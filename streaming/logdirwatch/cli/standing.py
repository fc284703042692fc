"""Whether an execution at a terminal may go on: the last word on its action, and the need for what deletes history."""

from collections.abc import Iterator
from contextlib import contextmanager

from kafka.errors import KafkaError

from logdirwatch.autopilot.feed import Feed
from logdirwatch.autopilot.standing import revoked
from logdirwatch.cli.context import Context
from logdirwatch.cli.executing import say
from logdirwatch.cli.reading.records import now_ms, telemetry
from logdirwatch.errors import UserError
from logdirwatch.execute.need import deletes_history
from logdirwatch.execute.ports import Halt, Hold
from logdirwatch.kafka import clients
from logdirwatch.model import topics
from logdirwatch.model.records import ActionRecord, ExecutionRecord
from logdirwatch.model.vocabulary import Decision


class Standing:
    """Reads decisions, and alerts where history is deleted, to their end before each look and call.

    A rejection ends what goes forward, whoever is at the terminal. Without a person there (``--yes``), so does the end
    of the acceptance or of the need.
    """

    def __init__(self, feed: Feed, action: ActionRecord, *, is_attended: bool) -> None:
        self._feed, self._action, self._is_attended = feed, action, is_attended
        self._is_away = False

    def __call__(self, record: ExecutionRecord) -> Halt | Hold | None:
        """Return why an execution must not continue; while the topics do not answer, nothing is called."""
        try:
            self._feed.catch_up()
        except (UserError, KafkaError):
            if not self._is_away:
                say("the telemetry topics do not answer: nothing is called until they do, what is copied goes on")
            self._is_away = True
            return Hold()
        self._is_away = False
        said = self._feed.said().get(record.action_id)
        is_word = said is not None and (said.decision is Decision.REJECT or not self._is_attended)
        reason = None if record.back or not is_word else revoked(said, record, now_ms())
        if reason is None and not self._is_attended:
            reason = self.without_need(record)
        return None if reason is None else Halt(reason)

    def without_need(self, record: ExecutionRecord) -> str | None:
        """Return why the need for what deletes history is not shown; None if it is, or nothing deletes any."""
        if not deletes_history(record):
            return None
        return self._feed.shown().reason_against(self._action.alert_id, record.cluster, now_ms())


@contextmanager
def standing(
    context: Context, record: ExecutionRecord, action: ActionRecord, *, is_attended: bool
) -> Iterator[Standing]:
    """Yield the permission of an execution, as of now; raises UserError when the topics do not answer."""
    names = [topics.DECISIONS, *([topics.ALERTS] if deletes_history(record) else [])]
    cluster = telemetry(context)
    try:
        with clients.consumer(cluster, auto_offset_reset="earliest", isolation_level="read_committed") as client:
            feed = Feed(client, context.settings.detect.clock_skew_ms, names=names)
            feed.catch_up()
            yield Standing(feed, action, is_attended=is_attended)
    except KafkaError as error:
        raise clients.unreachable(cluster, error) from None
