"""The dashboards, as data: which panels, in which order. What on-call needs first stands first."""

from collections.abc import Mapping
from dataclasses import dataclass

from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.models import dashboard as model

from dashboards import sql
from dashboards.engines import TABLE, Annotation, AnnotationBuilder, Engine
from dashboards.fields import BLUE, Limits
from dashboards.panels import Kind, Making, Panel, made

TAG = "logdirwatch"


@dataclass(frozen=True)
class Board:
    """One dashboard; ``variables`` maps the columns that it chooses by to whether all may be chosen at once."""

    name: str
    title: str
    about: str
    variables: Mapping[str, bool]
    panels: tuple[Panel, ...]
    time: tuple[str, str] = ("now-24h", "now")
    marks: str | None = None

    @property
    def uid(self) -> str:
        """What links name."""
        return f"logdirwatch-{self.name}"


STATE_AGE = Panel(Kind.NUMBERS, "Newest state", "state_age", 6, 4)
ALERT_COUNTS = Panel(Kind.NUMBERS, "Open alerts", "alert_counts", 18, 4)
OPEN_ALERTS = Panel(Kind.LISTING, "Open alerts", "open_alerts_list", height=9, empty="No alert is open.")
HEAT_MAP = Panel(Kind.LISTING, "Every log directory", "heatmap", height=16)
TRANSITIONS = (
    Panel(Kind.BARS, "Changes of status", "transitions_over_time", height=7, empty="Nothing changed in this time."),
    Panel(
        Kind.LISTING,
        "What changed",
        "transitions_list",
        height=9,
        empty="Nothing changed in this time.",
    ),
)
ANY_CLUSTER: Mapping[str, bool] = {"cluster": True}
ONE_CLUSTER: Mapping[str, bool] = {"cluster": False}

BOARDS = (
    Board(
        "fleet",
        "Fleet",
        "Every cluster at a glance: what is wrong, what will be, and whether anybody looks.",
        ANY_CLUSTER,
        (
            STATE_AGE,
            ALERT_COUNTS,
            Panel(Kind.NUMBERS, "Log directories", "directory_counts", 14, 4),
            Panel(Kind.NUMBERS, "Brokers", "broker_counts", 10, 4),
            OPEN_ALERTS,
            Panel(Kind.LISTING, "Clusters", "clusters", height=7),
            Panel(
                Kind.LISTING,
                "Full first",
                "time_to_full",
                height=9,
                empty="The forecast sees no directory full within a week.",
            ),
            HEAT_MAP,
        ),
    ),
    Board(
        "cluster",
        "Cluster",
        "One cluster: its brokers, its space, what changed.",
        ONE_CLUSTER,
        (
            STATE_AGE,
            ALERT_COUNTS,
            Panel(Kind.NUMBERS, "Space", "space", 14, 4),
            Panel(Kind.NUMBERS, "Brokers", "broker_counts", 10, 4),
            OPEN_ALERTS,
            Panel(Kind.LISTING, "Brokers", "brokers_list", height=10),
            Panel(
                Kind.LISTING,
                "Planned absence",
                "maintenance",
                height=4,
                empty="No maintenance is planned.",
            ),
            HEAT_MAP,
            *TRANSITIONS,
        ),
    ),
    Board(
        "room",
        "Room for one more failure",
        "Can any one directory, any one broker, be lost and rebuilt on what is left?",
        ONE_CLUSTER,
        (
            STATE_AGE,
            Panel(Kind.NUMBERS, "Can be lost and rebuilt", "room_answers", 18, 4),
            Panel(Kind.LISTING, "If a broker is lost", "room_brokers", height=10),
            Panel(Kind.LISTING, "If a log directory is lost", "room_directories", height=10),
        ),
    ),
    Board(
        "directory",
        "Broker and directory",
        "One broker and its log directories: how full, since when, until when, and what lies in them.",
        {"cluster": False, "broker": False, "log_dir": True},
        (
            Panel(Kind.NUMBERS, "Worst of the chosen directories", "worst_directory", height=4),
            Panel(Kind.LISTING, "Log directories", "directories_list", height=7),
            Panel(Kind.LINES, "Use", "use_over_time", 12, 10, "No sample in this time: nobody knows."),
            Panel(Kind.LINES, "Forecast", "forecast", 12, 10, "No forecast: the directory is not seen, or too new."),
            Panel(Kind.LISTING, "Open alerts", "open_alerts_list", height=7, empty="No alert is open here."),
            Panel(Kind.LISTING, "Broker", "brokers_list", height=4),
            Panel(Kind.LISTING, "Topics", "topics", 12, 10, "No replica is listed here."),
            Panel(Kind.LISTING, "Replicas", "replicas", 12, 10, "No replica is listed here."),
            Panel(Kind.LISTING, "What changed", "transitions_list", height=8, empty="Nothing changed in this time."),
        ),
        time=("now-4d", "now+4d"),
        marks="annotation_transitions",
    ),
    Board(
        "partitions",
        "Partitions at risk",
        "Partitions that lost their leader, take no writes, or are one failure away from it.",
        ANY_CLUSTER,
        (
            Panel(Kind.NUMBERS, "Newest listing", "inventory_age", 6, 4),
            Panel(Kind.NUMBERS, "Partitions", "partition_counts", 18, 4),
            Panel(
                Kind.LISTING,
                "Partitions at risk",
                "partitions_list",
                height=14,
                empty="None is known; the counts and the age of the newest listing stand above.",
            ),
            Panel(
                Kind.LISTING,
                "Replicas that are not served",
                "offline_replicas",
                height=10,
                empty="None in the newest listing; its age stands above.",
            ),
        ),
    ),
    Board(
        "actions",
        "Actions",
        "What to do, what was done, and whether it kept its promise.",
        ANY_CLUSTER,
        (
            STATE_AGE,
            Panel(Kind.NUMBERS, "Actions", "action_counts", 18, 4),
            Panel(
                Kind.LISTING,
                "To do",
                "actions_open",
                height=12,
                empty="No action is open.",
            ),
            Panel(Kind.NUMBERS, "Executions", "execution_counts", height=4),
            Panel(
                Kind.LISTING,
                "By apply and autopilot",
                "executions_list",
                height=9,
                empty="Nothing runs or is stuck, and nothing ended in this time.",
            ),
            Panel(
                Kind.LISTING,
                "Carried out",
                "actions_ended",
                height=9,
                empty="Nothing was carried out in this time.",
            ),
            Panel(
                Kind.LISTING, "Track record", "action_accuracy", height=7, empty="Nothing was carried out in this time."
            ),
        ),
        time=("now-7d", "now"),
    ),
    Board(
        "pipeline",
        "Pipeline health",
        "Whether logdirwatch itself sees, hears and writes.",
        ANY_CLUSTER,
        (
            STATE_AGE,
            Panel(Kind.NUMBERS, "Newest listing", "inventory_age", 6, 4),
            Panel(Kind.NUMBERS, "Data quality", "quality_age", 12, 4),
            Panel(
                Kind.LISTING,
                "What logdirwatch says of itself",
                "pipeline_alerts",
                height=6,
                empty="No alert about logdirwatch itself is open.",
            ),
            Panel(Kind.LISTING, "Clusters", "pipeline_clusters", 12, 8),
            Panel(Kind.LISTING, "Collectors", "collectors", 12, 8, "No collector was heard in the last 15 minutes."),
            Panel(
                Kind.BARS,
                "Rejected records",
                "rejects_over_time",
                height=7,
                empty="No record was rejected in this time.",
            ),
            Panel(Kind.LISTING, "Why they were rejected", "rejects_list", empty="No record was rejected in this time."),
            Panel(
                Kind.LISTING,
                "Data quality: what was not met",
                "quality",
                empty="Nothing in the newest run; its age stands above.",
            ),
        ),
    ),
)


