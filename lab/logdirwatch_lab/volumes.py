"""File systems of a fixed size for log directories: tmpfs, mounted for the machine or in the brokers' namespace."""

import contextlib
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import psutil

from logdirwatch.errors import UserError
from logdirwatch_lab import processes
from logdirwatch_lab.state import MountMode, Process, State
from logdirwatch_lab.waiting import wait_until

# Keeps the namespace while no broker runs in it.
HOLDER = ("sleep", "infinity")
HOLDER_DEADLINE_S = 60.0
PROBE_BYTES = 1 << 20


@dataclass(frozen=True)
class Space:
    """The size of a file system and what an ordinary process can still write."""

    total_bytes: int
    free_bytes: int

    @property
    def used_ratio(self) -> float:
        """The used share of the file system."""
        return 1 - self.free_bytes / self.total_bytes


@dataclass(frozen=True)
class Volumes:
    """Access to the brokers' paths, and mounting of file systems there."""

    mode: MountMode
    holder: Process | None = None

    def view(self, path: str | Path) -> Path:
        """Return the path by which this process reaches a broker's path."""
        return Path(f"/proc/{self.holder.pid}/root{path}") if self.holder else Path(path)

    def inside(self, command: list[str]) -> list[str]:
        """Return ``command`` so that it sees the brokers' file systems."""
        if self.holder is None:
            return command
        return ["nsenter", "-t", str(self.holder.pid), "-U", "-m", "--preserve-credentials", "--", *command]

    def mount(self, path: Path, size_bytes: int) -> None:
        """Mount an empty file system of ``size_bytes`` at an existing folder; raises UserError if not allowed."""
        self._run("mount", "-t", "tmpfs", "-o", f"size={size_bytes},mode=0755", "logdirwatch", str(path))

    def resize(self, path: Path, size_bytes: int) -> None:
        """Resize a mounted file system."""
        self._run("mount", "-o", f"remount,size={size_bytes}", str(path))

    def space(self, path: str | Path) -> Space | None:
        """Return the space of the file system of ``path``, None if it cannot be read."""
        try:
            answer = os.statvfs(self.view(path))
        except OSError:
            return None
        return Space(answer.f_blocks * answer.f_frsize, answer.f_bavail * answer.f_frsize)

    def _run(self, *command: str) -> None:
        done = subprocess.run(self.inside(list(command)), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            complaint = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[0]
            raise UserError(complaint if complaint.startswith(command[0]) else f"{command[0]}: {complaint}")


def volumes_of(state: State) -> Volumes:
    """Return the volumes of a running cluster."""
    return Volumes(state.mount_mode, state.holder)


def open_volumes(mode: MountMode | None, folder: Path) -> Volumes:
    """Return volumes of the given mode, or of the first mode that works here, with the holder process running.

    ``folder`` is any own folder in which a mount can be tried. Raises UserError if no mode works.
    """
    problems = []
    for candidate in (mode,) if mode else (MountMode.DIRECT, MountMode.NAMESPACE):
        volumes = Volumes(candidate, _start_holder(folder) if candidate is MountMode.NAMESPACE else None)
        if volumes.mode is MountMode.PLAIN or not (problem := _mount_problem(volumes, folder)):
            return volumes
        processes.kill([volumes.holder])
        problems.append(f"{candidate.value}: {problem}")
    raise UserError(
        "this machine allows no mount of a sized file system, neither as this user nor in a user namespace "
        f"({'; '.join(problems)}); run as root or omit the size of the log directories"
    )


def unmount_below(folder: Path) -> None:
    """Unmount whatever is mounted for the machine below ``folder``, deepest first."""
    mounted = [partition.mountpoint for partition in psutil.disk_partitions(all=True)]
    for point in sorted(mounted, key=len, reverse=True):
        if Path(point).is_relative_to(folder):
            # Lazy, so that a shell in the folder does not keep the mount.
            done = subprocess.run(["umount", "-l", point], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise UserError(f"cannot unmount {point}: {done.stderr.strip()}; unmount it manually")


def _start_holder(folder: Path) -> Process:
    """Start the process that keeps the namespace; it turns into HOLDER once it is in it."""
    output = folder / "namespace.log"
    holder = processes.spawn(["unshare", "-Urm", *HOLDER], output)
    wait_until(
        lambda: _command_of(holder) in (list(HOLDER), None),
        HOLDER_DEADLINE_S,
        "unshare -Urm did not start",
    )
    return holder


def _command_of(process: Process) -> list[str] | None:
    running = processes.find(process)
    with contextlib.suppress(psutil.NoSuchProcess):
        return running.cmdline() if running else None
    return None


def _mount_problem(volumes: Volumes, folder: Path) -> str | None:
    """Try it: more than the user id decides whether mounting is allowed."""
    if volumes.holder and not processes.find(volumes.holder):
        return processes.tail(folder / "namespace.log", 1) or "unshare failed"
    with tempfile.TemporaryDirectory(dir=folder, prefix=".probe-") as probe:
        try:
            volumes.mount(Path(probe), PROBE_BYTES)
            volumes.view(f"{probe}/file").touch()
        except (UserError, OSError) as error:
            return str(error)
        finally:
            unmount_below(Path(probe))
    return None
