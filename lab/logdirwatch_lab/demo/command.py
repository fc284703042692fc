"""``logdirwatch-lab demo``: the whole product on a real local Kafka cluster."""

import re
import signal
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console

from logdirwatch import spark_version
from logdirwatch.cli.context import Context
from logdirwatch.errors import UserError
from logdirwatch_lab.cluster import LocalCluster
from logdirwatch_lab.config import ClusterSpec
from logdirwatch_lab.demo.story import Plan, Report, Story, choose
from logdirwatch_lab.sizes import parse_bytes

EXPLORE = (
    ("the state of the cluster", "logdirwatch status"),
    ("the alerts", "logdirwatch alerts --all"),
    ("the recommended actions", "logdirwatch actions --all"),
    ("alerts as they change", "logdirwatch alerts --follow"),
    ("the cluster itself", "logdirwatch-lab status"),
    ("break another directory", "logdirwatch-lab break 1 0"),
)


def demo(
    ctx: typer.Context,
    once: Annotated[
        bool, typer.Option("--once", help="Exit after the demonstration; exit code 1 if something was missed.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object as the last line, the rest on standard error.")
    ] = False,
    brokers: Annotated[int, typer.Option(min=2, max=9, help="Brokers of the monitored cluster.")] = 4,
    log_dirs: Annotated[int, typer.Option(min=2, max=12, help="Log directories of each broker.")] = 3,
    log_dir_size: Annotated[str, typer.Option(help="Size of each log directory's file system.")] = "64MB",
    break_dir: Annotated[
        str | None, typer.Option("--break", metavar="BROKER:DIR", help="The directory to break; default: random.")
    ] = None,
    fill_dir: Annotated[
        str | None, typer.Option("--fill", metavar="BROKER:DIR", help="The directory to fill; on another broker.")
    ] = None,
    deadline: Annotated[float, typer.Option(min=1, help="Seconds to wait for the effects of each fault.")] = 180.0,
    seed: Annotated[int | None, typer.Option(help="Seed of the random choice.")] = None,
) -> None:
    """Demonstrate logdirwatch on a real JBOD Kafka cluster that loses one log directory and fills another.

    Starts brokers, load, collector and stream, breaks and fills directories, shows alerts, actions and tables, restores
    the directories, and runs until Ctrl-C. Leaves nothing behind but the downloaded jars.
    """
    spark_version.require()
    context: Context = ctx.obj
    plan = _plan(brokers, log_dirs, seed, break_dir, fill_dir)
    tell = _teller(Console(stderr=as_json, highlight=False, markup=False, soft_wrap=True))
    spec = ClusterSpec(brokers=brokers, log_dirs=log_dirs, log_dir_size_bytes=parse_bytes(log_dir_size))
    cluster = LocalCluster(context.settings.home_path, spec, say=tell)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    report = None
    try:
        with ExitStack() as stack:
            report = _tell_story(Story(cluster, plan, tell, stack, deadline), stay=not once, tell=tell)
            tell("Cleaning up")
    except KeyboardInterrupt:
        tell("Stopped")
        raise typer.Exit(130 if report is None else 0) from None
    finally:
        if as_json:
            typer.echo(msgspec.json.encode(_result(report or Report())))
    if not report.is_ok:
        missed = "; ".join(verdict.text for verdict in report.verdicts if not verdict.holds)
        raise UserError("; ".join(filter(None, (f"demo: expected results are missing: {missed}", report.too_busy))))


def _plan(brokers: int, log_dirs: int, seed: int | None, break_dir: str | None, fill_dir: str | None) -> Plan:
    broken = _spot("--break", break_dir, brokers, log_dirs)
    filled = _spot("--fill", fill_dir, brokers, log_dirs)
    if broken and filled and broken[0] == filled[0]:
        raise UserError("demo: --break and --fill must name different brokers", exit_code=2)
    return choose(brokers, log_dirs, seed, broken, filled)


def _spot(option: str, text: str | None, brokers: int, log_dirs: int) -> tuple[int, int] | None:
    if text is None:
        return None
    match = re.fullmatch(r"(\d+):(\d+)", text)
    if match is None or int(match[1]) >= brokers or int(match[2]) >= log_dirs:
        raise UserError(
            f"demo: {option} {text}: expected BROKER:DIR, with a broker from 0 to {brokers - 1} and a directory "
            f"from 0 to {log_dirs - 1}",
            exit_code=2,
        )
    return int(match[1]), int(match[2])


def _teller(console: Console) -> Callable[[str], None]:
    start_s, lock = time.monotonic(), threading.Lock()

    def tell(text: str) -> None:
        with lock:
            console.print(f"{time.monotonic() - start_s:6.1f} s  {text}")

    return tell


def _tell_story(story: Story, *, stay: bool, tell: Callable[[str], None]) -> Report:
    story.set_up()
    story.run()
    report = story.finish()
    for fault, seconds in report.fault_to_alert_s.items():
        tell(f"Seconds from fault to alert, {fault}: {seconds}")
    tell("All expected alerts, actions and table rows were seen" if report.is_ok else "Something was missed; see above")
    if stay:
        tell(f"In a browser: {story.start_console()}")
        tell("Everything keeps running until Ctrl-C; explore it in another terminal:")
        for meaning, command in EXPLORE:
            tell(f"  .venv/bin/{command:<28} # {meaning}")
        while True:
            story.check_services()
            time.sleep(0.5)
    return report


def _result(report: Report) -> dict[str, Any]:
    return {
        "ok": report.is_ok,
        "alerts": report.alerts,
        "actions": report.actions,
        "tables": report.table_rows,
        "seconds": {"fault_to_alert": report.fault_to_alert_s},
        "missed": [verdict.text for verdict in report.verdicts if not verdict.holds],
    }
