"""The page of supported versions is written from what the code and its tests use."""

import re
from pathlib import Path

import pytest

from logdirwatch.jars import KAFKA_VERSION
from logdirwatch.jars import OLDEST_KAFKA as OLDEST_LOCAL
from logdirwatch.model.capabilities import KAFKA_RELEASES, OLDEST_KAFKA, is_possible, release_key
from logdirwatch.model.vocabulary import MetadataMode
from logdirwatch.reference import support
from logdirwatch.spark_version import RELEASES as SPARK_RELEASES

ROOT = Path(__file__).parents[3]
PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
PAGE = "\n".join(support.lines())
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and ("ZooKeeper" in line or "KRaft" in line)]


def cells(release, metadata):
    """The cells of the row that a release is in."""
    for row in ROWS:
        span, mode, *rest = (cell.strip() for cell in row.strip("|").split("|"))
        first, _, last = span.partition(" to ")
        if mode == metadata and release_key(first) <= release_key(release) <= release_key(last or first):
            return rest
    return None


def test_every_release_is_in_one_row_of_each_mode_that_it_has():
    for release in KAFKA_RELEASES:
        for mode, name in ((MetadataMode.ZOOKEEPER, "ZooKeeper"), (MetadataMode.KRAFT, "KRaft")):
            assert (cells(release, name) is not None) == is_possible(release, mode)


@pytest.mark.parametrize(
    ("release", "mode", "expected"),
    [
        ("2.8", "ZooKeeper", ["no", "no", "there is none", "there is none", "there is none", "yes", "2.8.2"]),
        ("3.9", "ZooKeeper", ["yes", "no", *["there is none"] * 3, "always 0, not read", "3.9.1"]),
        ("3.3", "ZooKeeper", ["yes", "no", *["there is none"] * 3, "yes", "3.3.2"]),
        ("3.7", "KRaft", ["yes", "no", "no", "no", "yes", "always 0, not read", "3.7.2"]),
        ("4.1", "KRaft", ["yes", "no", "yes", "yes", "yes", "always 0, not read", "4.1.1"]),
        ("3.9", "KRaft", ["yes", "no", "no", "yes", "yes", "always 0, not read", "3.9.1"]),
        ("4.3", "KRaft", [*["yes"] * 6, f"{KAFKA_VERSION}, 4.4.0"]),
    ],
)
def test_a_row_says_what_its_releases_report(release, mode, expected):
    assert cells(release, mode) == expected


def test_what_is_called_tested_is_possible():
    """tests/kafka/test_versions.py runs this very list."""
    assert all(is_possible(".".join(version.split(".")[:2]), mode) for version, mode in support.TESTED_KAFKA)


def test_the_page_says_what_is_watched_from_end_to_end():
    """tests/versions runs these very lists."""
    assert set(support.STORY_KAFKA) <= set(support.TESTED_KAFKA)
    told = " ".join(PAGE.split())
    assert f"tested on {KAFKA_VERSION}, and with a failure also on 2.8.2." in told
    assert "on 2.8.2 (ZooKeeper), 3.9.1 (ZooKeeper), 3.9.1 (KRaft), 4.4.0 (KRaft);" in told
    assert f"a rolling upgrade from 3.9.1 to {KAFKA_VERSION} and a migration from ZooKeeper to KRaft on 3.9.1" in told


def test_the_oldest_release_is_the_oldest_that_a_local_cluster_may_have():
    assert release_key(OLDEST_KAFKA) == OLDEST_LOCAL


def test_the_page_names_what_pip_installs():
    assert all(f"`{name}`" in PAGE for release in SPARK_RELEASES.values() for name in release.connectors)
    (pinned,) = re.findall(r"^pyspark==([\d.]+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert pinned.startswith(f"{support.TESTED_SPARK}.")
    (python,) = re.findall(r'^requires-python = "(.*)"', PROJECT, re.MULTILINE)
    assert f"`{python}`" in PAGE


def test_pip_installs_no_other_spark_than_the_page_has():
    (first, *_, last) = map(release_key, SPARK_RELEASES)
    (needed,) = re.findall(r'^  "pyspark(>[^"]*)",$', PROJECT, re.MULTILINE)
    assert needed == f">={first[0]}.{first[1]},<{last[0]}.{last[1] + 1}"


@pytest.mark.parametrize(
    ("spark", "state", "lane"),
    [
        ("4.0", "rows over pandas, slower: for small fleets", "micro-batches"),
        ("4.1", "rows", "real-time mode"),
        ("4.2", "rows", "real-time mode"),
    ],
)
def test_a_row_says_what_runs_otherwise_on_that_spark(spark, state, lane):
    assert f"| {spark} | {state} | {lane} |" in PAGE


def test_every_databricks_runtime_that_is_named_has_a_spark_that_fits():
    fits = re.findall(r"^\| (\S+(?: LTS)?) \| (\S+) \| its Spark fits", PAGE, re.MULTILINE)
    assert dict(fits) == support.DATABRICKS_RUNTIMES
