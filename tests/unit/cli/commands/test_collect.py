"""What ``logdirwatch collect`` refuses before it asks anybody."""

import pytest

from logdirwatch.cli.commands.collect import chosen
from logdirwatch.errors import UserError
from logdirwatch.settings import ClusterSettings

CLUSTERS = {"prod": ClusterSettings(), "test": ClusterSettings()}


def test_all_clusters_are_watched_unless_some_are_named():
    assert list(chosen(CLUSTERS, None)) == ["prod", "test"]
    assert list(chosen(CLUSTERS, ["test"])) == ["test"]


def test_a_cluster_that_is_not_configured_is_named_with_those_that_are():
    with pytest.raises(UserError, match=r"no cluster named staging; configured: prod, test") as refused:
        chosen(CLUSTERS, ["staging"])
    assert refused.value.exit_code == 2


def test_without_any_cluster_the_way_out_is_said():
    with pytest.raises(UserError, match="logdirwatch-lab up") as refused:
        chosen({}, None)
    assert refused.value.exit_code == 2
