"""The use of space as text, and as rows of a table."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from logdirwatch.report.capacity.usage import ClusterUse, OwnerUse, TopicUse, Usage
from logdirwatch.report.layout import listing
from logdirwatch.text.units import human_bytes
from logdirwatch.text.words import counted, utc

SHOWN = 20
NOBODY = "nobody"


def view(usage: Usage, width: int) -> RenderableType:
    """Return the report, at most ``width`` columns wide."""
    days = f"{utc(usage.from_ms)[:10]} to {utc(usage.to_ms)[:10]}"
    blocks: list[RenderableType] = [Text(f"capacity   {days}, sizes of {utc(usage.at_ms)}", style="bold")]
    for cluster in usage.clusters:
        blocks += [Text(), *_cluster(cluster, width)]
    return Group(*blocks)


def _cluster(cluster: ClusterUse, width: int) -> Iterator[RenderableType]:
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
