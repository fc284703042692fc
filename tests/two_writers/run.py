"""Starts the writers, kills them, and compares what they were told with what is in the table."""

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from logdirwatch.cli.reading.tables.delta_files import DeltaFiles
from logdirwatch.store.schema.definitions import LOG_DIR_SAMPLES
from logdirwatch.store.storage.options import of_extra
from tests.support import s3
from tests.support.waiting import wait_until
from tests.two_writers.writer import AT_MS

ROOT = Path(__file__).parents[2]
WRITERS = (1, 2)
DEADLINE_S = 1800


@dataclass(frozen=True)
class Outcome:
    """Rows by writer and number."""

    told: set[tuple[int, int]]
    stored: Counter[tuple[int, int]]
    kills: int
    seconds: float

    @property
    def lost(self):
        return self.told - self.stored.keys()

    @property
    def twice(self):
        return {row for row, times in self.stored.items() if times > 1}

    def __str__(self):
        return (
            f"{len(self.told)} commits told by {len(WRITERS)} processes, {self.kills} killed, in {self.seconds:.0f} s: "
            f"{len(self.lost)} lost, {len(self.twice)} twice {sorted(self.lost | self.twice)[:20] or ''}"
        )


class Writer:
    """A process that inserts rows, and the notes of those that it was told of."""

    def __init__(self, number, commits, path, folder, conf):
        self._folder, self.notes = folder, folder / f"notes-{number}"
        self.notes.touch()
        about = {"writer": number, "commits": commits, "path": path, "notes": str(self.notes), "conf": conf}
        self._command = [sys.executable, "-m", "tests.two_writers.writer", json.dumps({**about, "home": str(s3.HOME)})]
        self._process = None

    def start(self):
        with (self._folder / f"{self.notes.name}.log").open("ab") as log:
            # The JVM belongs to the group of its process: a kill ends both, as a power failure would.
            self._process = subprocess.Popen(
                self._command, cwd=ROOT, stdout=log, stderr=log, start_new_session=True, env={**os.environ, **s3.KEYS}
            )

    def told(self):
        return [int(line) for line in self.notes.read_text().splitlines()]

    def kill(self):
        if self._process.poll() is None:
            os.killpg(self._process.pid, 9)
        self._process.wait()

    def has_ended(self):
        code = self._process.poll()
        assert code in (None, 0), f"a writer ended with {code}: {self._last_error()}"
        return code == 0

    def _last_error(self):
        """Return the beginning of its last traceback, which names the error: Java's stack follows it."""
        log = (self._folder / f"{self.notes.name}.log").read_text(errors="replace")
        return log[log.rfind("Traceback") :][:8000]


def run(path, folder, commits, kills, conf=None, seed=0):
    """Have two processes insert rows into a table at ``path``, kill one of them at random so often, and compare."""
    begin_s, conf, drawn = time.monotonic(), conf or {}, random.Random(seed)
    writers = [Writer(number, commits, path, folder, conf) for number in WRITERS]
    moments = sorted(drawn.sample(range(2 * commits // 10, 2 * commits * 9 // 10), kills))
    try:
        for writer in writers:
            writer.start()
        for moment in moments:
            wait_until(lambda m=moment: _reached(writers, m), DEADLINE_S, "the writers insert rows")
            victim = drawn.choice(writers)
            victim.kill()
            victim.start()
        wait_until(lambda: _have_ended(writers), DEADLINE_S, "the writers end")
    finally:
        for writer in writers:
            writer.kill()
    told = {(number, row) for number, writer in zip(WRITERS, writers, strict=True) for row in writer.told()}
    return Outcome(told, stored(path, conf), kills, time.monotonic() - begin_s)


def _have_ended(writers):
    """Tell whether all have ended; the error of any of them is raised."""
    ended = [writer.has_ended() for writer in writers]
    return all(ended)


def _reached(writers, moment):
    for writer in writers:
        writer.has_ended()
    return sum(len(writer.told()) for writer in writers) >= moment


def stored(path, conf):
    rows = DeltaFiles(path, of_extra(conf)).select(LOG_DIR_SAMPLES.name, "SELECT broker, timestamp_ms FROM t")
    return Counter((row["broker"], row["timestamp_ms"] - AT_MS) for row in rows)


def in_folder(folder, commits, kills, seed=0):
    """Run in a folder of this machine."""
    return run(str(folder / "tables"), folder, commits, kills, seed=seed)


def in_s3(folder, commits, kills, seed=0):
    """Run on a server of S3's protocol."""
    with s3.server() as endpoint:
        return run(f"s3a://{s3.BUCKET}/tables", folder, commits, kills, s3.conf(endpoint), seed)
