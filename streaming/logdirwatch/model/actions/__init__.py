"""The data of an action besides its texts: target, expected effect, vetoes and preconditions.

An action's ``kind`` decides the struct of its ``expected`` (``EXPECTED``); the other parts are the same for all kinds.
"""

from collections.abc import Mapping
from typing import Any

from logdirwatch.model.actions import parts
from logdirwatch.model.actions.expected import EXPECTED as EXPECTED
from logdirwatch.model.actions.expected import Expected as Expected
from logdirwatch.model.actions.operations import Operation

ACTION_PARTS: Mapping[str, Any] = {
    "alert": parts.AlertSummary,
    "target": parts.Target,
    "preconditions": list[parts.Precondition],
    "vetoes": list[parts.Veto],
    "reassignment": parts.Reassignment | None,
    "configs": dict[str, dict[str, parts.ConfigChange]] | None,
    "undo": parts.Undo,
    "based_on": parts.BasedOn,
    "observed": parts.Observed | None,
    "decision": parts.ActionDecision | None,
    "operations": list[Operation] | None,
}
"""The types of the fields of an action that its record's struct calls a mapping, except ``expected``."""
