"""Write the dashboards' JSON: ``python -m dashboards [--config FILE] [--out DIR] [--databricks C.S] [--trino C.S]``.

Those for Prometheus are written too; they need no tables. The dashboard, alerts and Genie space of the bundle for
Databricks are written into its folder (``--bundle DIR``).
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from dashboards import bundle, prometheus
from dashboards.boards import BOARDS, dashboard
from dashboards.engines import ENGINES
from dashboards.fields import Limits
from logdirwatch import settings as configuration
from logdirwatch.report.status.snapshot import Patience
from logdirwatch.settings import Settings

FOLDER = Path(__file__).parent


def limits(settings: Settings) -> Limits:
    """Return the numbers of a configuration that dashboards need."""
    thresholds, patience = settings.detect.thresholds, Patience.of(settings.detect, settings.collect, settings.stream)
    return Limits(
        thresholds.filling_ratio,
        thresholds.critical_ratio,
        thresholds.saturated_ratio,
        thresholds.filling_within_ms,
        thresholds.critical_within_ms,
        patience.state_ms,
        patience.inventory_ms,
        settings.decisions.longest_ms,
    )


def files(settings: Settings, tables: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield every dashboard's file, below the folder of its engine, with its text."""
    for engine in ENGINES:
        for board in BOARDS:
            content = dashboard(board, engine, limits(settings), tables.get(engine.name, engine.tables))
            yield f"{engine.name}/{board.name}.json", _text(content)
    for board in prometheus.boards():
        yield f"{prometheus.NAME}/{board.name}.json", _text(prometheus.dashboard(board, limits(settings)))


def _text(content: object) -> str:
    return JSONEncoder(sort_keys=True, indent=2, ensure_ascii=False).encode(content) + "\n"


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(prog="python -m dashboards", description="Write the dashboards' JSON.")
    parser.add_argument("--config", type=Path, help="configuration whose thresholds the colours follow")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder to write to")
    parser.add_argument("--bundle", type=Path, default=bundle.FOLDER, help="folder of the bundle for Databricks")
    for engine in ENGINES:
        parser.add_argument(f"--{engine.name}", metavar="CATALOG.SCHEMA", default=engine.tables)
    chosen = parser.parse_args()
    settings = configuration.load(chosen.config) if chosen.config else Settings()
    tables = {engine.name: getattr(chosen, engine.name) for engine in ENGINES}
    written = [
        *((chosen.out / name, text) for name, text in files(settings, tables)),
        *((chosen.bundle / name, text) for name, text in bundle.files(limits(settings))),
    ]
    for path, text in written:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
