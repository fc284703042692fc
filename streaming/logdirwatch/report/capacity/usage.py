"""Use of space: bytes by topic and owner, their growth and their cost. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from rich.console import Group, RenderableType
from rich.text import Text

from logdirwatch.report.layout import listing
from logdirwatch.text.units import human_bytes
from logdirwatch.text.words import counted, utc

Row = Mapping[str, Any]
OwnerOf = Callable[[str, str], str | None]
"""Returns the owner of a cluster's topic."""
TB = 10**12


class TopicUse(Struct, frozen=True, kw_only=True):
    """One topic; ``bytes`` of all replicas, ``growth_bytes`` since an earlier report, null if unknown."""

    topic: str
    owner: str | None
    replicas: int
    bytes: int
    cost_per_month: float | None = None
    growth_bytes: int | None = None


class OwnerUse(Struct, frozen=True, kw_only=True):
    """All topics of one owner; ``owner`` null: topics without an owner."""

    owner: str | None
    topics: int
    bytes: int
    cost_per_month: float | None = None
    growth_bytes: int | None = None


class ClusterUse(Struct, frozen=True, kw_only=True):
    """One cluster; ``used_growth_bytes`` is the growth of the disks' used bytes in the month.

    It is null if no directory was measured at both ends of the month; ``measured_log_dirs`` says how many were.
    """

    cluster: str
    bytes: int
    used_growth_bytes: int | None
    measured_log_dirs: int
    owners: list[OwnerUse]
    topics: list[TopicUse]


class Usage(Struct, frozen=True, kw_only=True):
    """One report for the month ``[from_ms, to_ms)``; sizes are those of ``at_ms``, as the tables keep no older ones."""

    at_ms: int
    from_ms: int
    to_ms: int
    clusters: list[ClusterUse]


def cluster_uses(
    sizes: Iterable[Row],
    begins: Iterable[Row],
    ends: Iterable[Row],
    owner_of: OwnerOf,
    cost_per_tb_month: float | None = None,
    earlier: Usage | None = None,
) -> list[ClusterUse]:
    """Return the clusters by name, with the largest topics and owners first.

    ``sizes`` have cluster, topic, bytes and replicas; ``begins`` and ``ends`` cluster, broker, log_dir and used bytes
    at both ends of the month.
    """
    topics: defaultdict[str, list[TopicUse]] = defaultdict(list)
    before = {} if earlier is None else _by_topic(earlier)
    for row in sizes:
        cluster, topic, used = row["cluster"], row["topic"], int(row["bytes"] or 0)
        growth = used - before.get((cluster, topic), 0) if cluster in {name for name, _ in before} else None
        topics[cluster].append(
            TopicUse(
                topic=topic,
                owner=owner_of(cluster, topic),
                replicas=row["replicas"],
                bytes=used,
                cost_per_month=_cost(used, cost_per_tb_month),
                growth_bytes=growth,
            )
        )
    grown = _grown(begins, ends)
    return [_cluster(name, topics[name], grown.get(name, []), cost_per_tb_month) for name in sorted(topics)]


def _by_topic(usage: Usage) -> dict[tuple[str, str], int]:
    return {(one.cluster, topic.topic): topic.bytes for one in usage.clusters for topic in one.topics}


def _grown(begins: Iterable[Row], ends: Iterable[Row]) -> dict[str, list[int]]:
    """Return by cluster the growth of every directory that was measured at both ends."""
    used = {(row["cluster"], row["broker"], row["log_dir"]): row["used"] for row in begins}
    found: defaultdict[str, list[int]] = defaultdict(list)
    for row in ends:
        before = used.get((row["cluster"], row["broker"], row["log_dir"]))
        if before is not None and row["used"] is not None:
            found[row["cluster"]].append(round(row["used"] - before))
    return found


