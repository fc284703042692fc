"""Kernel errors about a directory's disk count until there is evidence that the trouble is over.

A probe writes 4 KiB somewhere else: a passing one does not prove that an unreadable sector can be read again (decision
31). Such trouble counts for weeks, or until a person declares the disk healthy. A lost path, a silent server or a slow
command ends by itself: by a line of the kernel, or after hours without one in which writes succeeded.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from logdirwatch.detect import causes, predicates
from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime
from logdirwatch.detect.alerts.lifecycle import RECOVERED
from logdirwatch.detect.rules import host_findings, log_dir_suspect
from logdirwatch.detect.state.broker_state import CHARACTERS, LogDirMemory, OpenAlert, Trouble, clipped
from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.brokers import BrokerSuspectEvidence
from logdirwatch.model.records import HostLogDir, HostRecord, KernelNews, LogDirSample
from logdirwatch.model.vocabulary import BELOW_DISK, LOST_WAY, Cause, KernelTrouble, LogDirStatus, Rule
from logdirwatch.parse.kernel_log import arrays
from logdirwatch.parse.kernel_log.lines import is_io_error, kernel_error, says_more
from logdirwatch.parse.kernel_log.log_dirs import with_kernel_errors

KINDS = frozenset(str(trouble) for trouble in KernelTrouble)
TROUBLES_KEPT = 20
_TEXTS = ("probe_error", "kernel_error", "config_error", "device")
_OLD_FORM = re.compile(r"(?:(?P<probe>.*); )?kernel: (?P<line>.*)", re.DOTALL)


def in_present_form(seen: HostLogDir) -> HostLogDir:
    """Return an observation in its present form: older host sources appended the kernel's line to the probe's error."""
    seen = replace(seen, **{name: clipped(getattr(seen, name)) for name in _TEXTS})
    old = _OLD_FORM.fullmatch(seen.probe_error or "")
    if old is None:
        return seen
    error = kernel_error(old["line"])
    (present,) = with_kernel_errors([replace(seen, probe_error=old["probe"])], {seen.path: [error] if error else []})
    return present


def note(log_dir: LogDirMemory, seen: HostLogDir, at_ms: int) -> None:
    """Remember kernel lines about a directory, even if it is offline."""
    _note(log_dir.troubles, seen.kernel, at_ms)


def _note(held: dict[str, Trouble], news: Sequence[KernelNews], at_ms: int) -> None:
    for said in news:
        if said.trouble not in KINDS:
            continue  # of a newer host source
        if said.is_over and said.trouble == KernelTrouble.ARRAY_DEGRADED:
            degraded = {key: one for key, one in held.items() if one.kind == said.trouble}
            for restored in arrays.restored(degraded, said):
                del held[restored]
            continue
        text, device = said.text[:CHARACTERS], clipped(said.device)
        key = f"{said.trouble} {device or ''}"
        before = held.pop(key, None)
        if said.is_over and said.trouble in BELOW_DISK:
            _forget_io_errors(held, at_ms if before is None else before.at_ms)
        if not said.is_over:
            if before is not None and says_more(before.text, text):
                text = before.text
            held[key] = Trouble(kind=said.trouble, text=text, device=device, at_ms=at_ms)
        _forget_given_up(held)
    for key in list(held)[:-TROUBLES_KEPT]:
        del held[key]


def _forget_given_up(held: dict[str, Trouble]) -> None:
    """Forget the errors of members that an array below gave up: they are no longer those of the directory."""
    members = arrays.given_up((one.kind, one.text) for one in held.values())
    for key in [key for key, one in held.items() if arrays.is_explained(one.kind, one.device, members)]:
        del held[key]


def _forget_io_errors(held: dict[str, Trouble], lost_ms: int, until_ms: int | None = None) -> None:
    """Forget the I/O errors that a volume returned for a lost path or a full pool, which is over.

    They began with it, or within the hour in which one explains the other. Unreadable sectors and file system errors
    stay.
    """
    for key, trouble in list(held.items()):
        is_meant = trouble.kind == KernelTrouble.DEVICE_ERROR and is_io_error(trouble.text)
        is_meant = is_meant and trouble.at_ms >= lost_ms - causes.KERNEL_NEAR_MS
        if is_meant and (until_ms is None or trouble.at_ms <= until_ms):
            del held[key]


def judge(context: BrokerContext, seen: HostLogDir, log_dir: LogDirMemory, moment: EvidenceTime) -> None:
    """Suspect a directory for unresolved kernel errors of its disk."""
    for key, trouble in list(log_dir.troubles.items()):
        is_over = _has_healed(context, trouble, log_dir.proof_ms, moment, is_read_only=seen.is_read_only)
        if is_over and log_dir.troubles.pop(key, None) is not None and trouble.kind in BELOW_DISK:
            calm_since_ms = moment.at_ms - context.settings.kernel_calm_ms
            _forget_io_errors(log_dir.troubles, trouble.at_ms, calm_since_ms)
    _tell(context, seen.path, log_dir.troubles, moment)


def outlived(log_dir: LogDirMemory, sample: LogDirSample) -> Trouble | None:
    """Return the I/O error of the broker's log for which a directory was offline that serves again; None if none was.

    A start reads and writes elsewhere: it proves as little as a probe does. A new disk does not hold what it held.
    """
    verdict = causes.shown(log_dir)
    before, now = (predicates.used_ratio(one.total_bytes, one.usable_bytes) for one in (log_dir, sample))
    is_same = log_dir.total_bytes == sample.total_bytes and before is not None and (now or 0.0) > before / 2
    if not is_same or verdict.cause is not Cause.FAILED or verdict.decided_by != causes.BROKER_LOG:
        return None
    text, at_ms = verdict.said or "I/O error", log_dir.offline_ms or 0
    return Trouble(kind=KernelTrouble.MEDIUM_ERROR, text=text[:CHARACTERS], at_ms=at_ms, is_by_broker=True)


def suspect_again(
    context: BrokerContext, path: str, log_dir: LogDirMemory, trouble: Trouble, moment: EvidenceTime
) -> None:
    """Suspect the disk of a directory that serves again, until a person declares it healthy, or for weeks."""
    log_dir.troubles[f"{trouble.kind} "] = trouble
    _tell(context, path, log_dir.troubles, moment)


def judge_broker(context: BrokerContext, record: HostRecord, moment: EvidenceTime) -> None:
    """Suspect the broker for hung tasks on its host, until every disk has been written since."""
    memory = context.memory
    if any(said.is_over and said.trouble in LOST_WAY for seen in record.log_dirs for said in seen.kernel):
        # What waited for it goes on; the kernel repeats the line of a task that does not.
        memory.troubles = {key: held for key, held in memory.troubles.items() if held.kind != KernelTrouble.HUNG}
    _note(memory.troubles, record.kernel, moment.at_ms)
    serving = [log_dir for log_dir in memory.log_dirs.values() if log_dir.status is not LogDirStatus.OFFLINE]
    proof_ms = min((log_dir.proof_ms or 0 for log_dir in serving), default=None)
    for key, trouble in list(memory.troubles.items()):
        if _has_healed(context, trouble, proof_ms, moment, is_read_only=None):
            del memory.troubles[key]
    _tell(context, None, memory.troubles, moment)


def _has_healed(
    context: BrokerContext, trouble: Trouble, proof_ms: int | None, moment: EvidenceTime, *, is_read_only: bool | None
) -> bool:
    kind, calm_ms = KernelTrouble(trouble.kind), moment.at_ms - trouble.at_ms
    is_proven = proof_ms is not None and proof_ms > trouble.at_ms
    if kind.heals and is_proven and calm_ms >= context.settings.kernel_calm_ms:
        return True
    # Only a later look counts: the one that brought the line may have seen the mount before the remount.
    if kind is KernelTrouble.REMOUNTED_READ_ONLY and is_read_only is False and calm_ms > 0:
        return True
    return calm_ms >= context.settings.kernel_hold_ms


def _tell(context: BrokerContext, path: str | None, held: dict[str, Trouble], moment: EvidenceTime) -> None:
    holder = context.alerts.holder(path)
    newest = _newest(held)
    alert = holder.alerts.get(Rule.LOG_DIR_SUSPECT)
    is_told = alert is not None and _told_device(alert) == log_dir_suspect.devices_of(holder)
    is_news = not is_told or not all(log_dir_suspect.is_told(context, path, kind) for kind in newest)
    if newest and is_news:
        log_dir_suspect.hold(context, path, {kind: _words(trouble) for kind, trouble in newest.items()}, moment)
    _clear(context, path, set(newest), moment, RECOVERED)


def _newest(held: Mapping[str, Trouble]) -> dict[str, Trouble]:
    """Return the last line of each kind, or an earlier one that explains more."""
    newest = dict[str, Trouble]()
    for trouble in sorted(held.values(), key=lambda trouble: trouble.at_ms):
        known = newest.get(trouble.kind)
        if known is None or not says_more(known.text, trouble.text):
            newest[trouble.kind] = trouble
    return newest


def _told_device(alert: OpenAlert) -> str | None:
    return read_as(alert.evidence, BrokerSuspectEvidence).device


def _clear(context: BrokerContext, path: str | None, still: set[str], moment: EvidenceTime, reason: str) -> None:
    for kind in sorted(KINDS & set(context.alerts.holder(path).suspicions) - still):
        log_dir_suspect.clear(context, path, kind, moment, reason=reason)


def _words(trouble: Trouble) -> str:
    if trouble.is_by_broker:
        return f"it serves again after a restart, but it went offline for an I/O error: {trouble.text}"
    of_device = f" for {trouble.device}" if trouble.device else ""
    return f"the kernel reports{of_device}: {trouble.text}"


def forget(context: BrokerContext, path: str | None, until_ms: int, moment: EvidenceTime, reason: str) -> None:
    """Ignore kernel lines up to a time for a directory, or the broker."""
    holder: Any = context.alerts.holder(path)
    holder.troubles = {key: trouble for key, trouble in holder.troubles.items() if trouble.at_ms > until_ms}
    still = {trouble.kind for trouble in holder.troubles.values()}
    if path is not None:
        host_findings.forget(context.memory.log_dirs[path], until_ms)
    _clear(context, path, still, moment, reason)
