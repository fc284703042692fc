"""``validate``: sound tables meet every expectation, and damage of any kind is found by the one it concerns."""

import shutil
from pathlib import Path

import pytest

from logdirwatch.config.section import HOUR_MS
from logdirwatch.jobs import validate
from logdirwatch.quality.results import failed
from logdirwatch.quality.settings import QualitySettings
from logdirwatch.store.schema.definitions import TABLES
from tests.spark.lake import (
    T0,
    Lake,
    action,
    alert,
    decision,
    execution,
    metrics,
    replicas,
    scan_end,
    state,
    topic,
    transition,
)

NOW_MS = T0 + HOUR_MS // 2
LOST = {"/d1": "offline", "/d2": "online"}
CHECKED = [name for name in TABLES if name != "quality_results"]


@pytest.fixture(scope="session")
def sound_tables(spark, empty_tables, tmp_path_factory):
    """A broker that lost a directory, with everything that follows from it: made once."""
    folder = shutil.copytree(empty_tables, tmp_path_factory.mktemp("sound") / "tables")
    lake = Lake(spark, folder)
    first = transition(1, from_status=None, to_status="online")
    taken_out = [
        transition(3, log_dir="/d9", from_status=None, to_status="online"),
        transition(4, log_dir="/d9", from_status="online", to_status="removed"),
    ]
    lake.store(metrics(), state(transitions=[first, *taken_out]), (("logdir.metrics", b"k", b"garbage")))
    gone = transition(2)
    lake.store(
        metrics(at_ms=T0 + 5_000),
        state(sequence=2, status="degraded", log_dirs=LOST, transitions=[gone]),
        alert(revision=0, lane="fast"),
        alert(revision=1),
        alert("over", revision=1, rule="log_dir_space"),
        alert("over", revision=2, rule="log_dir_space", status="resolved"),
        action(),
        action(revision=2, status="accepted"),
        action("x2", alert_id="over"),
        execution(),
        decision(),
    )
    lake.scan(replicas("t-0"), replicas("t-1", log_dir="/d2"), topic("t", (7, 8), (7, 8)), scan_end(1))
    return folder


@pytest.fixture
def sound(spark, sound_tables, tmp_path):
    """Return tables of its own for each test, which may damage them."""
    return Lake(spark, shutil.copytree(sound_tables, tmp_path / "tables"))


@pytest.mark.parametrize("small_bytes", [validate.SMALL_BYTES, 0], ids=["small", "large"])
def test_what_is_written_while_a_table_is_checked_is_not_seen(sound, monkeypatch, small_bytes):
    monkeypatch.setattr(validate, "SMALL_BYTES", small_bytes)
    with validate.as_of_now(sound.tables, TABLES["log_dir_samples"], 0) as frame:
        before = frame.count()
        sound.store(metrics(at_ms=T0 + 10_000))
        assert frame.count() == before < sound.tables.read(TABLES["log_dir_samples"]).count()


def checked(lake, *names, now_ms=NOW_MS, **changes):
    return validate.check(lake.spark, lake.tables, names or CHECKED, QualitySettings(**changes), now_ms)


def damage(lake, table, statement):
    lake.spark.sql(statement.format(t=f"delta.`{lake.settings.tables_path}/{table}`"))


@pytest.mark.parametrize("names", [["broker_state", "alerts"], pytest.param(CHECKED, marks=pytest.mark.long)], ids=len)
def test_sound_tables_meet_every_expectation_which_is_kept_and_written_as_pages(sound, tmp_path, names):
    found = checked(sound, *names, docs_path=str(tmp_path / "docs"))
    assert failed(found) == {}
    assert [one.error for one in found if one.error] == []
    assert {one.suite for one in found} == set(names)
    validate.keep(sound.spark, sound.tables, found, NOW_MS)
    kept = sound.rows("quality_results")
    assert {(row["suite"], row["expectation"]) for row in kept} == {(one.suite, one.expectation) for one in found}
    assert {(row["cluster"], row["at_ms"], row["success"]) for row in kept} == {("*", NOW_MS, True)}
    assert len({row["run_id"] for row in kept}) == 1
    pages = "".join(path.read_text() for path in Path(tmp_path / "docs").rglob("*.html"))
    assert "log_dir_count and offline_log_dirs are what log_dir_state counts" in pages


