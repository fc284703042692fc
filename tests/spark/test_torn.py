"""A query whose checkpoint lost half of its newest file goes on, and its batch is done anew."""

from itertools import chain

import pytest

from logdirwatch.jobs import torn
from logdirwatch.jobs.session import checkpoint, start_query
from logdirwatch.jobs.start_state import has_checkpoint
from logdirwatch.settings import CheckpointSettings, Settings
from tests.support import checkpoints

NAME = "counting"


class Counting:
    """A query over files that hands each of their rows on; what was handed on, by batch."""

    def __init__(self, spark, folder):
        self.spark, self.folder = spark, folder
        self.settings = Settings(checkpoints=CheckpointSettings(path=str(folder / "checkpoints")))
        self.batches = {}

    def add(self, number):
        self.spark.range(number, number + 1).coalesce(1).write.mode("append").parquet(str(self.folder / "in"))

    def run(self):
        """Take all there is, and stop."""
        torn.take_back(self.spark, checkpoint(self.settings, NAME))
        records = self.spark.readStream.schema("id long").parquet(str(self.folder / "in"))
        writer = records.writeStream.foreachBatch(self._keep)
        query = start_query(writer, self.settings, NAME, lambda writer: writer.trigger(availableNow=True))
        query.awaitTermination()
        assert query.exception() is None

    def _keep(self, frame, batch):
        self.batches.setdefault(batch, []).extend(row.id for row in frame.collect())


@pytest.fixture
def counting(spark, tmp_path):
    query = Counting(spark, tmp_path)
    for number in range(3):
        query.add(number)
        query.run()
    assert query.batches == {0: [0], 1: [1], 2: [2]}
    return query


@pytest.mark.parametrize("keeps_checksum", [True, False])
@pytest.mark.parametrize("kind", ["offsets", "commits"])
def test_the_last_batch_is_done_anew(counting, kind, keeps_checksum):
    folder = counting.folder / "checkpoints" / NAME / kind
    checkpoints.cut(checkpoints.newest(folder), keeps_checksum=keeps_checksum)
    counting.add(3)
    counting.run()
    again = chain.from_iterable(rows for batch, rows in counting.batches.items() if batch >= 2)
    assert sorted(again) == [2, 2, 3], "done anew, and what came since"
    counting.add(4)
    counting.run()
    assert list(chain.from_iterable(counting.batches.values())).count(4) == 1


def test_a_first_batch_that_is_torn_is_no_checkpoint(spark, tmp_path):
    counting = Counting(spark, tmp_path)
    counting.add(0)
    counting.run()
    folder = tmp_path / "checkpoints" / NAME
    checkpoints.newest(folder / "commits").unlink()
    checkpoints.cut(checkpoints.newest(folder / "offsets"))
    assert has_checkpoint(spark, counting.settings, NAME)
    torn.take_back(spark, checkpoint(counting.settings, NAME))
    assert not has_checkpoint(spark, counting.settings, NAME)


def test_a_sound_checkpoint_stays_as_it_is(spark, counting):
    def files():
        return {file: file.read_bytes() for file in counting.folder.rglob("checkpoints/**/*") if file.is_file()}

    before = files()
    torn.take_back(spark, checkpoint(counting.settings, NAME))
    torn.take_back(spark, checkpoint(counting.settings, "never started"))
    assert files() == before
