"""``store`` and the state of brokers: the highest sequence holds, and what left a record leaves the tables."""

import pytest

from logdirwatch.model import topics
from logdirwatch.model.records import PartitionHealth
from tests.spark.lake import T0, metrics, state, transition

pytestmark = pytest.mark.usefixtures("written_by")


def tombstone(broker=7):
    return topics.STATE, f"prod/{broker}", None


def test_a_state_record_makes_the_rows_of_its_broker_and_directories(lake):
    health = PartitionHealth(leaderless=2, under_min_isr=3, examples=["t-0"])
    lake.store(
        state(status="degraded", rack="r1", partitions=health, log_dirs={"/d1": "offline", "/d2": "online"}),
        state(broker=8),
    )
    columns = ("broker", "sequence", "status", "rack", "log_dir_count", "offline_log_dirs", "leaderless")
    assert lake.rows("broker_state", *columns) == [
        (7, 1, "degraded", "r1", 2, 1, 2),
        (8, 1, "online", None, 2, 0, None),
    ]
    assert lake.rows("log_dir_state", "log_dir", "status", "cause", "since_ms", broker=7) == [
        ("/d1", "offline", "failed", T0 + 1),
        ("/d2", "online", None, T0 + 1),
    ]


def test_a_planned_absence_and_a_recovery_stand_in_the_row_of_the_broker(lake):
    planned = {"maintenance_until_ms": T0 + 9, "maintenance_by": "ada", "maintenance_reason": "new disk"}
    lake.store(state(status="offline", recovering_logs=70, **planned))
    columns = ("status", "maintenance_until_ms", "maintenance_by", "maintenance_reason", "recovering_logs")
    assert lake.rows("broker_state", *columns) == [("offline", T0 + 9, "ada", "new disk", 70)]
    lake.store(state(sequence=2))
    assert lake.rows("broker_state", *columns) == [("online", None, None, None, None)]


def test_the_highest_sequence_of_a_batch_holds(lake):
    lake.store(state(sequence=2, status="degraded"), state(sequence=3, status="online"), state(sequence=1))
    assert lake.rows("broker_state", "sequence", "status", "source_offset") == [(3, "online", 1)]


def test_a_lower_sequence_after_a_higher_changes_nothing(lake):
    lake.store(state(sequence=5, log_dirs={"/d1": "online"}))
    before = lake.content()
    lake.store(state(sequence=4, status="offline", log_dirs={"/d1": "offline", "/gone": "online"}))
    assert lake.content() == before


def test_the_same_sequence_again_changes_nothing(lake):
    lake.store(state(sequence=5))
    before = lake.content()
    lake.store(state(sequence=5, status="offline"))
    assert lake.content() == before


@pytest.mark.parametrize("written_by", ["driver", "spark"], indirect=True)
def test_a_directory_that_left_the_record_leaves_the_table(lake):
    lake.store(state(log_dirs={"/d1": "online", "/d2": "online"}), state(broker=8))
    lake.store(state(sequence=2, log_dirs={"/d2": "online", "/d3": "online"}))
    assert lake.rows("log_dir_state", "broker", "log_dir") == [(7, "/d2"), (7, "/d3"), (8, "/d1"), (8, "/d2")]
    lake.store(state(sequence=3, log_dirs={}))
    assert lake.rows("log_dir_state", "broker", "log_dir") == [(8, "/d1"), (8, "/d2")]


def test_every_transition_of_every_record_is_kept(lake):
    lake.store(
        state(sequence=2, transitions=[transition(1), transition(2)]), state(sequence=1, transitions=[transition(0)])
    )
    lake.store(state(sequence=3, transitions=[transition(2), transition(3)]))
    assert lake.rows("transitions", "transition_id", "source_offset") == [("t0", 1), ("t1", 0), ("t2", 0), ("t3", 2)]


def test_configs_join_their_broker_and_stay_through_its_states(lake):
    lake.store(state(), metrics(configs={"log.dirs": "/d1"}))
    lake.store(state(sequence=2, status="degraded"))
    lake.store(metrics(at_ms=T0 + 60_000, configs={"log.dirs": "/d2"}))
    lake.store(metrics(at_ms=T0 + 30_000, configs={"log.dirs": "late"}))
    assert lake.rows("broker_state", "sequence", "status", "configs_at_ms") == [(2, "degraded", T0 + 60_000)]
    assert lake.rows("broker_state")[0]["configs"] == {"log.dirs": "/d2"}


def test_configs_alone_make_no_broker(lake):
    lake.store(metrics(configs={"log.dirs": "/d1"}))
    assert lake.rows("broker_state") == []


def test_a_tombstone_takes_the_broker_out_and_its_history_stays(lake):
    lake.store(state(transitions=[transition(1)]), state(broker=8))
    lake.store(tombstone())
    assert lake.rows("broker_state", "broker") == [(8,)]
    assert lake.rows("log_dir_state", "broker", "log_dir") == [(8, "/d1"), (8, "/d2")]
    assert len(lake.rows("transitions")) == 1


def test_a_broker_that_comes_back_after_its_tombstone_starts_anew(lake):
    lake.store(state(sequence=9))
    lake.store(tombstone(), state(sequence=1, status="degraded"))
    assert lake.rows("broker_state", "sequence", "status") == [(1, "degraded")]


@pytest.mark.parametrize("written_by", ["driver", "spark"], indirect=True)
def test_a_tombstone_that_comes_again_spares_what_came_after_it(lake):
    gone = lake.store(state(sequence=9), tombstone())
    assert lake.rows("broker_state") == []
    lake.store(state(sequence=1))
    before = lake.content()
    lake.store_rows(gone[1:])
    assert lake.content() == before
