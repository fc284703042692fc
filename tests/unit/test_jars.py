"""Jars: whole or not at all, once, and Kafka's of one version."""

import zipfile

import pytest

from logdirwatch import jars
from logdirwatch.errors import UserError
from logdirwatch.jars import JarSet, artifact_id

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
