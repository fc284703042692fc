"""A cluster's state between two commands."""

import threading

import pytest

from logdirwatch.errors import UserError
from logdirwatch_lab.cluster import log_dir_index
from logdirwatch_lab.state import MountMode, Node, Process, State, StateFile
from tests.support.waiting import DEADLINE_S


def node(broker=0, log_dirs=("/d0", "/d1"), **fields):
    defaults = {"port": 9000 + broker, "controller_port": None, "rack": "r0", "folder": "/b", "metadata_dir": "/m"}
    return Node(id=broker, log_dirs=list(log_dirs), **{**defaults, **fields})


def cluster_state(*brokers, **fields):
    defaults = {"cluster_id": "c", "mount_mode": MountMode.PLAIN, "log_dir_size_bytes": None, "holder": None}
    return State(brokers=list(brokers), telemetry=node(port=9999), **{**defaults, **fields})


def test_what_is_saved_is_loaded_and_nothing_else_is_left_in_the_folder(tmp_path):
    file = StateFile(tmp_path / "cluster")
    assert file.load() is None
    state = cluster_state(node(0, process=Process(1, 2.5)), node(1, controller_port=7), holder=Process(3, 4.0))
    file.save(state)
    assert file.load() == state
    assert [path.name for path in (tmp_path / "cluster").iterdir()] == ["cluster.json"]


def test_a_state_that_cannot_be_read_says_so_in_one_line(tmp_path):
    file = StateFile(tmp_path)
    file.path.write_text('{"brokers": 7}')
    with pytest.raises(UserError, match="cannot be read"):
        file.load()


def test_changes_wait_for_each_other_and_leave_no_file(tmp_path):
    order = []
    file = StateFile(tmp_path / "home" / "cluster")

    def change():
        with StateFile(tmp_path / "home" / "cluster").exclusive():
            order.append("second")

    with file.exclusive():
        other = threading.Thread(target=change)
        other.start()
        other.join(0.2)
        order.append("first")
    other.join(DEADLINE_S)
    assert order == ["first", "second"]
    assert list((tmp_path / "home").iterdir()) == []


def test_the_addresses_and_voters_are_the_brokers():
    state = cluster_state(node(0, controller_port=1), node(1))
    assert state.bootstrap_servers == "127.0.0.1:9000,127.0.0.1:9001"
    assert [voter.id for voter in state.voters] == [0]
    assert [member.port for member in state.nodes] == [9000, 9001, 9999]


def test_a_broker_that_is_not_there_is_wrong_use():
    with pytest.raises(UserError, match="its brokers are 0, 1") as refused:
        cluster_state(node(0), node(1)).broker(2)
    assert refused.value.exit_code == 2


def test_a_directory_is_named_by_index_or_path():
    for name in (1, "1", "/d1"):
        assert log_dir_index(node(), name) == 1
    assert log_dir_index(node(log_dirs=["1", "0"]), "0") == 1
    for name in (2, "2", -1, "-1", "/d2", ""):
        with pytest.raises(UserError, match=r"it has 0 \(/d0\), 1 \(/d1\)"):
            log_dir_index(node(), name)
