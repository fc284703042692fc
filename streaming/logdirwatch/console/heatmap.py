"""Every directory of a cluster as a small square of an SVG: a few bytes each, so that thousands fit on a page.

Each broker is a column of its directories; columns are placed side by side in order and wrap. Directories of one colour
are one path, and neighbours of one colour in a column one stroke of it.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from logdirwatch.model.vocabulary import LogDirStatus
from logdirwatch.report.status.cluster import Broker, LogDir

COLUMNS = 200
FEWEST_COLUMNS = 60
NO_DIRECTORIES = "none"
SHADES = 4


@dataclass(frozen=True)
class Heatmap:
    """The variables of the template, in units of a square; ``paths`` by the name of their colour.

    ``brokers`` are the ids in the order of the columns, ``stride`` is the height of a row of brokers with its gap.
    """

    width: int
    height: int
    stride: int
    columns: int
    paths: dict[str, str]
    brokers: str


def heatmap(brokers: Sequence[Broker]) -> Heatmap:
    """Return the drawing of brokers by rack and id."""
    ordered = sorted(brokers, key=lambda broker: (broker.rack or "", broker.broker))
    stride = max((len(broker.log_dirs or ()) for broker in ordered), default=0) + 1
    stride = max(2, stride)
    columns = min(COLUMNS, max(FEWEST_COLUMNS, len(ordered)))
    strokes: dict[str, list[str]] = defaultdict(list)
    for number, broker in enumerate(ordered):
        row, column = divmod(number, columns)
        for colour, top, length in _runs(broker.log_dirs):
            strokes[colour].append(f"M{column} {row * stride + top}v{length}")
    rows = -(-len(ordered) // columns)
    ids = " ".join(str(broker.broker) for broker in ordered)
    paths = {colour: "".join(drawn) for colour, drawn in strokes.items()}
    return Heatmap(columns, rows * stride, stride, columns, paths, ids)


def _runs(log_dirs: Iterable[LogDir] | None) -> Iterable[tuple[str, int, int]]:
    """Yield each run of directories of one colour, as colour, first and number."""
    top = 0
    for colour, run in groupby([NO_DIRECTORIES] if log_dirs is None else map(_colour, log_dirs)):
        length = len(list(run))
        yield colour, top, length
        top += length


def _colour(log_dir: LogDir) -> str:
    if log_dir.status != LogDirStatus.ONLINE or log_dir.used_ratio is None:
        return log_dir.status
    return f"used{min(SHADES - 1, int(log_dir.used_ratio * SHADES))}"
