"""How a broker's process ended if it could not log that itself: lines of the kernel, systemd and scripts. Pure.

A killed process writes nothing, nor does one that the script of its image could not start. If its output is in the
journal, its own log has these lines. The logs of its host have them too, where they may be about other processes: there
a line counts only if it names Java or a Kafka service.
"""

import re
from collections.abc import Sequence

from logdirwatch.model.broker_failures import BY_CAUSE
from logdirwatch.model.broker_failures import BrokerFailureReason as Reason
from logdirwatch.parse.os_errors import os_error_in
from logdirwatch.parse.patterns import LINE_CHARACTERS, compiled

HOST = "host"
"""The logger of an entry written by the host."""

_UNIT = r"(?P<unit>[\w@.:\\-]+\.(?:service|scope)):? "
_OF_KERNEL = (
    r"(?:[Mm]emory cgroup )?[Oo]ut of memory: Kill|Killed process \d+|oom-kill:constraint=|\S+ invoked oom-killer"
)
_OF_SHELL = r"\S+: line \d+: +\d+ (?:Killed|Aborted|Bus error|Segmentation fault)\b"
# A shell or a container runtime that finds no Java to execute, or that of another architecture.
_NO_JAVA = (
    r"(?:exec\b|standard_init_linux\.go:|OCI runtime |\S+: line \d+: ).{0,200}"
    r"(?:[Ee]xec format error|user process caused|java: (?:command )?not found|java\S* executable file not found)"
)
# Programs that end others before the kernel has to.
_OF_EARLYOOM = r"sending SIG(?:TERM|KILL) to process \d+ uid \d+ \W?"
_TOOLS = ("mkdir", "touch", "chown", "chmod", "cp", "mv", "ln", "rm", "tee", "cat", "sed", "grep", "find", "install")
_OF_WRAPPER = r"JVM (?:exited|received a signal|process (?:is gone|has gone))"
_OF_CHECK = r"Command \[\S*ub path \S+ \w+\] FAILED"
"""The message of Confluent's images about a directory that they checked."""
# A shell names the script, the line and the file in the system's language; its tools begin with their own name.
_OF_SCRIPT = compiled(rf"\S+: (?:\S+ ?)?\d+ ?\S{{0,3}} ?[:：] ?(?:cannot \w+ )?/|(?:{'|'.join(_TOOLS)}): ")
STORAGE_TOOL = "Error while writing meta.properties file /"
"""The message of kafka-storage.sh, which formats the directories of a broker before its first start.

The images run it, and what it printed before may stand on the same line."""
_LINE = compiled(
    r"(?:\[ *[\d.]+\] )?"
    rf"(?:{_UNIT}|Unit \S+\.service |{_OF_KERNEL}|{_OF_SHELL}|{_OF_WRAPPER}|systemd-oomd|Killed /\S+ due to"
    rf"|{_OF_CHECK}|{_OF_EARLYOOM}|{_NO_JAVA})"
)

_CRASHED = "(?:4/ILL|6/ABRT|7/BUS|8/FPE|11/SEGV|13[24569]/)"
_ENDS: Sequence[tuple[Reason, "re.Pattern[str]"]] = tuple(
    (reason, compiled(pattern))
    for reason, pattern in (
        (Reason.OOM_KILLED, r"[Oo]ut of memory: Kill(?:ed)? process \d+|Killed process \d+,?(?: UID \d+,?)? \("),
        (Reason.OOM_KILLED, rf"oom-kill:constraint=|{_OF_EARLYOOM}"),
        (Reason.OOM_KILLED, r"killed by the OOM killer|result 'oom-kill'|due to memory (?:pressure|used)"),
        (Reason.CRASHED, rf"[Mm]ain process exited, code=\w+, status={_CRASHED}|result 'core-dump'"),
        (Reason.CRASHED, r": line \d+: +\d+ (?:Aborted|Bus error|Segmentation fault)"),
        (Reason.KILLED, r"[Mm]ain process exited, code=(?:killed, status=9/KILL|exited, status=137/)"),
        (Reason.KILLED, r"timed out\. (?:Killing|Terminating|Aborting)|Watchdog timeout|with signal SIGKILL"),
        (Reason.KILLED, r": line \d+: +\d+ Killed\b|JVM (?:exited unexpectedly|received a signal SIGKILL)"),
        (Reason.PERMISSION, f"^{_OF_CHECK}"),
        (Reason.JAVA, _NO_JAVA),
    )
)

_JAVA = compiled(
    r"process \d+,?(?: UID \d+,?)? \((?:java|kafka[^)]*)\)|oom-kill:constraint=.*\btask=(?:java|kafka)"
    rf"|{_OF_EARLYOOM}(?:java|kafka)\b"
)
_KERNELS = compiled(rf"{_OF_KERNEL}|{_OF_EARLYOOM}")
_KAFKA = compiled(r"kafka|confluent-server", re.IGNORECASE)
_BESIDE_KAFKA = compiled(
    r"connect|mirror|exporter|rest|ui\b|manager|schema|ksql|lag|burrow|zookeeper|cruise|akhq|logdirwatch", re.IGNORECASE
)
# The kubelet, which takes away a pod, and with it an emptyDir, when its node lacks disk space or memory.
_EVICTED = compiled(r'[Ee]viction manager: pod (?:is evicted successfully" pod=")?(?P<pod>[\w.()/-]+)')
_NAMED = compiled(r"(?P<unit>[\w@.:\\-]+\.(?:service|scope))\b")


def level_of(text: str) -> str | None:
    """Return the level of a line that the host wrote about a broker's process, None for any other line."""
    if _refusal_of(text) is not None:
        return "ERROR"
    if _LINE.match(text) is None:
        return None
    return "INFO" if reason_of(text) is None else "ERROR"


def reason_of(text: str) -> Reason | None:
    """Return how the process in a line ended, None if the line reports no end."""
    return _refusal_of(text) or next((reason for reason, pattern in _ENDS if pattern.search(text)), None)


def _refusal_of(text: str) -> Reason | None:
    """Return why a script, or a tool that it runs, was refused a file."""
    is_of_tool = text.startswith(STORAGE_TOOL)
    is_refusal = is_of_tool or _OF_SCRIPT.match(text) is not None
    error = os_error_in(text.rstrip(), is_end=not is_of_tool) if is_refusal else None
    return None if error is None else BY_CAUSE.get(error.cause)


def reason_in_log_of_host(line: str) -> tuple[Reason, str] | None:
    """Return how a broker ended, with the wording, if a line of its host's log seems to be about one."""
    line = line[:LINE_CHARACTERS]
    if (evicted := _EVICTED.search(line)) is not None and _is_of_kafka(evicted["pod"]):
        return Reason.KILLED, line[evicted.start() :].strip()
    reason = reason_of(line)
    if reason is None:
        return None
    if (java := _JAVA.search(line)) is not None:
        begins = _KERNELS.search(line, 0, java.end())
        return reason, line[begins.start() if begins else java.start() :].strip()
    unit = _NAMED.search(line)
    if unit is None or not _is_of_kafka(unit["unit"]):
        return None
    return reason, line[unit.start() :].strip()


def _is_of_kafka(name: str) -> bool:
    """Tell whether a unit or a pod is a broker's, not that of a tool beside it."""
    return _KAFKA.search(name) is not None and _BESIDE_KAFKA.search(name) is None