COPY = "INSERT INTO {t} SELECT * FROM {t} LIMIT 1"
DAMAGE = {
    "broker_state": [
        (COPY, "cluster, broker is unique"),
        ("UPDATE {t} SET status = 'fine'", "status has a known value"),
        ("UPDATE {t} SET cluster = NULL", "cluster is never null"),
        ("UPDATE {t} SET offline_log_dirs = 0", "log_dir_count and offline_log_dirs are what log_dir_state counts"),
        ("UPDATE {t} SET log_dir_count = 3", "log_dir_count and offline_log_dirs are what log_dir_state counts"),
        (f"UPDATE {{t}} SET at_ms = {NOW_MS - 2 * HOUR_MS}", "the newest row of every cluster is fresh"),
    ],
    "log_dir_state": [
        (COPY, "cluster, broker, log_dir is unique"),
        ("UPDATE {t} SET cause = 'moths'", "cause has a known value"),
        ("UPDATE {t} SET total_bytes = -1", "no size, count or time is negative"),
        ("UPDATE {t} SET total_bytes = 1, usable_bytes = 2", "usable_bytes is at most total_bytes"),
        ("UPDATE {t} SET used_ratio = 1.5", "every ratio lies between 0 and 1"),
        ("UPDATE {t} SET broker = 99", "every directory's broker is known"),
    ],
    "replica_state": [
        (COPY, "cluster, broker, topic, partition, is_future is unique"),
        ("UPDATE {t} SET status = 'gone'", "status has a known value"),
        ("UPDATE {t} SET size_bytes = -5", "no size, count or time is negative"),
    ],
    "topic_state": [
        (COPY, "cluster, topic, partition is unique"),
        ("UPDATE {t} SET unread_ratio = -0.5", "every ratio lies between 0 and 1"),
    ],
    "log_dir_inventory": [
        (COPY, "cluster, broker, log_dir is unique"),
        ("UPDATE {t} SET cluster = NULL", "cluster is never null"),
    ],
    "log_dir_samples": [
        (COPY, "cluster, broker, log_dir, collector, timestamp_ms is unique"),
        ("UPDATE {t} SET usable_bytes = total_bytes + 1", "usable_bytes is at most total_bytes"),
    ],
    "transitions": [
        (COPY, "transition_id is unique"),
        ("UPDATE {t} SET to_status = 'fine'", "to_status has a known value"),
        (
            (
                "INSERT INTO {t} (transition_id, cluster, broker, log_dir, from_status, to_status, at_ms) "
                f"VALUES ('t9', 'prod', 7, '/d1', 'filling', 'critical', {T0}), "
                f"('t8', 'prod', 7, '/d1', 'saturated', 'online', {T0})"
            ),
            "changes of status follow each other without a gap",
        ),
        ("UPDATE {t} SET to_status = 'filling' WHERE transition_id = 't2'", "the last change of a directory"),
    ],
    "alerts": [
        (COPY, "alert_id, revision is unique"),
        ("UPDATE {t} SET severity = 'loud'", "severity has a known value"),
        ("UPDATE {t} SET revision = 7 WHERE alert_id = 'a1' AND revision = 1", "no revision of an alert is missing"),
        ("UPDATE {t} SET revision = 3 - revision WHERE alert_id = 'over'", "no revision follows the end of an alert"),
        ("UPDATE {t} SET broker = 99 WHERE alert_id = 'a1'", "the broker of every open alert is known"),
        ("UPDATE {t} SET log_dir = '/d9' WHERE alert_id = 'a1'", "the directory of every open alert is known"),
        ("UPDATE {t} SET alert_id = 'a9' WHERE alert_id = 'a1'", "every open alert has an action"),
    ],
    "actions": [
        (COPY, "action_id, revision is unique"),
        ("UPDATE {t} SET kind = 'pray'", "kind has a known value"),
        ("UPDATE {t} SET revision = 7 WHERE revision = 2", "no revision of an action is missing"),
        ("UPDATE {t} SET alert_id = 'nobody'", "the alert of every action is known"),
    ],
    "executions": [
        (COPY, "execution_id, at_ms, state, step is unique"),
        ("UPDATE {t} SET state = 'lost'", "state has a known value"),
        ("UPDATE {t} SET planned_bytes = -1", "no size, count or time is negative"),
    ],
    "decisions": [(COPY, "id, at_ms is unique"), ("UPDATE {t} SET decision = 'shrug'", "decision has a known value")],
    "rejected_records": [
        (COPY, "topic, partition, offset is unique"),
        ("UPDATE {t} SET offset = NULL", "offset is never null"),
    ],
}


def test_every_table_is_damaged_here():
    assert set(DAMAGE) == set(CHECKED)


@pytest.mark.long
@pytest.mark.parametrize("table", DAMAGE)
def test_damage_is_found_by_the_expectation_that_it_concerns(sound, table):
    for statement, expectation in DAMAGE[table]:
        damage(sound, table, statement)
        wrong = failed(checked(sound, table)).get(table, [])
        assert any(said.startswith(expectation) for said in wrong), f"{statement}: {wrong}"
        damage(sound, table, "RESTORE TABLE {t} TO VERSION AS OF " + str(sound.versions()[table] - 1))
    assert failed(checked(sound, table)) == {}


@pytest.mark.parametrize("lost", ["broker = 7", "status = 'online'"])
def test_rows_of_directories_that_are_lost_are_missed(sound, lost):
    damage(sound, "log_dir_state", f"DELETE FROM {{t}} WHERE {lost}")
    assert failed(checked(sound, "broker_state")) == {
        "broker_state": ["log_dir_count and offline_log_dirs are what log_dir_state counts"]
    }


@pytest.mark.long
def test_what_has_not_settled_and_what_is_not_there_is_no_fault(sound):
    damage(sound, "actions", "DELETE FROM {t}")
    assert failed(checked(sound, "alerts", now_ms=T0 + 1_000)) == {}
    assert list(failed(checked(sound, "alerts"))) == ["alerts"]
    shutil.rmtree(f"{sound.settings.tables_path}/actions")
    found = checked(sound, "alerts", "actions", now_ms=T0 + 1_000)
    assert ({one.suite for one in found}, failed(found)) == ({"alerts"}, {})
