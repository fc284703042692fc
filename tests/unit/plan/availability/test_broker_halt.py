"""A broker halts with the directory of its metadata log, with its last one, and with any while it leaves ZooKeeper."""

from dataclasses import replace

import pytest

from logdirwatch.model.vocabulary import LogDirStatus, MetadataMode
from logdirwatch.plan.availability.broker_halt import why_it_halts
from tests.unit.plan.builders import broker, directory, facts

SERVES, OFFLINE = directory(1, "/d2"), directory(1, "/d2", status=LogDirStatus.OFFLINE)
METADATA = directory(1, "/d2", is_metadata_dir=True)


@pytest.mark.parametrize(
    ("source", "beside", "mode", "told"),
    [
        ({}, SERVES, MetadataMode.KRAFT, None),
        ({}, SERVES, MetadataMode.ZOOKEEPER, None),
        ({}, OFFLINE, MetadataMode.KRAFT, "no other log directory"),
        ({"is_metadata_dir": True}, SERVES, MetadataMode.KRAFT, "metadata log"),
        ({"is_metadata_dir": True}, SERVES, MetadataMode.ZOOKEEPER, None),
        ({}, SERVES, MetadataMode.MIGRATING, "migrates from ZooKeeper"),
        ({}, METADATA, MetadataMode.MIGRATING, None),
    ],
)
def test_the_reason_is_told(source, beside, mode, told):
    filling = directory(1, "/d1", **source)
    why = why_it_halts(filling, facts(replace(broker(1), metadata_mode=mode), filling, beside))
    assert (why is None) == (told is None)
    assert told is None or told in why
