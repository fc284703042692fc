"""Five scenarios that read the wrong cause, order or broker: each must notice, or it would prove nothing."""

import pytest

from tests.scenarios import test_lost_directories, test_lost_nodes
from tests.scenarios.reading import Swap

CAUSES = {"unknown": "full", "full": "unknown", "directory": "broker", "broker": "directory"}
LANES = {"fast": "stateful", "stateful": "fast"}


def other_cause(record):
    return {**record, "cause": CAUSES.get(record["cause"], record["cause"])} if "cause" in record else record


def other_broker(record):
    return record if record["broker"] is None else {**record, "broker": (record["broker"] + 1) % 4}


def other_order(record):
    """What came up first came up last."""
    return {**record, "opened_at_ms": -record["opened_at_ms"]}


def other_lane(record):
    return {**record, "lane": LANES[record["lane"]]}


SWAPPED = {
    "an alert's cause": (
        test_lost_directories.test_kip_112_disk_is_fixed_and_the_broker_restarted,
        Swap(alert=other_cause),
        "an alert with rule log_dir_offline, broker 0",
    ),
    "an alert's broker": (
        test_lost_nodes.test_a_broker_is_killed,
        Swap(alert=other_broker),
        "an alert with rule broker_offline, broker 3",
    ),
    "the order of two alerts": (test_lost_nodes.test_a_broker_hangs, Swap(alert=other_order), "assert -"),
    "the order of two lanes": (
        lambda world: test_lost_directories.test_kip_112_directory_fails_at_run_time(world, "leader"),
        Swap(alert=other_lane),
        "lane stateful, cause unknown",
    ),
    "a replica's cause": (
        test_lost_directories.test_kip_112_replica_states_are_the_union,
        Swap(row=other_cause),
        "'directory'",
    ),
}


@pytest.mark.parametrize("what", SWAPPED)
def test_a_scenario_notices_what_is_swapped(world, what):
    scenario, swap, complaint = SWAPPED[what]
    with world.swapped(swap), pytest.raises(AssertionError) as noticed:
        scenario(world)
    assert complaint in str(noticed.value)
