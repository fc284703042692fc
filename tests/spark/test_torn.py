"""A query whose checkpoint lost half of a file goes on, and its last batch is done again."""

import shutil
import threading
from functools import partial
from itertools import chain
from pathlib import Path

import pytest
import structlog
from py4j.protocol import Py4JJavaError

from logdirwatch.config.stream import CheckpointSettings
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.errors import UserError
from logdirwatch.jobs import application, memory
from logdirwatch.jobs import runner as runner_module
from logdirwatch.jobs.checkpoint import repair, unusable
from logdirwatch.jobs.queries.start_state import has_checkpoint
from logdirwatch.jobs.runner import Runner
from logdirwatch.jobs.session import without_empty_batches
from logdirwatch.jobs.streams import checkpoint, start_query
from logdirwatch.settings import Settings
from tests.spark.test_detect import T0, Feed, metrics
from tests.support import checkpoints
from tests.support.waiting import DEADLINE_S, wait_until

NAME = "counting"
NOW_MS = 1_700_000_000_000


class Counting:
    """A query over files that hands each of their rows on; what was handed on, by batch."""

    def __init__(self, spark, folder, batches=()):
        self.spark, self.folder = spark, folder
        self.settings = Settings(checkpoints=CheckpointSettings(path=str(folder / "checkpoints")))
        self.batches = dict(batches)

    def add(self, number):
        self.spark.range(number, number + 1).coalesce(1).write.mode("append").parquet(str(self.folder / "in"))

    def run(self):
        """Take all there is, and stop."""
        repair.take_back(self.spark, checkpoint(self.settings, NAME), NOW_MS)
        records = self.spark.readStream.schema("id long").parquet(str(self.folder / "in"))
        writer = records.writeStream.foreachBatch(self._keep)
        query = start_query(writer, self.settings, NAME, lambda writer: writer.trigger(availableNow=True))
        query.awaitTermination()
        assert query.exception() is None

    def _keep(self, frame, batch):
        self.batches.setdefault(batch, []).extend(row.id for row in frame.collect())


@pytest.fixture(scope="module")
def three_batches(spark, tmp_path_factory):
    """Return a function that puts a query with three batches in place; they run once with checksums, once without."""
    folder, kept = tmp_path_factory.mktemp("counting"), tmp_path_factory.mktemp("kept")

    def put(*, has_checksums):
        # At the same place: the checkpoint has the paths of the input.
        shutil.rmtree(folder)
        if (kept / str(has_checksums)).exists():
            shutil.copytree(kept / str(has_checksums), folder)
            return Counting(spark, folder, {0: [0], 1: [1], 2: [2]})
        query = Counting(spark, folder)
        for number in range(3):
            query.add(number)
            query.run()
        assert query.batches == {0: [0], 1: [1], 2: [2]}
        shutil.copytree(folder, kept / str(has_checksums))
        return query

    return put


@pytest.fixture
def counting(three_batches):
    return three_batches(has_checksums=False)


@pytest.fixture
def has_checksums(request, spark):
    checksum_files(spark, is_on=request.param)
    yield request.param
    checksum_files(spark, is_on=False)


def checksum_files(spark, *, is_on):
    local = spark._jvm.org.apache.hadoop.fs.FileSystem.getLocal(spark.sparkContext._jsc.hadoopConfiguration())
    local.setWriteChecksum(is_on)


@pytest.mark.parametrize(
    ("has_checksums", "kind", "batch"),
    [(False, "offsets", 1), (False, "commits", 2), (True, "offsets", 2)],
    indirect=["has_checksums"],
)
def test_batches_from_the_torn_one_on_are_done_anew(has_checksums, three_batches, kind, batch):
    counting = three_batches(has_checksums=has_checksums)
    last = counting.folder / "checkpoints" / NAME / kind / str(batch)
    assert last.with_name(f".{last.name}.crc").exists() == has_checksums
    checkpoints.cut(last, keeps_checksum=True)
    checksum_files(counting.spark, is_on=False)
    counting.add(3)
    counting.run()
    assert not last.with_name(f".{last.name}.crc").exists()
    done = sorted(chain.from_iterable(counting.batches.values()))
    assert done == sorted([0, 1, 2, 3, *range(batch, 3)]), "done again, and what came since"
    counting.add(4)
    counting.run()
    assert list(chain.from_iterable(counting.batches.values())).count(4) == 1


def test_an_offset_file_that_cannot_be_read_is_an_error_and_stays(counting):
    folder = counting.folder / "checkpoints" / NAME
    newest = checkpoints.newest(folder / "offsets")
    newest.unlink()
    # A folder in its place cannot be read by anybody, root included.
    newest.mkdir()
    before = sorted(folder.rglob("*"))
    with pytest.raises(Py4JJavaError):
        repair.take_back(counting.spark, str(folder), NOW_MS)
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("source", ["whole", "torn"])
def test_a_first_batch_that_is_torn_is_no_checkpoint(spark, tmp_path, source):
    counting = Counting(spark, tmp_path)
    counting.add(0)
    counting.run()
    folder = tmp_path / "checkpoints" / NAME
    checkpoints.newest(folder / "commits").unlink()
    checkpoints.cut(checkpoints.newest(folder / "offsets"))
    if source == "torn":
        checkpoints.cut(checkpoints.newest(folder / "sources/0"))
    assert has_checkpoint(spark, counting.settings, NAME)
    repair.take_back(spark, checkpoint(counting.settings, NAME), NOW_MS)
    assert not has_checkpoint(spark, counting.settings, NAME)
    counting.run()
    assert counting.batches[0] == [0, 0]


