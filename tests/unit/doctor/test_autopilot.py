"""What the section autopilot allows can happen on its clusters."""

import pytest

from logdirwatch.autopilot.settings import AutopilotClusterSettings
from logdirwatch.doctor.autopilot import judge_owner
from logdirwatch.model.vocabulary import ClusterOwner


@pytest.mark.parametrize(
    ("owner", "kinds", "refused"),
    [
        (ClusterOwner.STRIMZI, ("lower_retention", "reassign", "cordon_log_dir"), "cordon_log_dir, lower_retention"),
        (ClusterOwner.STRIMZI, ("reassign",), None),
        (ClusterOwner.GITOPS, ("lower_retention",), None),
        (None, ("lower_retention",), None),
    ],
)
def test_kinds_that_strimzi_reverts_are_named(owner, kinds, refused):
    allowed = AutopilotClusterSettings(kinds={kind: {} for kind in kinds})
    found = [one.what for one in judge_owner("prod", allowed, owner)]
    assert found == ([] if refused is None else [f"Strimzi reverts {refused}, so the autopilot never starts them"])
