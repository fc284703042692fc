"""Situations with the right answer, readable as rows: what is so, what must be concluded, what must be advised.

A row of what is concluded (``Conclusion``) drives one broker's state machine; a row of advice (``Advice``) asks for the
actions of one alert. Both name only what matters in the situation; what they leave out may be anything.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

import jsonschema
import msgspec

from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.proposal import Policy
from logdirwatch.plan.recommend import recommend
from logdirwatch.reference.schemas import json_schema
from tests.unit.detect.builders import Driver
from tests.unit.plan import builders


@dataclass(frozen=True)
class Conclusion:
    """What must be concluded after ``given`` was shown to a broker's state machine.

    ``open``: the rules that fire afterwards, all of them, with the cause of each that has one. ``says``: texts that
    stand in the newest summary of any alert; ``never_says``: in none.
    """

    name: str
    given: Callable[[Driver], object]
    open: Mapping[str, str | None]
    severity: Mapping[str, str] = field(default_factory=dict)
    says: tuple[str, ...] = ()
    never_says: tuple[str, ...] = ()


def check_conclusion(row: Conclusion) -> Driver:
    """Show the situation and compare what fires."""
    driver = Driver()
    row.given(driver)
    newest = {alert.alert_id: alert for alert in driver.alerts}
    firing = [alert for alert in newest.values() if alert.status == "firing"]
    found = {str(alert.rule): None if alert.cause is None else str(alert.cause) for alert in firing}
    assert found == dict(row.open), row.name
    for alert in firing:
        wanted = row.severity.get(str(alert.rule))
        assert wanted is None or str(alert.severity) == wanted, f"{row.name}: {alert.rule} is {alert.severity}"
    _check_words("\n".join(alert.summary for alert in newest.values()), row.says, row.never_says, row.name)
    check_schema("alerts", newest.values())
    return driver


@dataclass(frozen=True)
class Advice:
    """What must be advised for an alert in a cluster.

    ``first``: the kind that stands first. ``order``: kinds in this order, others may stand between. ``ready``: kinds
    that are proposed without a veto; ``never``: kinds that are not. ``vetoes``: by kind the vetoes that one such action
    has. ``lossless``: whether no action without a veto loses data.
    """

    name: str
    given: Callable[[], tuple[AlertRecord, ClusterSnapshot]]
    first: str | None = None
    order: tuple[str, ...] = ()
    ready: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    vetoes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    lossless: bool = False
    says: tuple[str, ...] = ()
    never_says: tuple[str, ...] = ()
    policy: Policy | None = None


def check_advice(row: Advice) -> list[ActionRecord]:
    """Ask for the actions and compare them."""
    alert, facts = row.given()
    found = recommend(alert, facts, row.policy or builders.policy(), builders.NOW_MS)
    kinds = [str(action.kind) for action in found]
    told = f"{row.name}: {[(str(a.kind), [v['name'] for v in a.vetoes]) for a in found]}"
    if row.first is not None:
        assert kinds[0] == row.first, told
    rest = iter(kinds)
    assert all(kind in rest for kind in row.order), told
    ready = {str(action.kind) for action in found if not action.vetoes}
    assert set(row.ready) <= ready, told
    assert not set(row.never) & ready, told
    for kind, names in row.vetoes.items():
        spoken = [{veto["name"] for veto in action.vetoes} for action in found if action.kind == kind]
        assert any(set(names) <= one for one in spoken), told
    if row.lossless:
        assert not [action for action in found if action.data_loss and not action.vetoes], told
    text = "\n".join([*(action.reason for action in found), *(c for action in found for c in action.commands)])
    _check_words(text, row.says, row.never_says, row.name)
    check_schema("actions", found)
    return found


def check_schema(name: str, records: Iterable[AlertRecord | ActionRecord]) -> None:
    """Check that records are as the published schema says."""
    for record in records:
        _validator(name).validate(json.loads(msgspec.json.encode(record)))


@cache
def _validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json_schema(name))


def _check_words(text: str, says: tuple[str, ...], never_says: tuple[str, ...], name: str) -> None:
    for wanted in says:
        assert wanted in text, f"{name}: {wanted!r} is not in\n{text}"
    for unwanted in never_says:
        assert unwanted not in text, f"{name}: {unwanted!r} is in\n{text}"