def _cluster(name: str, topics: Sequence[TopicUse], grown: Sequence[int], cost: float | None) -> ClusterUse:
    return ClusterUse(
        cluster=name,
        bytes=sum(topic.bytes for topic in topics),
        used_growth_bytes=sum(grown) if grown else None,
        measured_log_dirs=len(grown),
        owners=_owners(topics, cost),
        topics=sorted(topics, key=lambda topic: (-topic.bytes, topic.topic)),
    )


def _owners(topics: Iterable[TopicUse], cost: float | None) -> list[OwnerUse]:
    owned: defaultdict[str | None, list[TopicUse]] = defaultdict(list)
    for topic in topics:
        owned[topic.owner].append(topic)
    found = [
        OwnerUse(
            owner=owner,
            topics=len(its),
            bytes=(used := sum(topic.bytes for topic in its)),
            cost_per_month=_cost(used, cost),
            growth_bytes=_sum(topic.growth_bytes for topic in its),
        )
        for owner, its in owned.items()
    ]
    return sorted(found, key=lambda one: (-one.bytes, one.owner or ""))


def _sum(numbers: Iterable[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def _cost(used_bytes: int, cost_per_tb_month: float | None) -> float | None:
    return None if cost_per_tb_month is None else round(used_bytes / TB * cost_per_tb_month, 2)


SHOWN = 20
NOBODY = "nobody"


def view(usage: Usage, width: int) -> RenderableType:
    """Return the report, at most ``width`` columns wide."""
    days = f"{utc(usage.from_ms)[:10]} to {utc(usage.to_ms)[:10]}"
    blocks: list[RenderableType] = [Text(f"capacity   {days}, sizes of {utc(usage.at_ms)}", style="bold")]
    for cluster in usage.clusters:
        blocks += [Text(), *_shown(cluster, width)]
    return Group(*blocks)


def _shown(cluster: ClusterUse, width: int) -> Iterator[RenderableType]:
    grown = growth(cluster.used_growth_bytes)
    measured = counted(cluster.measured_log_dirs, "directory measured", "directories measured")
    yield Text(f"cluster {cluster.cluster}: {human_bytes(cluster.bytes)} in {counted(len(cluster.topics), 'topic')}")
    yield Text(f"its disks grew by {grown} ({measured} at both ends)" if cluster.measured_log_dirs else _NO_GROWTH)
    yield Text()
    rows = [(Text(one.owner or NOBODY), Text(str(one.topics)), *_numbers(one)) for one in cluster.owners]
    yield listing(("owner", "topics", "bytes", "growth", "cost a month"), rows, width)
    yield Text()
    top = [(Text(one.topic), Text(one.owner or NOBODY), *_numbers(one)) for one in cluster.topics[:SHOWN]]
    yield listing(("topic", "owner", "bytes", "growth", "cost a month"), top, width)
    if len(cluster.topics) > SHOWN:
        yield Text(f"and {len(cluster.topics) - SHOWN} smaller: --json or --csv")


_NO_GROWTH = "by how much its disks grew is not known: no directory was measured at both ends of the month"


def _numbers(one: OwnerUse | TopicUse) -> tuple[Text, ...]:
    return Text(human_bytes(one.bytes)), Text(growth(one.growth_bytes)), Text(cost(one.cost_per_month))


def growth(size_bytes: int | None) -> str:
    """Return a change in bytes with its sign; ``-`` if unknown."""
    if size_bytes is None:
        return "-"
    return f"{'-' if size_bytes < 0 else '+'}{human_bytes(abs(size_bytes))}"


def cost(amount: float | None) -> str:
    """Return a cost; ``-`` if none is configured."""
    return "-" if amount is None else f"{amount:,.2f}"


def table(usage: Usage) -> Iterator[tuple[object, ...]]:
    """Yield a header and one row per topic; an empty cell is unknown."""
    yield ("cluster", "topic", "owner", "replicas", "bytes", "growth_bytes", "cost_per_month")
    for cluster in usage.clusters:
        for one in cluster.topics:
            cells = (one.owner, one.replicas, one.bytes, one.growth_bytes, one.cost_per_month)
            yield (cluster.cluster, one.topic, *("" if cell is None else cell for cell in cells))
