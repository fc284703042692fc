"""How the host says that a broker's process ended, among all that it says of others."""

import pytest

from logdirwatch.collect.host.logs import KernelLog
from logdirwatch.parse.broker_log.entries import Entries
from logdirwatch.parse.broker_log.failures import BrokerFailed
from logdirwatch.parse.broker_log.process_ends import level_of, reason_in_log_of_host

AT = "Mar  8 16:42:33 kafka-3"
OF_MEMORY = (
    "total-vm:12582912kB, anon-rss:8388608kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:9kB oom_score_adj:0"
)
TOLD = [
    (f"{AT} kernel: [91.2] Out of memory: Killed process 811 (java) {OF_MEMORY}", "oom_killed"),
    (f"{AT} kernel: Memory cgroup out of memory: Killed process 811 (java) {OF_MEMORY}", "oom_killed"),
    (f"{AT} kernel: Out of memory: Kill process 811 (java) score 905 or sacrifice child", "oom_killed"),
    (f"{AT} kernel: Killed process 811, UID 1000, (java) total-vm:1kB, anon-rss:1kB, file-rss:0kB", "oom_killed"),
    (f"3,9,912,-;Out of memory: Killed process 811 (java) {OF_MEMORY}", "oom_killed"),
    ("[Sun Mar  8 16:42:33 2026] Memory cgroup out of memory: Killed process 811 (java) total-vm:1kB", "oom_killed"),
    (f"{AT} kernel: oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task=java,pid=811,uid=1", "oom_killed"),
    (f"{AT} systemd[1]: kafka.service: A process of this unit has been killed by the OOM killer.", "oom_killed"),
    (f"{AT} systemd[1]: confluent-server.service: Failed with result 'oom-kill'.", "oom_killed"),
    (f"{AT} systemd-oomd[702]: Killed /system.slice/kafka.service due to memory pressure for /system.slice being 81%",
     "oom_killed"),
    (f"{AT} systemd[1]: kafka@2.service: Main process exited, code=dumped, status=6/ABRT", "crashed"),
    (f"{AT} systemd[1]: kafka.service: Main process exited, code=killed, status=11/SEGV", "crashed"),
    (f"{AT} systemd[1]: kafka.service: main process exited, code=killed, status=9/KILL", "killed"),
    (f"{AT} systemd[1]: kafka.service: Main process exited, code=exited, status=137/n/a", "killed"),
    (f"{AT} systemd[1]: kafka.service: start operation timed out. Terminating.", "killed"),
    (f'{AT} earlyoom[99]: sending SIGTERM to process 811 uid 1000 "java": badness 889, VmRSS 8192 MiB', "oom_killed"),
    (f'{AT} kubelet[9]: eviction_manager.go:627] "Eviction manager: pod is evicted successfully" pod="x/kafka-0"',
     "killed"),
    (f"{AT} kubelet[9]: I0308 1 eviction_manager.go:577] eviction manager: pod kafka-0_x(7) is evicted successfully",
     "killed"),
    (f"{AT} earlyoom[99]: sending SIGKILL to process 811 uid 1000 'java': oom_score 889, VmRSS 8192 MiB", "oom_killed"),
]  # fmt: skip
OF_OTHERS = [
    f"{AT} kernel: Out of memory: Killed process 90 (chrome) total-vm:1kB",
    f"{AT} kernel: java invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
    f"{AT} kernel: oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),task=postgres,pid=811,uid=26",
    f"{AT} systemd[1]: kafka-connect.service: Failed with result 'oom-kill'.",
    f"{AT} systemd[1]: kafka_exporter.service: Main process exited, code=killed, status=9/KILL",
    f"{AT} systemd[1]: postgresql.service: Failed with result 'oom-kill'.",
    f"{AT} systemd[1]: kafka.service: Main process exited, code=exited, status=143/n/a",
    f"{AT} systemd[1]: kafka.service: Main process exited, code=exited, status=1/FAILURE",
    f"{AT} systemd[1]: kafka.service: Failed with result 'exit-code'.",
    f"{AT} systemd[1]: kafka.service: Succeeded.",
    f"{AT} systemd[1]: kafka.service: Scheduled restart job, restart counter is at 3.",
    f'{AT} earlyoom[99]: sending SIGTERM to process 90 uid 1000 "chrome": badness 900, VmRSS 2048 MiB',
    f"{AT} earlyoom[99]: mem avail: 2048 of 64311 MiB ( 3.18%), swap free: 0 of 0 MiB ( 0.00%)",
    f"{AT} bash[7]: exec: java: not found",
    f'{AT} kubelet[9]: "Eviction manager: pod is evicted successfully" pod="x/kafka-exporter-0"',
    f'{AT} kubelet[9]: "Eviction manager: pods ranked for eviction" pods=["x/kafka-0"]',
    f"{AT} kernel: EXT4-fs (sdb1): mounted filesystem with ordered data mode",
]


class Held:
    """A log of these lines."""

    began_midway = False

    def __init__(self, *lines):
        self.lines = lines

    def read(self):
        yield "".join(f"{line}\n" for line in self.lines).encode()


@pytest.mark.parametrize(("line", "reason"), TOLD)
def test_the_log_of_a_host_tells_how_its_broker_ended(line, reason):
    (found,) = KernelLog(Held(line)).findings()
    assert isinstance(found, BrokerFailed)
    assert found.reason == reason


@pytest.mark.parametrize("line", OF_OTHERS)
def test_what_is_said_of_others_or_of_no_end_is_none(line):
    assert reason_in_log_of_host(line) is None


def test_the_words_are_those_of_the_kernel_without_what_stands_before_them():
    (found,) = KernelLog(Held(TOLD[1][0])).findings()
    assert found.detail.startswith(
        "its process was killed for lack of memory: Memory cgroup out of memory: Killed process 811 (java) total-vm:"
    )


def test_what_the_kernel_says_of_disks_is_told_beside_it():
    log = KernelLog(Held(TOLD[0][0], f"{AT} kernel: critical medium error, dev sdq, sector 12"))
    assert [error.device for error in log.news()] == ["sdq"]


@pytest.mark.parametrize("line", [row[0] for row in TOLD[:3]] + [TOLD[7][0], OF_OTHERS[9], OF_OTHERS[10]])
def test_a_line_of_the_host_begins_an_entry_in_a_broker_s_log(line):
    cut = Entries()
    before = b"[2026-03-08 16:42:33,730] ERROR x (kafka.server.KafkaServer)\njava.io.IOException: y\n"
    entries = [*cut.feed(before + line.encode() + b"\n"), *cut.end()]
    assert [entry.logger for entry in entries] == ["kafka.server.KafkaServer", "host"]
    assert entries[0].more == ("java.io.IOException: y",)
    assert cut.not_understood_lines == 0


OTHERS = [
    "Killed by a colleague",
    "service: x",
    "	at a.service: b",
    "Stopped x.service",
    "mkdir: created, although Permission denied was said first",
]


@pytest.mark.parametrize("line", OTHERS)
def test_other_lines_begin_none(line):
    assert level_of(line) is None
