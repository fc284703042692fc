"""``logdir.notifications``: a message that was sent, or failed."""

from typing import Annotated

from msgspec import Struct

from logdirwatch.model.scalars import EpochMs, Name, Version
from logdirwatch.model.vocabulary import Severity


class NotificationRecord(Struct, frozen=True, kw_only=True):
    """``logdir.notifications``, key ``receiver/route/group``: the notifications about one group of alerts."""

    version: Version
    receiver: Annotated[Name, "Name of the receiver."]
    route: Annotated[str, "Name of the route."]
    group: Annotated[dict[str, str], "Labels of the group, by name."]
    told: Annotated[dict[str, Severity], "Alerts that the receiver takes for firing: the severity sent, by alert_id."]
    log_dirs: Annotated[
        dict[str, list[str]], "Paths of the log directories of which each alert in told was sent, by alert_id."
    ] = {}
    owed: Annotated[
        list[str], "alert_id of the alerts of messages that were begun and are not known to have arrived."
    ] = []
    unsure: Annotated[
        dict[str, list[Severity]], "Severities that each alert in owed had in such messages, by alert_id."
    ] = {}
    quiet: Annotated[list[str], "alert_id of the alerts in told that were silenced since."] = []
    sent_at_ms: Annotated[
        EpochMs | None, "When the last message was delivered, in milliseconds since the epoch; null: never."
    ] = None
