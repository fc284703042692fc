"""What a release cannot report, and where it keeps its metadata."""

import pytest
from kafka.protocol.admin import DeleteGroupsRequest, DescribeLogDirsRequest
from kafka.protocol.api_key import ApiKey

from logdirwatch.collect.kafka.capabilities import (
    is_kraft_broker,
    metadata_mode,
    not_reported,
    release_of,
)
from logdirwatch.model.capabilities import mode_of_cluster
from logdirwatch.model.vocabulary import MetadataMode
from tests.support import fake_broker

MIGRATION = {"process.roles": "", "zookeeper.metadata.migration.enable": "true"}


def listed(release, log_dirs):
    requests = {known.API_KEY: newest for known, newest in getattr(fake_broker, release).items()}
    of_zookeeper = {ApiKey.LeaderAndIsr: 4} if release.startswith("ZOOKEEPER") else {}
    return {**requests, **of_zookeeper, DescribeLogDirsRequest.API_KEY: log_dirs}


def of_a_service(**others):
    """What a service lists that hides its disks: neither DescribeLogDirs, nor DescribeQuorum, nor LeaderAndIsr."""
    return {known.API_KEY: newest for known, newest in fake_broker.ZOOKEEPER_3_9.items()} | others


@pytest.mark.parametrize(
    ("release", "log_dirs", "missing"),
    [
        ("ZOOKEEPER_2_8", 2, ["capacity", "cordons", "fenced_brokers", "elr", "metadata_quorum"]),
        ("ZOOKEEPER_3_9", 4, ["cordons", "fenced_brokers", "elr", "metadata_quorum"]),
        ("KRAFT_3_7", 4, ["cordons", "fenced_brokers", "elr"]),
        ("KRAFT_3_9", 4, ["cordons", "fenced_brokers"]),
        ("KRAFT_4_3", 5, []),
    ],
)
def test_what_a_release_cannot_report(release, log_dirs, missing):
    assert not_reported(listed(release, log_dirs)) == missing


@pytest.mark.parametrize(
    ("known", "delete_groups", "release"),
    [("4.3", 3, "4.4"), ("4.3", 2, "4.3"), ("2.8", 2, "2.8"), (None, 3, None), ("4.3", None, "4.3")],
)
def test_a_release_that_the_client_does_not_know_yet_is_told_by_what_it_lists(known, delete_groups, release):
    versions = {} if delete_groups is None else {DeleteGroupsRequest.API_KEY: delete_groups}
    assert release_of(known, versions) == release
    assert release_of(known, None) == known


def test_nothing_is_said_of_a_broker_that_never_answered():
    assert (not_reported(None), metadata_mode(None, None), is_kraft_broker(None, None)) == (None, None, None)


@pytest.mark.parametrize(
    ("release", "configs", "mode"),
    [
        ("ZOOKEEPER_3_9", {"process.roles": ""}, MetadataMode.ZOOKEEPER),
        ("ZOOKEEPER_3_9", None, MetadataMode.ZOOKEEPER),
        ("ZOOKEEPER_2_7", {"log.dirs": "/d1"}, MetadataMode.ZOOKEEPER),
        ("ZOOKEEPER_3_9", MIGRATION, MetadataMode.MIGRATING),
        ("KRAFT_3_9", {"process.roles": "broker", "zookeeper.metadata.migration.enable": "false"}, MetadataMode.KRAFT),
        ("KRAFT_3_9", None, MetadataMode.KRAFT),
    ],
)
def test_the_mode_of_a_broker(release, configs, mode):
    assert metadata_mode(listed(release, 4), configs) is mode


@pytest.mark.parametrize(
    ("configs", "mode"),
    [
        (None, None),
        ({}, None),
        ({"log.dirs": "/d1"}, None),
        ({"process.roles": "broker"}, MetadataMode.KRAFT),
        ({"process.roles": ""}, MetadataMode.ZOOKEEPER),
        (MIGRATION, MetadataMode.MIGRATING),
    ],
)
def test_the_mode_of_a_service_that_lists_neither_quorum_nor_zookeeper_is_what_it_configures_or_unknown(configs, mode):
    assert metadata_mode(of_a_service(), configs) is mode
    assert is_kraft_broker(of_a_service(), configs) is {None: None, MetadataMode.KRAFT: True}.get(mode, False)


def test_a_service_that_hides_its_disks_reports_nothing_about_them():
    assert not_reported(of_a_service())[:3] == ["log_dirs", "capacity", "cordons"]
    assert "log_dirs" not in not_reported(listed("KRAFT_4_3", 0))


def test_a_broker_that_migrates_has_no_metadata_log_before_it_restarts_in_kraft_mode():
    assert is_kraft_broker(None, MIGRATION) is False
    assert is_kraft_broker(None, {**MIGRATION, "process.roles": "broker"}) is True


@pytest.mark.parametrize(
    ("modes", "mode"),
    [
        ([], None),
        ([None], None),
        ([None, MetadataMode.ZOOKEEPER], MetadataMode.ZOOKEEPER),
        ([MetadataMode.KRAFT, MetadataMode.ZOOKEEPER], MetadataMode.MIGRATING),
        ([MetadataMode.MIGRATING, MetadataMode.MIGRATING], MetadataMode.MIGRATING),
    ],
)
def test_brokers_of_two_modes_are_a_cluster_under_migration(modes, mode):
    assert mode_of_cluster(modes) is mode
