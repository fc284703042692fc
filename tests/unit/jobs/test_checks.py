"""What the stream checks before it starts."""

import pytest

from logdirwatch.errors import UserError
from logdirwatch.jobs.checks import check_permissions

NEEDED = {"READ": {"logdir.metrics", "logdir.events"}, "WRITE": {"logdir.alerts"}}


def test_every_missing_permission_is_named_at_once():
    allowed = {"logdir.metrics": ["DESCRIBE", "WRITE"], "logdir.events": [], "logdir.alerts": ["READ"]}
    with pytest.raises(UserError, match=r"Read on logdir\.events, logdir\.metrics; Write on logdir\.alerts; see docs"):
        check_permissions(allowed, NEEDED)


@pytest.mark.parametrize(
    "allowed",
    [
        {"logdir.metrics": ["READ"], "logdir.events": ["READ", "WRITE"], "logdir.alerts": ["WRITE"]},
        dict.fromkeys(("logdir.metrics", "logdir.events", "logdir.alerts")),
    ],
    ids=["all there", "a cluster that does not tell"],
)
def test_what_is_there_or_not_known_is_no_reason_to_refuse(allowed):
    check_permissions(allowed, NEEDED)
