"""Links from a message to the console and to runbooks. Pure."""

from typing import NamedTuple
from urllib.parse import quote

from logdirwatch.model.vocabulary import Rule

RULE = "{rule}"


class Links(NamedTuple):
    """The addresses of the console and the runbooks; None: messages contain no such link."""

    console_url: str | None = None
    runbook_url: str | None = None

    def alert(self, alert_id: str) -> str | None:
        """Return the console's page of an alert."""
        return self._page("alerts", alert_id)

    def action(self, action_id: str) -> str | None:
        """Return the console's page of an action."""
        return self._page("actions", action_id)

    def runbook(self, rule: Rule) -> str | None:
        """Return the runbook of a rule."""
        return None if self.runbook_url is None else self.runbook_url.replace(RULE, quote(rule, safe=""))

    def _page(self, kind: str, name: str) -> str | None:
        return None if self.console_url is None else f"{self.console_url.rstrip('/')}/{kind}/{quote(name, safe='')}"


NO_LINKS = Links()
