"""What a cluster's Kafka release cannot report, once per cluster, with the remedy. Pure."""

from collections.abc import Iterable

from msgspec import Struct

from logdirwatch.model.capabilities import CAPABILITIES, HIDES_LOG_DIRS, LAST_WITH_ZOOKEEPER, Capability, release_key
from logdirwatch.model.vocabulary import MetadataMode, NotReported


class Notice(Struct, frozen=True):
    """What a cluster cannot report, and the remedy."""

    text: str
    remedy: str


def notice(
    cluster: str, mode: str | None, releases: Iterable[str | None], missing: Iterable[str], *, is_size_known: bool
) -> Notice | None:
    """Return the notice about a cluster; None when its brokers report everything.

    ``missing`` is what any of its brokers cannot report. What a cluster with ZooKeeper does not have is not missing
    there. ``is_size_known``: another source reports the size of log directories if Kafka does not.
    """
    if NotReported.LOG_DIRS in missing:
        return Notice(HIDES_LOG_DIRS, f"none: take {cluster} out of clusters, and watch its storage with its provider")
    with_zookeeper = mode == MetadataMode.ZOOKEEPER
    found = {
        kind: capability
        for kind, capability in CAPABILITIES.items()
        if kind in set(missing) and not (with_zookeeper and capability.needs_kraft)
    }
    if is_size_known:
        found.pop(NotReported.CAPACITY, None)
    if not found:
        return None
    said = " or ".join(f"{capability.what} (reported from {capability.since} on)" for capability in found.values())
    return Notice(f"{_kafka(mode, releases)} does not report {said}", _remedy(cluster, found, with_zookeeper))


def _kafka(mode: str | None, releases: Iterable[str | None]) -> str:
    known = sorted({release for release in releases if release}, key=release_key)
    named = f"Kafka {known[0]}" if known else "This release of Kafka"
    return f"{named} with ZooKeeper" if mode == MetadataMode.ZOOKEEPER else named


def _remedy(cluster: str, found: dict[NotReported, Capability], with_zookeeper: bool) -> str:
    parts = []
    if NotReported.CAPACITY in found:
        parts.append(
            f"for the size upgrade to {found[NotReported.CAPACITY].since} or later, run logdirwatch watch-host on the "
            f"brokers, or name the capacity in clusters.{cluster}.log_dirs"
        )
    rest = [capability.since for kind, capability in found.items() if kind is not NotReported.CAPACITY]
    if rest:
        newest = max(rest, key=release_key)
        needs_kraft = with_zookeeper and release_key(newest) > release_key(LAST_WITH_ZOOKEEPER)
        first = "migrate to KRaft, then upgrade" if needs_kraft else "upgrade"
        parts.append(f"{'for the rest ' if parts else ''}{first} to {newest} or later")
    return "; ".join(parts)
