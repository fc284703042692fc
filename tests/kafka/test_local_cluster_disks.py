"""The local cluster's disks: really full, really gone, and nothing left of them afterwards."""

import os
import signal
import socket
import subprocess
import sys
import threading

import psutil
import pytest

from logdirwatch.errors import UserError
from logdirwatch.model.vocabulary import KAFKA_STORAGE_ERROR
from logdirwatch_lab import bringup, config, ports, probes, processes
from logdirwatch_lab.config import ClusterSpec
from logdirwatch_lab.fill import Ended, FillWith
from logdirwatch_lab.state import MountMode
from logdirwatch_lab.volumes import open_volumes
from tests.kafka.conftest import JARS_HOME, cluster_in
from tests.support.waiting import DEADLINE_S, wait_until

MIB = 1 << 20
SIZE_BYTES = 16 * MIB


def is_allowed(mode, folder):
    try:
        processes.kill([open_volumes(mode, folder).holder])
    except UserError:
        return False
    return True


def allowed_modes(folder):
    """The mount modes of this machine; at least one must work, since sized directories are what is tested."""
    found = [mode for mode in (MountMode.DIRECT, MountMode.NAMESPACE) if is_allowed(mode, folder)]
    assert found, "neither a tmpfs nor a user namespace is allowed here"
    return found


def error_of(cluster, broker, index):
    node = cluster.state().broker(broker)
    return (probes.log_dir_errors(node.address, node.id) or {}).get(node.log_dirs[index])


def processes_of(cluster):
    state = cluster.state()
    return [process for process in [*(node.process for node in state.nodes), state.holder] if process]


def left_of(folder, started):
    """Whatever is left of a cluster: processes, mounts, files."""
    mounts = [part.mountpoint for part in psutil.disk_partitions(all=True) if part.mountpoint.startswith(str(folder))]
    files = [str(folder)] if folder.exists() else []
    return [process.pid for process in started if processes.find(process)] + mounts + files


@pytest.mark.long
def test_sized_directories_fill_fail_and_are_mended_in_every_mount_mode_allowed_here(make_cluster, tmp_path):
    for mode in allowed_modes(tmp_path):
        cluster = make_cluster(brokers=2, log_dirs=2, log_dir_size_bytes=SIZE_BYTES, mount_mode=mode)
        assert cluster.state().mount_mode is mode
        assert cluster.space(1, 0).total_bytes == SIZE_BYTES
        assert len(mounts_below(cluster)) == (4 if mode is MountMode.DIRECT else 0)
        ballast_explains_half_a_disk(cluster)
        data_fills_it_until_kafka_gives_it_up(cluster)
        a_bigger_disk_brings_it_back(cluster)
        a_broken_directory_is_noticed_and_mended(cluster)
        down_leaves_nothing(cluster)


def mounts_below(cluster):
    return [part for part in psutil.disk_partitions(all=True) if part.mountpoint.startswith(str(cluster.folder))]


def ballast_explains_half_a_disk(cluster):
    filled = cluster.fill(1, 0, FillWith.FILE, until_ratio=0.5)
    assert (filled.ended, filled.topic) == (Ended.RATIO, None)
    assert 0.5 <= cluster.space(1, 0).used_ratio < 0.6
    assert error_of(cluster, 1, 0) == 0
    cluster.restore(1, 0)
    assert cluster.space(1, 0).used_ratio < 0.1


def data_fills_it_until_kafka_gives_it_up(cluster):
    assert cluster.fill(1, 0, FillWith.FILE, until_ratio=0.2).ended is Ended.RATIO
    pid = cluster.status().brokers[1].pid
    filled = cluster.fill(1, 0, FillWith.DATA)
    assert (filled.ended, filled.topic) == (Ended.FAILED, "fill-1-0")
    assert error_of(cluster, 1, 0) == KAFKA_STORAGE_ERROR
    assert cluster.space(1, 0).free_bytes == 0
    told = cluster.status().brokers[1]
    assert (told.pid, told.status, told.log_dirs[0].status) == (pid, "running", "full")
    assert "No space left on device" in cluster.state().broker(1).log_file.read_text()
    assert cluster.space(1, 1).used_ratio < 0.1
    with pytest.raises(UserError, match="is offline; repair it"):
        cluster.fill(1, 0, FillWith.DATA)


def a_bigger_disk_brings_it_back(cluster):
    node = cluster.state().broker(1)
    cluster.restore(1, 0)
    assert error_of(cluster, 1, 0) == 0
    assert cluster.space(1, 0).total_bytes == 2 * SIZE_BYTES
    with probes.admin(node.address) as admin:
        assert probes.replica_dirs(admin, 1, "fill-1-0") == {0: node.log_dirs[0]}
    stop = threading.Event()
    threading.Timer(1.0, stop.set).start()
    again = cluster.fill(1, 0, rate_bytes_per_s=100_000, stop=stop)
    assert again.ended is Ended.STOPPED
    assert 0 < again.written_bytes < 2 * MIB


def a_broken_directory_is_noticed_and_mended(cluster):
    cluster.break_log_dir(1, 1)
    wait_until(lambda: error_of(cluster, 1, 1) == KAFKA_STORAGE_ERROR, DEADLINE_S, "Kafka to notice the directory")
    cluster.restore(1, 1)
    assert error_of(cluster, 1, 1) == 0


