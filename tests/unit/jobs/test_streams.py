"""How a query is started: with its own name, and a checkpoint of its own."""

import pytest

from logdirwatch.cli.commands.stream import Query
from logdirwatch.jobs.streams import checkpoint, start_query
from logdirwatch.settings import Settings

NAMES = [query.value for query in Query]


class Writer:
    """Stands where Spark's writer of a stream is."""

    def __init__(self):
        self.name, self.options = None, {}

    def queryName(self, name):  # noqa: N802 - Spark's name
        self.name = name
        return self

    def option(self, key, value):
        self.options[key] = value
        return self

    def start(self):
        return self


@pytest.mark.parametrize("path", ["/data/checkpoints", "/data/checkpoints/", "s3a://bucket/checkpoints"])
def test_every_query_has_a_checkpoint_folder_of_its_own(path):
    settings = Settings(checkpoints={"path": path})
    folders = [checkpoint(settings, name) for name in NAMES]
    assert folders == [f"{path.rstrip('/')}/{name}" for name in NAMES]
    assert len(set(folders)) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_query_is_started_with_its_name_its_checkpoint_and_its_trigger(name):
    settings, triggered = Settings(checkpoints={"path": "/c"}), []
    started = start_query(Writer(), settings, name, lambda writer: triggered.append(writer) or writer)
    assert (started.name, started.options) == (name, {"checkpointLocation": f"/c/{name}"})
    assert triggered == [started]
