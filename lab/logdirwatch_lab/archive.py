"""The archive of loaded classes (JEP 350): created once for a Java and a set of jars, it halves JVM start time."""

import contextlib
import dataclasses
import fcntl
import tempfile
from collections.abc import Callable
from pathlib import Path

import structlog

from logdirwatch.errors import UserError
from logdirwatch_lab import config, jvm, nodes, ports, processes
from logdirwatch_lab.jvm import Jvm
from logdirwatch_lab.state import MountMode
from logdirwatch_lab.volumes import Volumes

log = structlog.get_logger(__name__)

DUMP_DEADLINE_S = 180.0


def kafka_jvm(jars_home: Path, work: Path, say: Callable[[str], None]) -> Jvm:
    """Return how to start Kafka, with the class archive if it could be created; ``work`` is the cluster's folder.

    Raises UserError when Kafka's jars or Java are missing.
    """
    plain, archive = jvm.plain_jvm(jars_home)
    with archive.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not archive.exists():
            say("recording Kafka's classes, once, so that brokers start in half the time")
            _record(plain, archive, work)
    if not archive.exists():
        return plain
    return dataclasses.replace(plain, java_options=(f"-XX:SharedArchiveFile={archive}", "-Xlog:cds=off"))


def _record(plain: Jvm, archive: Path, work: Path) -> None:
    """Run one broker until it is ready; it writes the archive when it ends.

    It runs in the cluster's folder, so that taking the cluster down also ends this broker.
    """
    work.mkdir(parents=True, exist_ok=True)
    written = archive.with_suffix(".part")
    recording = dataclasses.replace(plain, java_options=(f"-XX:ArchiveClassesAtExit={written}", "-Xlog:cds=off"))
    with tempfile.TemporaryDirectory(dir=work, prefix=".recording-") as folder:
        try:
            _run_once(recording, Path(folder))
        except UserError as error:
            log.warning("archive.failed", error=str(error))
            return
        if written.exists():
            written.replace(archive)


def _run_once(recording: Jvm, folder: Path) -> None:
    _, node = config.plan_nodes(config.ClusterSpec(brokers=1, log_dirs=1), folder, ports.free_ports(4))
    nodes.write_files(node, [node], 1)
    plain = dataclasses.replace(recording, java_options=())
    volumes = Volumes(MountMode.PLAIN)
    cluster_id = config.new_cluster_id()
    for path in (node.metadata_dir, *node.log_dirs):
        Path(path).mkdir()
    nodes.format_all([(nodes.Launcher(plain, volumes, cluster_id), node)])
    nodes.Launcher(recording, volumes, cluster_id).start(node, nodes.BROKER_HEAP_MIB)
    with contextlib.ExitStack() as clean_up:
        clean_up.callback(lambda: processes.kill([node.process]))
        nodes.wait_serving(node, [node])
        processes.stop(node.process, DUMP_DEADLINE_S)
