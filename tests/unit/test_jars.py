"""Jars: whole or not at all, once, and Kafka's of one version."""

import hashlib
import zipfile

import pytest

from logdirwatch import jars
from logdirwatch.errors import UserError
from logdirwatch.jars import JarSet, artifact_id
from logdirwatch.reference.support import TESTED_KAFKA
from logdirwatch.spark_version import RELEASES

SET = JarSet("some", ("g:wanted:1.0", "g:shipped:2.0"), provided=frozenset({"shipped"}), provided_by="host 1")


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Answers for the Maven repository with jars of its own; every look at it is noted."""

    class Repository:
        folder = tmp_path / "repository"

        def __init__(self):
            self.asked = []
            self.broken_for = set()

        def resolve(self, jar_set, repository):
            self.asked.append(repository)
            if repository in self.broken_for or "any" in self.broken_for:
                raise RuntimeError("Artifact g:wanted:1.0 not found in remote repositories {...}\nmore")
            return [self._jar(coordinate) for coordinate in jar_set.coordinates]

        def _jar(self, coordinate):
            _, artifact, version = coordinate.split(":")
            path = self.folder / f"{artifact}-{version}.jar"
            path.parent.mkdir(exist_ok=True)
            zipfile.ZipFile(path, "w").close()
            return path

    fake = Repository()
    monkeypatch.setattr(jars, "_resolve", fake.resolve)
    return fake


@pytest.mark.parametrize(
    ("file_name", "expected"),
    [
        ("kafka-clients-4.3.1.jar", "kafka-clients"),
        ("kafka_2.13-4.3.1.jar", "kafka_2.13"),
        ("log4j-1.2-api-2.25.4.jar", "log4j"),
        ("jackson-annotations-2.21.jar", "jackson-annotations"),
        ("javassist-3.30.2-GA.jar", "javassist"),
        ("lz4-java-1.11.0.jar", "lz4-java"),
        ("spark-token-provider-kafka-0-10_2.13-4.1.0-preview1.jar", "spark-token-provider-kafka-0-10_2.13"),
    ],
)
def test_the_artifact_id_is_what_stands_before_the_version(file_name, expected):
    assert artifact_id(file_name) == expected


def test_what_the_host_ships_is_left_out(repository, tmp_path):
    found = jars._materialised(SET, tmp_path / "home")
    assert [path.name for path in found] == ["wanted-1.0.jar"]
    assert {path.name for path in found[0].parent.iterdir()} == {"wanted-1.0.jar", jars.MARKER}


def test_a_second_call_asks_nobody(repository, tmp_path):
    first = jars._materialised(SET, tmp_path / "home")
    assert jars._materialised(SET, tmp_path / "home") == first
    assert repository.asked == [None]


def test_another_pin_replaces_the_whole_set(repository, tmp_path):
    jars._materialised(SET, tmp_path / "home")
    (found,) = jars._materialised(JarSet("some", ("g:wanted:1.1",)), tmp_path / "home")
    assert found.name == "wanted-1.1.jar"
    assert sorted(path.name for path in found.parent.iterdir()) == [jars.MARKER, "wanted-1.1.jar"]
    assert sorted(path.name for path in found.parent.parent.iterdir()) == ["some", "some.lock"]


def test_a_half_download_in_the_shared_repository_is_passed_by(repository, tmp_path):
    repository.broken_for = {None}
    assert jars._materialised(SET, tmp_path / "home")
    assert repository.asked[0] is None
    assert repository.asked[1].is_relative_to(tmp_path / "home")


def test_a_failed_download_is_one_line_and_leaves_nothing(repository, tmp_path):
    repository.broken_for = {"any"}
    with pytest.raises(UserError) as refused:
        jars._materialised(SET, tmp_path / "home")
    assert str(refused.value) == (
        "cannot download the some jars (Artifact g:wanted:1.0 not found); "
        "check that this machine reaches Maven Central, then run the command again"
    )
    assert [path.name for path in (tmp_path / "home" / "jars").iterdir()] == ["some.lock"]


def test_a_jar_cut_short_is_no_jar(tmp_path):
    whole = tmp_path / "whole.jar"
    with zipfile.ZipFile(whole, "w") as jar:
        jar.writestr("entry", "x" * 1000)
    cut = tmp_path / "cut.jar"
    cut.write_bytes(whole.read_bytes()[:-30])
    assert jars._checked(whole) == whole
    with pytest.raises(zipfile.BadZipFile):
        jars._checked(cut)


PINNED = JarSet("some", ("g:wanted:1.0", "g:shipped:2.0"), (), frozenset({"shipped"}), "host 1", is_pinned=True)


def pin(monkeypatch, tmp_path, **digests):
    """Let the list of hashes hold these."""
    path = tmp_path / "jars.sha256"
    path.write_text("".join(f"{digest}  {name}-1.0.jar\n" for name, digest in digests.items()))
    monkeypatch.setattr(jars, "PINS", path)


def hash_of(repository):
    return hashlib.sha256(repository._jar("g:wanted:1.0").read_bytes()).hexdigest()


def test_a_jar_with_the_hash_of_the_list_is_taken(repository, tmp_path, monkeypatch):
    pin(monkeypatch, tmp_path, wanted=hash_of(repository))
    assert [path.name for path in jars._materialised(PINNED, tmp_path / "home")] == ["wanted-1.0.jar"]


@pytest.mark.parametrize("jar_set", [PINNED, SET], ids=["pinned", "not pinned"])
def test_a_jar_with_another_hash_is_named_and_nothing_is_kept(repository, tmp_path, monkeypatch, jar_set):
    pin(monkeypatch, tmp_path, wanted="0" * 64)
    with pytest.raises(
        UserError, match=r"wanted-1\.0\.jar is not the jar that was tested \(its SHA-256 differs\)"
    ) as refused:
        jars._materialised(jar_set, tmp_path / "home")
    assert "\n" not in str(refused.value)
    assert [path.name for path in (tmp_path / "home" / "jars").iterdir()] == ["some.lock"]


def test_a_jar_that_the_list_lacks_is_refused_only_where_all_of_them_are_known(repository, tmp_path, monkeypatch):
    pin(monkeypatch, tmp_path, other="0" * 64)
    with pytest.raises(UserError, match=r"wanted-1\.0\.jar is not in the list of the jars of some"):
        jars._materialised(PINNED, tmp_path / "home")
    assert len(jars._materialised(SET, tmp_path / "home")) == 1


def test_jars_that_an_older_release_kept_without_comparing_them_are_compared(repository, tmp_path, monkeypatch):
    pin(monkeypatch, tmp_path, other="0" * 64)
    jars._materialised(SET, tmp_path / "home")
    with pytest.raises(UserError, match="is not in the list"):
        jars._materialised(PINNED, tmp_path / "home")


def test_the_list_has_every_connector_and_the_kafka_of_every_release_that_is_tested():
    pins = jars.pinned()
    assert {len(digest) for digest in pins.values()} == {64}
    assert list(pins) == sorted(pins)
    names = {
        f"{artifact}-{number}.jar" for found in RELEASES.values() for _, artifact, number in parts(found.connectors)
    }
    names |= {f"kafka_2.13-{version}.jar" for version, _ in TESTED_KAFKA}
    assert names <= set(pins)
    assert all(jars.kafka_set(version).is_pinned for version, _ in TESTED_KAFKA)
    assert not jars.kafka_set("3.0.0").is_pinned


def parts(coordinates):
    return [coordinate.split(":") for coordinate in coordinates]


@pytest.mark.parametrize(
    ("version", "name", "artifacts"),
    [
        ("2.8.2", "kafka-2.8.2", ["kafka_2.13", "kafka-clients", "slf4j-reload4j"]),
        ("3.9.1", "kafka-3.9.1", ["kafka_2.13", "kafka-tools", "kafka-clients", "slf4j-reload4j"]),
        ("4.1.1", "kafka-4.1.1", ["kafka_2.13", "kafka-tools", "kafka-clients", "log4j-slf4j-impl"]),
        (jars.KAFKA_VERSION, "kafka", ["kafka_2.13", "kafka-tools", "kafka-clients", "log4j-slf4j-impl"]),
    ],
)
def test_every_release_of_kafka_has_jars_of_its_own(version, name, artifacts):
    found = jars.kafka_set(version)
    assert found.name == name
    assert [coordinate.split(":")[1] for coordinate in found.coordinates] == artifacts


@pytest.mark.parametrize("version", ["2.7.2", "4.3", "4.3.1-rc0", "../4.3.1"])
def test_what_is_no_release_or_too_old_is_wrong_use(version):
    with pytest.raises(UserError) as refused:
        jars.kafka_set(version)
    assert refused.value.exit_code == 2