def down_leaves_nothing(cluster):
    started = processes_of(cluster)
    assert all(processes.find(process) for process in started)
    assert cluster.down() is True
    assert left_of(cluster.folder, started) == []
    assert [path.name for path in cluster.home.iterdir()] == ["jars"]
    assert cluster.down() is False


@pytest.mark.long
def test_after_a_kill_of_everything_another_one_comes_up_in_its_place(make_cluster):
    cluster = make_cluster(brokers=1, log_dirs=1, log_dir_size_bytes=SIZE_BYTES)
    killed = processes_of(cluster)
    for process in killed:
        os.kill(process.pid, signal.SIGKILL)
    wait_until(lambda: not any(map(processes.find, killed)), DEADLINE_S, "the killed processes to be gone")
    assert [broker.status for broker in cluster.status().brokers] == ["stopped"]
    cluster.up()
    assert [broker.status for broker in cluster.status().brokers] == ["running"]
    assert cluster.space(0, 0).total_bytes == SIZE_BYTES


@pytest.mark.long
def test_a_broker_halts_with_its_metadata_directory_and_serves_again_when_it_is_mended(make_cluster):
    cluster = make_cluster(brokers=3, log_dirs=2, metadata_in_first_dir=True)
    # The leader is the hard case: started too soon, it hears from the others that it still leads.
    node, other, _ = quorum_from_its_leader(cluster)
    assert node.metadata_dir == node.log_dirs[0]
    cluster.break_log_dir(node.id, 0)
    wait_until(lambda: status_of(cluster, node) == "stopped", DEADLINE_S, "the leader to halt")
    cluster.restore(node.id, 0)
    assert probes.log_dir_errors(node.address, node.id) == dict.fromkeys(node.log_dirs, 0)
    cluster.kill(other.id)
    cluster.break_log_dir(node.id, 0)
    wait_until(lambda: status_of(cluster, node) == "stopped", DEADLINE_S, "the broker to halt again")
    with pytest.raises(UserError, match="no majority of the other controllers runs"):
        cluster.restore(node.id, 0)


def quorum_from_its_leader(cluster):
    brokers = cluster.state().brokers
    leader = wait_until(
        lambda: next((node for node in brokers if probes.quorum_leader(brokers[0].address) == node.id), None),
        DEADLINE_S,
        "the controllers to have a leader",
    )
    return [leader, *(node for node in brokers if node is not leader)]


def status_of(cluster, node):
    return cluster.status().brokers[node.id].status


OWNER = """
import sys
from pathlib import Path
from logdirwatch_lab.cluster import LocalCluster
from logdirwatch_lab.config import ClusterSpec
home, jars = map(Path, sys.argv[1:])
with LocalCluster(home, ClusterSpec(1, 1, 16 << 20), jars_home=jars) as cluster:
    print("up", flush=True)
    sys.stdin.read()
"""


@pytest.mark.long
def test_a_cluster_goes_down_with_its_owner_even_after_a_kill(tmp_path, make_cluster):
    cluster = cluster_in(tmp_path)
    command = [sys.executable, "-c", OWNER, str(tmp_path), str(JARS_HOME)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout.readline() == "up\n"
        started = processes_of(cluster)
        owner.kill()
    wait_until(lambda: left_of(cluster.folder, started) == [], DEADLINE_S, "the guard to take the cluster down")


@pytest.mark.long
def test_a_port_that_was_taken_meanwhile_is_replaced(make_cluster, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        first = [taken.getsockname()[1], *ports.free_ports(3)]
        offers = iter([first])
        free = ports.free_ports
        monkeypatch.setattr(ports, "free_ports", lambda count: next(offers, None) or free(count))
        cluster = make_cluster(brokers=1, log_dirs=1)
    assert cluster.state().broker(0).port != first[0]
    assert probes.unfenced_brokers(cluster.bootstrap_servers) == {0}
    assert probes.unfenced_brokers(cluster.telemetry) == {0}


@pytest.mark.long
def test_what_cannot_be_started_shows_the_end_of_the_brokers_log_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(bringup, "BROKER_HEAP_MIB", -1)
    cluster = cluster_in(tmp_path, ClusterSpec(brokers=1, log_dirs=1))
    with pytest.raises(UserError, match=r"broker 0 ended while starting.*\n.*Invalid maximum heap size"):
        cluster.up()
    assert left_of(cluster.folder, []) == []
    monkeypatch.setattr(config, "MONITORED", {"log.segment.bytes": "none"})
    with pytest.raises(UserError, match=r"StorageTool: .*Invalid value none for configuration log\.segment\.bytes"):
        cluster.up()
    assert left_of(cluster.folder, []) == []


@pytest.mark.long
def test_a_cluster_whose_state_was_lost_can_be_taken_down(make_cluster):
    cluster = make_cluster(brokers=1, log_dirs=1)
    started = processes_of(cluster)
    cluster.folder.joinpath("cluster.json").write_text("{")
    with pytest.raises(UserError, match="remove it with: logdirwatch-lab down"):
        cluster.up()
    assert cluster.down() is True
    assert left_of(cluster.folder, started) == []