def test_a_sound_checkpoint_stays_as_it_is(spark, counting):
    def files():
        return {file: file.read_bytes() for file in counting.folder.rglob("checkpoints/**/*") if file.is_file()}

    before = files()
    repair.take_back(spark, checkpoint(counting.settings, NAME), NOW_MS)
    repair.take_back(spark, checkpoint(counting.settings, "never started"), NOW_MS)
    assert files() == before


def test_a_query_goes_on_from_its_state_when_the_newest_note_of_it_is_torn(spark, tmp_path):
    settings = Settings(detect=DetectSettings(silence_min_ms=3_600_000, state_refresh_ms=0))
    feed = Feed(spark, tmp_path, settings).start()
    folder = tmp_path / "checkpoint"
    notes = folder / "state/0/_metadata/v2"
    try:
        feed.send(metrics(T0), metrics(T0 + 5_000, error_code=56))
        opened = feed.wait_for("logdir.alerts", lambda r: r.status == "firing", "the alert before")
        feed.stop()
        feed.send(metrics(T0 + 10_000, error_code=56))
        feed.start()
        feed.wait_for("logdir.state", lambda r: r.at_ms == T0 + 10_000, "a second run")
        feed.stop()
        checkpoints.cut(checkpoints.newest(notes))
        repair.take_back(spark, str(folder), NOW_MS)
        repair.follow(spark, str(folder))
        assert [name.name for name in notes.glob("[0-9]*")] == ["0"]
        feed.send(metrics(T0 + 15_000))
        feed.start()
        closed = feed.wait_for("logdir.alerts", lambda r: r.status == "resolved", "the resolve after")
        assert closed.alert_id == opened.alert_id
    finally:
        feed.stop()


@pytest.mark.parametrize("text", ["", 'v2\n{"stateStore'])
def test_a_checkpoint_with_no_other_note_of_its_state_is_set_aside(spark, tmp_path, text):
    note = tmp_path / "checkpoint/state/0/_metadata/v2/0"
    note.parent.mkdir(parents=True)
    note.write_text(text)
    repair.take_back(spark, str(tmp_path / "checkpoint"), NOW_MS)
    assert [folder.name for folder in tmp_path.iterdir()] == [f"checkpoint.{NOW_MS}"]
    repair.follow(spark, str(tmp_path / "checkpoint"))


def newest_of_each_store(checkpoint, suffix):
    folders = {file.parent for file in checkpoint.glob(f"state/0/*/*.{suffix}")}
    assert folders
    return [max(folder.glob(f"*.{suffix}"), key=lambda file: int(file.stem)) for folder in folders]


@pytest.mark.parametrize(
    ("suffix", "damage"),
    [
        pytest.param("changelog", checkpoints.cut, id="a change log that is cut"),
        pytest.param("changelog", Path.unlink, id="a change log that is gone", marks=pytest.mark.long),
        pytest.param("zip", checkpoints.cut, id="a snapshot that is cut", marks=pytest.mark.long),
    ],
)
def test_a_checkpoint_whose_state_cannot_be_read_is_set_aside_and_the_query_goes_on(
    spark, tmp_path, monkeypatch, suffix, damage
):
    monkeypatch.setattr(application, "SET_ASIDE", {"checkpoint": unusable.reason})
    monkeypatch.setattr(runner_module, "FIRST_BACKOFF_MS", 10)
    monkeypatch.setattr(runner_module, "LOOK_AFTER_S", 0.1)
    settings = Settings(
        detect=DetectSettings(silence_min_ms=3_600_000, state_refresh_ms=0),
        checkpoints=CheckpointSettings(path=str(tmp_path)),
    )
    # Else batches without input follow each other, and one that is stopped leaves state that nobody needs.
    feed = Feed(without_empty_batches(spark, settings), tmp_path, settings).start()
    for at_ms in (T0, T0 + 5_000):
        feed.send(metrics(at_ms))
        feed.query.processAllAvailable()
    feed.stop()
    for file in newest_of_each_store(tmp_path / "checkpoint", suffix):
        damage(file)
    (tmp_path / "detect").symlink_to(tmp_path / "checkpoint")
    with pytest.raises(UserError, match=r"detect: its state cannot be read.*; the stream sets it aside"):
        list(memory.lines(spark, settings, "detect", None, None))
    feed.send(metrics(T0 + 10_000))
    runner = Runner(spark, settings, {"checkpoint": lambda *_: feed.start().query})
    runner.when_failed = partial(application._set_aside_damaged, spark, settings)
    with structlog.testing.capture_logs() as logged:
        running = threading.Thread(target=runner.run)
        running.start()
        wait_until(
            lambda: any(record.at_ms == T0 + 10_000 for record in feed.records("logdir.state")),
            DEADLINE_S,
            lambda: f"the sample after the damage; {logged}",
        )
        runner.stop_requested.set()
        running.join(DEADLINE_S)
    assert len(list(tmp_path.glob("checkpoint.*"))) == 1
    (line,) = (line for line in logged if line["event"] == "checkpoint.set_aside")
    assert line["reason"].startswith("its state cannot be read")


def test_a_query_whose_id_is_torn_goes_on_where_it_was(spark, counting):
    (counting.folder / "checkpoints" / NAME / "metadata").write_text('{"id":"0b9a')
    counting.add(3)
    counting.run()
    assert counting.batches[3] == [3]
