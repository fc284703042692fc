"""The next step for each alert: the first of its actions that can be done now. Pure."""

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import OPEN
from logdirwatch.parse.reading import RecordReader
from logdirwatch.report.folding import Message, latest_actions


class NextSteps:
    """The open actions of each alert, in their latest revision."""

    def __init__(self, reader: RecordReader | None = None) -> None:
        self._latest = latest_actions(reader)
        self._of_alert: dict[str, dict[str, ActionRecord]] = {}

    def take(self, message: Message) -> None:
        """Add one record of the action topic; a closed action is no longer a step."""
        action = self._latest.take(message)
        if action is None:
            return
        steps = self._of_alert.setdefault(action.alert_id, {})
        if action.status in OPEN:
            steps[action.action_id] = action
        else:
            steps.pop(action.action_id, None)
        if not steps:
            del self._of_alert[action.alert_id]

    def of(self, alert_id: str, now_ms: int) -> ActionRecord | None:
        """Return the first action of an alert that has no veto and has not expired."""
        possible = [
            action
            for action in self._of_alert.get(alert_id, {}).values()
            if not action.vetoes and action.expires_at_ms >= now_ms
        ]
        return min(possible, key=lambda action: (action.position or 0, action.at_ms, action.action_id), default=None)
