"""What would help where replicas cannot be rebuilt: short, and with the broker that is meant."""

import pytest

from logdirwatch.plan.proposal import Veto
from logdirwatch.plan.reassignment.replacement_replicas import Repair, Unplaced
from logdirwatch.plan.reassignment.unplaced import nothing_fits, remedies


def repair(*vetoes):
    unplaced = tuple(Unplaced(f"t-{number}", Veto(*veto), 1) for number, veto in enumerate(vetoes))
    return Repair(assignments=(), before=(), unplaced=unplaced, bytes_in={}, bytes_per_broker={})


AWAY = ("broker_not_alive", "broker 2 is not known to be alive")
ALSO = ("broker_not_alive", "broker 12 is not known to be alive")


@pytest.mark.parametrize(
    ("vetoes", "helps"),
    [
        ([AWAY], ["bring broker 2 back"]),
        ([AWAY, ALSO, AWAY], ["bring broker 2 back", "bring broker 12 back"]),
        ([("broker_not_alive", "nobody knows which")], ["bring back the brokers that are away"]),
        ([AWAY, ("no_broker_left", "none")], ["bring broker 2 back", "one broker more than the replication factor"]),
        ([("new_rule", "why")], ["what stands against it gone"]),
    ],
)
def test_what_would_help_is_said_once(vetoes, helps):
    assert remedies(repair(*vetoes)) == helps


def test_one_replica_and_several_are_told_apart():
    assert nothing_fits(repair(AWAY)).startswith("; its only replica cannot be rebuilt elsewhere (")
    assert nothing_fits(repair(AWAY, ALSO)).startswith("; none of its 2 replicas can be rebuilt elsewhere (")
    assert nothing_fits(repair(AWAY)).endswith("Would help: bring broker 2 back")
