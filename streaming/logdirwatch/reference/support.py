"""The page of what runs with which release of Kafka, Spark, Java and Python, from the tables that the code uses."""

from collections.abc import Iterator
from functools import partial
from importlib import metadata
from itertools import groupby

from logdirwatch.collect.exporter.mbeans import never_counts_offline_replicas
from logdirwatch.jars import KAFKA_VERSION, SPARK_COORDINATES
from logdirwatch.local.jvm import OLDEST_JAVA
from logdirwatch.model.capabilities import (
    CAPABILITIES,
    KAFKA_RELEASES,
    OLDEST_KAFKA,
    SEVERAL_DIRECTORIES_SINCE,
    is_possible,
    is_reported,
)
from logdirwatch.model.vocabulary import MetadataMode

TESTED_KAFKA = (
    ("2.8.2", MetadataMode.ZOOKEEPER),
    ("3.3.2", MetadataMode.ZOOKEEPER),
    ("3.9.1", MetadataMode.ZOOKEEPER),
    ("3.7.2", MetadataMode.KRAFT),
    ("3.9.1", MetadataMode.KRAFT),
    ("4.1.1", MetadataMode.KRAFT),
    (KAFKA_VERSION, MetadataMode.KRAFT),
    ("4.4.0", MetadataMode.KRAFT),
)
"""The releases that tests/kafka/test_versions.py runs."""

DATABRICKS_RUNTIMES = {"17.3 LTS": "4.0", "18 LTS": "4.1", "19": "4.2"}
"""Runtimes of Databricks and the Spark in them."""

_MODES = {MetadataMode.ZOOKEEPER: "ZooKeeper", MetadataMode.KRAFT: "KRaft"}
_CELLS = {True: "yes", False: "no", None: "there is none"}


def lines() -> Iterator[str]:
    """Yield the page."""
    yield "# Supported versions\n"
    yield (
        "Written from the tables that the code uses. `logdirwatch doctor` says of your clusters what they cannot "
        "report.\n"
    )
    yield from _kafka()
    yield from _spark()
    yield from _languages()


def _kafka() -> Iterator[str]:
    yield "## Kafka that is watched\n"
    yield f"The oldest release is {OLDEST_KAFKA}.\n"
    features = [capability.what for capability in CAPABILITIES.values()]
    header = ["Kafka", "metadata", *features, "`OfflineReplicaCount`", "tested"]
    yield f"| {' | '.join(header)} |\n|{'---|' * len(header)}"
    for mode, name in _MODES.items():
        possible = [release for release in KAFKA_RELEASES if is_possible(release, mode)]
        for cells, releases in groupby(possible, key=partial(_cells, mode)):
            alike = list(releases)
            yield f"| {_span(alike)} | {name} | {' | '.join(cells)} | {_tested(alike, mode)} |"
    yield ""
    yield (
        "*no*: brokers do not report it; [statuses](concepts/statuses.md#what-a-release-cannot-report) says what that "
        "means. Where the size of log directories is not reported, [`watch-host`](host.md) on the brokers tells it, or "
        "the configuration (`clusters.NAME.log_dirs`). *there is none*: clusters of that mode have no such thing. "
        "In KRaft mode Kafka supports several log directories on a broker from `metadata.version` "
        f"{SEVERAL_DIRECTORIES_SINCE} on, where the table begins. *tested*: releases that are run against, beside unit "
        "tests of all of them.\n"
    )
    yield f"The telemetry topics are tested on {KAFKA_VERSION}.\n"


def _cells(mode: MetadataMode, release: str) -> tuple[str, ...]:
    gauge = "always 0, not read" if never_counts_offline_replicas(release) else "yes"
    return (*(_CELLS[is_reported(what, release, mode)] for what in CAPABILITIES), gauge)


def _span(releases: list[str]) -> str:
    return releases[0] if len(releases) == 1 else f"{releases[0]} to {releases[-1]}"


def _tested(releases: list[str], mode: MetadataMode) -> str:
    found = [release for release, its_mode in TESTED_KAFKA if its_mode is mode and _minor(release) in releases]
    return ", ".join(found) or "no"


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def spark_version() -> str:
    """Return the version of Spark that the connectors are of."""
    return next(name.rpartition(":")[2] for name in SPARK_COORDINATES if ":spark-sql-kafka" in name)


def _spark() -> Iterator[str]:
    spark = spark_version()
    yield "## Spark\n"
    yield f"Spark {_minor(spark)}, with the connectors that logdirwatch downloads:\n"
    yield from (f"- `{name}`" for name in SPARK_COORDINATES)
    yield "\n| Databricks runtime | Spark | logdirwatch |\n|---|---|---|"
    for runtime, its_spark in DATABRICKS_RUNTIMES.items():
        fits = (
            "its Spark fits; not tested there" if its_spark == _minor(spark) else f"no: it needs Spark {_minor(spark)}"
        )
        yield f"| {runtime} | {its_spark} | {fits} |"
    yield ""


def _languages() -> Iterator[str]:
    told = metadata.metadata("logdirwatch")
    named = [found.rpartition(" ")[2] for found in told.get_all("Classifier") or () if "Python :: 3." in found]
    yield "## Java and Python\n"
    yield f"Java {OLDEST_JAVA} or later. Python {', '.join(named)}; pip accepts `{told['Requires-Python']}`.\n"