def dashboard(board: Board, engine: Engine, limits: Limits, tables: str) -> model.Dashboard:
    """Return a dashboard for an engine; ``tables`` is where the tables are, such as ``catalog.schema``."""
    making = Making(engine, frozenset(board.variables), limits)
    built = begun(board).readonly().link(_link()).with_variable(builders.ConstantVariable("tables").value(tables))
    for name, has_all in board.variables.items():
        built.with_variable(_variable(name, making, has_all=has_all))
    if board.marks:
        built.annotation(AnnotationBuilder(_marks(board.marks, making)))
    for number, panel in enumerate(board.panels, start=1):
        built.with_panel(made(panel, making).id(number))
    return built.build()


def begun(board: Board) -> builders.Dashboard:
    """Return what the dashboards of a board have in common, whatever answers them."""
    return (
        builders.Dashboard(f"logdirwatch: {board.title}")
        .uid(board.uid)
        .description(board.about)
        .tags([TAG])
        .timezone("browser")
        .time(*board.time)
        .refresh("1m")
        .tooltip(model.DashboardCursorSync.CROSSHAIR)
    )


def _link() -> builders.DashboardLink:
    return (
        builders.DashboardLink("logdirwatch")
        .type(model.DashboardLinkType.DASHBOARDS)
        .tags([TAG])
        .as_dropdown(False)
        .include_vars(True)
        .keep_time(False)
    )


def _variable(name: str, making: Making, *, has_all: bool) -> builders.QueryVariable:
    built = (
        builders.QueryVariable(name)
        .label({"log_dir": "directory"}.get(name, name))
        .datasource(making.engine.data_source)
        .query(making.sql(f"variable_{name}"))
        .refresh(model.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(model.VariableSort.DISABLED)
        .include_all(has_all)
    )
    if has_all:
        built.all_value(sql.ALL).current(model.VariableOption(selected=True, text="All", value="$__all"))
    return built


def _marks(query: str, making: Making) -> Annotation:
    target = making.target(query, TABLE, "Marks")
    return Annotation("Changes of status", making.engine, target, BLUE)
