"""What a release of Kafka cannot report is said once a cluster, with what to do about it."""

import pytest

from logdirwatch.collect.kafka.capabilities import REPORTED_SINCE
from logdirwatch.model.capabilities import CAPABILITIES, HIDES_LOG_DIRS
from logdirwatch.model.vocabulary import MetadataMode, NotReported
from logdirwatch.report.not_reported import notice

OF_ZOOKEEPER = ["fenced_brokers", "elr", "metadata_quorum"]
SIZE = "for the size upgrade to 3.3 or later, run logdirwatch watch-host on the brokers, or name the capacity in "


def told(mode, release, missing, *, is_size_known=False):
    return notice("prod", mode, [release], missing, is_size_known=is_size_known)


def test_every_fact_has_a_release_from_which_it_is_reported():
    assert {NotReported.LOG_DIRS, *CAPABILITIES} == set(REPORTED_SINCE) == set(NotReported)


@pytest.mark.parametrize("mode", [None, *MetadataMode])
@pytest.mark.parametrize("others", [[], ["capacity", "cordons"], ["capacity", "cordons", *OF_ZOOKEEPER]])
def test_of_a_service_that_hides_its_disks_nothing_else_is_said(mode, others):
    found = told(mode, "3.6", ["log_dirs", *others])
    assert found.text == HIDES_LOG_DIRS
    assert found.remedy == "none: take prod out of clusters, and watch its storage with its provider"


def test_the_size_below_3_3_has_three_remedies():
    found = told(MetadataMode.ZOOKEEPER, "2.8", ["capacity", "cordons", *OF_ZOOKEEPER])
    assert found.text == (
        "Kafka 2.8 with ZooKeeper does not report the size of log directories (reported from 3.3 on) or cordons of log "
        "directories (reported from 4.3 on)"
    )
    assert found.remedy == f"{SIZE}clusters.prod.log_dirs; for the rest migrate to KRaft, then upgrade to 4.3 or later"


@pytest.mark.parametrize("release", ["2.8", "3.9"])
def test_a_cluster_with_zookeeper_does_not_miss_what_only_kraft_has(release):
    found = told(MetadataMode.ZOOKEEPER, release, ["cordons", *OF_ZOOKEEPER])
    for word in ("fenced", "quorum", "metadata", "eligible"):
        assert word not in found.text + found.remedy


def test_a_kraft_cluster_is_upgraded_to_the_release_that_reports_all_of_it():
    found = told(MetadataMode.KRAFT, "3.9", ["cordons", "fenced_brokers"])
    assert found.text.startswith(
        "Kafka 3.9 does not report cordons of log directories (reported from 4.3 on) or fenced"
    )
    assert found.remedy == "upgrade to 4.3 or later"


def test_the_oldest_of_several_releases_is_named():
    found = notice("c", None, ["3.10", "3.9", None], ["cordons"], is_size_known=True)
    assert found.text.startswith("Kafka 3.9 does")


@pytest.mark.parametrize("missing", [[], ["what a later release cannot report"]])
def test_nothing_is_said_where_nothing_is_missing(missing):
    assert told(MetadataMode.KRAFT, "4.3", missing) is None
