"""The page of what runs with which release of Kafka, Spark, Java and Python, from the tables that the code uses."""

from collections.abc import Iterator
from functools import partial
from importlib import metadata
from itertools import groupby

from logdirwatch.collect.exporter.mbeans import never_counts_offline_replicas
from logdirwatch.jars import KAFKA_VERSION, OLDEST_JAVA
from logdirwatch.model.capabilities import (
    CAPABILITIES,
    KAFKA_RELEASES,
    OLDEST_KAFKA,
    SEVERAL_DIRECTORIES_SINCE,
    is_possible,
    is_reported,
    release_key,
)
from logdirwatch.model.vocabulary import MetadataMode
from logdirwatch.spark_version import INSTALL, REAL_TIME_SINCE, RELEASES, ROWS_SINCE, SparkRelease

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

STORY_KAFKA = (
    ("2.8.2", MetadataMode.ZOOKEEPER),
    ("3.9.1", MetadataMode.ZOOKEEPER),
    ("3.9.1", MetadataMode.KRAFT),
    ("4.4.0", MetadataMode.KRAFT),
)
"""The releases with which tests/versions/test_story.py runs everything, and repairs what it breaks."""

UPGRADED_KAFKA = ("3.9.1", KAFKA_VERSION)
"""From which release to which tests/versions/test_rolling_upgrade.py upgrades a cluster under watch."""

OLD_TELEMETRY = "2.8.2"
"""The release of the telemetry cluster of tests/versions/test_old_telemetry.py."""

MIGRATED_KAFKA = "3.9.1"
"""The release with which tests/versions/test_migration.py leaves ZooKeeper under watch."""

TESTED_SPARK = "4.2"
"""The release of Spark that the locked requirements have."""

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
    stories = ", ".join(f"{release} ({_MODES[mode]})" for release, mode in STORY_KAFKA)
    before, after = UPGRADED_KAFKA
    yield (
        "`make test-versions-long` runs collector and stream beside a whole cluster, breaks and fills its directories, "
        "and repairs them with the recommended commands, pasted into that release's own tools, and with `apply`, on "
        f"{stories}; `make matrix` does so on all that are tested ([results](reliability.md#releases-of-kafka)). "
        "On 2.8 `watch-host` runs on every broker, because Kafka does not tell the size of a directory. It "
        f"also watches a rolling upgrade from {before} to {after} and a migration from ZooKeeper to KRaft on "
        f"{MIGRATED_KAFKA}, which must alert of nothing but their restarts and of what breaks.\n"
    )
    yield f"The telemetry topics are tested on {KAFKA_VERSION}, and with a failure also on {OLD_TELEMETRY}.\n"


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


def _spark() -> Iterator[str]:
    yield "## Spark\n"
    yield (
        f"`{INSTALL}` brings Spark and Delta Lake; a Spark of this table that is installed already stays. Most "
        "commands need neither. The connectors are downloaded at the first start.\n"
    )
    yield "| Spark | state of `detect` and `fleet` | `fast_lane` | tested |\n|---|---|---|---|"
    yield from map(_spark_row, RELEASES.values())
    yield (
        "\nSpark 4.3 is refused: no release of Delta Lake is made for it. With the connectors for 4.2, the queries "
        "that raise alerts passed their tests on 4.3.0; a batch that Spark itself writes failed in Delta Lake "
        "(`NoSuchMethodError`).\n"
    )
    yield "| Spark | connectors |\n|---|---|"
    for release in RELEASES.values():
        yield f"| {release.minor} | {', '.join(f'`{name}`' for name in release.connectors)} |"
    yield "\n| Databricks runtime | Spark | logdirwatch |\n|---|---|---|"
    for runtime, its_spark in DATABRICKS_RUNTIMES.items():
        fits = "its Spark fits; not tested there" if its_spark in RELEASES else "its Spark is not supported"
        yield f"| {runtime} | {its_spark} | {fits} |"
    yield ""
    yield (
        "Databricks adds stateful processing of rows and real-time mode to runtimes with an older Spark; they are used "
        "where they are. [Databricks](databricks.md) says which compute it needs.\n"
    )


def _spark_row(release: SparkRelease) -> str:
    state = "rows" if _since(release, ROWS_SINCE) else "rows over pandas, slower: for small fleets"
    lane = "real-time mode" if _since(release, REAL_TIME_SINCE) else "micro-batches"
    tested = "by all tests" if release.minor == TESTED_SPARK else "`make test-spark-versions`"
    return f"| {release.minor} | {state} | {lane} | {tested} |"


def _since(release: SparkRelease, minor: str) -> bool:
    return release_key(release.minor) >= release_key(minor)


def _languages() -> Iterator[str]:
    told = metadata.metadata("logdirwatch")
    named = [found.rpartition(" ")[2] for found in told.get_all("Classifier") or () if "Python :: 3." in found]
    yield "## Java and Python\n"
    yield f"Java {OLDEST_JAVA} or later. Python {', '.join(named)}; pip accepts `{told['Requires-Python']}`.\n"
