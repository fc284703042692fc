"""What each column means to the eye: title, unit, colours. One list, so that they are the same in every panel."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from grafana_foundation_sdk.models import dashboard as model

GREEN, BLUE, YELLOW, ORANGE, RED, DARK_RED, PURPLE, GREY = (
    "green",
    "blue",
    "yellow",
    "orange",
    "red",
    "dark-red",
    "purple",
    "#8e8e8e",
)
UNKNOWN = "unknown"
STATUSES = {
    "online": GREEN,
    "filling": YELLOW,
    "degraded": YELLOW,
    "critical": ORANGE,
    "saturated": RED,
    "offline": DARK_RED,
    "moving": BLUE,
    "unknown": PURPLE,
}
COLOURS = {
    **STATUSES,
    "page": DARK_RED,
    "warning": YELLOW,
    "info": BLUE,
    "none": GREEN,
    "leaderless": DARK_RED,
    "under min ISR": RED,
    "sole replica": ORANGE,
    "at min ISR": YELLOW,
    "yes": GREEN,
    "no": RED,
    "true": ORANGE,
    "proposed": BLUE,
    "accepted": BLUE,
    "running": BLUE,
    "done": GREEN,
    "failed": RED,
    "copying": BLUE,
    "started": BLUE,
    "cancelling": YELLOW,
    "rolled_back": YELLOW,
    "stuck": RED,
    "must not be done now": ORANGE,
}
"""Of every status, severity and answer; a word that is not here has no colour."""

CELLS = {"✖": DARK_RED, "\\?": PURPLE, "■": RED, "▲▲": ORANGE, "▲(?!▲)": YELLOW, "\\d": GREEN}
"""How a cell of the heat map begins."""

NUMBER, BYTES, RATE, RATIO, AGO, SPAN = "short", "bytes", "binBps", "percentunit", "dateTimeFromNow", "ms"
WIDE, NARROW = 420, 90

Steps = tuple[tuple[float | None, str], ...]


@dataclass(frozen=True)
class Limits:
    """Numbers of the configuration: where colours change, and what queries name."""

    filling_ratio: float
    critical_ratio: float
    saturated_ratio: float
    filling_within_ms: int
    critical_within_ms: int
    state_patience_ms: int
    inventory_patience_ms: int
    longest_said_ms: int

    NUMBERS: ClassVar = ("critical_ratio", "state_patience_ms", "inventory_patience_ms", "longest_said_ms")
    """Those that queries name."""

    @property
    def numbers(self) -> dict[str, float]:
        """What queries name."""
        return {name: getattr(self, name) for name in self.NUMBERS}

    def steps(self, colouring: str) -> Steps:
        """Return the colours of a kind of number, each with where it begins."""
        use: Steps = (
            (None, GREEN),
            (self.filling_ratio, YELLOW),
            (self.critical_ratio, ORANGE),
            (self.saturated_ratio, RED),
        )
        time_left: Steps = ((None, RED), (self.critical_within_ms, ORANGE), (self.filling_within_ms, GREEN))
        return {
            "use": use,
            "time_left": time_left,
            "state_age": ((None, GREEN), (self.state_patience_ms + 1, RED)),
            "inventory_age": ((None, GREEN), (self.inventory_patience_ms + 1, RED)),
            **{f"any_{colour}": ((None, GREEN), (1, colour)) for colour in (YELLOW, ORANGE, RED, DARK_RED, PURPLE)},
        }[colouring]


@dataclass(frozen=True)
class Field:
    """How a column is shown. ``empty`` is what a missing value says; ``colouring`` names its steps in ``Limits``."""

    title: str
    unit: str | None = None
    colouring: str | None = None
    empty: str = UNKNOWN
    width: int | None = None
    is_word: bool = False
    is_cell: bool = False


def _word(title: str, width: int | None = None) -> Field:
    return Field(title, width=width, is_word=True)


def _count(title: str, colouring: str | None = None, empty: str = UNKNOWN) -> Field:
    return Field(title, NUMBER, colouring, empty, NARROW)


def _text(title: str, width: int | None = None) -> Field:
    return Field(title, empty="", width=width)


FIELDS: Mapping[str, Field] = {
    # Where.
    "cluster": _text("cluster", 130),
    "broker": Field("broker", "none", empty="", width=NARROW),
    "log_dir": _text("directory", 220),
    "volume": _text("volume"),
    "host": _text("host"),
    "rack": _text("rack"),
    "topic": _text("topic", 220),
    "partition": Field("partition", "none", width=NARROW),
    # How it is.
    "severity": _word("severity", width=110),
    "status": _word("status", width=130),
    "last_status": Field("was", empty="", is_word=True),
    "from_status": Field("from", empty="first seen", is_word=True),
    "to_status": _word("to"),
    "danger": _word("danger", width=130),
    "state": _word("state", width=110),
    "standing": _word("standing", width=170),
    "cause": _text("cause"),
    "reason": _text("why"),
    "status_reason": _text("how it ended"),
    "summary": _text("what", WIDE),
    "rule": _text("alert", 180),
    "said": _text("who", 170),
    "any_log_dir": _word("any one directory"),
    "any_broker": _word("any one broker"),
    "can_be_rebuilt": _word("can be rebuilt"),
    "is_cordoned": Field("cordoned", is_word=True),
    "is_metadata_dir": Field("metadata"),
    "is_leader": Field("leads"),
    "in_isr": Field("in sync"),
    "is_future": Field("copy on its way"),
    "is_internal": Field("Kafka's own"),
    "data_loss": Field("loses data", is_word=True),
    "requires_approval": Field("needs approval"),
    # Space.
    "used_ratio": Field("used", RATIO, "use", width=NARROW),
    "usable_bytes": Field("free", BYTES, width=110),
    "total_bytes": Field("size", BYTES, width=110),
    "growth_bytes_per_s": Field("growth", RATE, width=110),
    "full_in_ms": Field("full in", SPAN, "time_left", "not foreseen", 120),
    "forecast_confidence": Field("sure", RATIO, empty="", width=NARROW),
    "forecast": Field("forecast", RATIO),
    "slowest": Field("slowest day", RATIO),
    "fastest": Field("fastest day", RATIO),
    "unaccounted_bytes": Field("unaccounted", BYTES),
    "size_bytes": Field("size", BYTES, width=110),
    "share": Field("share", RATIO, width=NARROW),
    "retention_ms": Field("keeps for", SPAN, empty="no own limit known"),
    "retention_bytes": Field("keeps at most", BYTES, empty="no own limit known"),
    "missing_bytes": Field("missing", BYTES, "any_red"),
    "needs_bytes": Field("needs", BYTES),
    "room_bytes": Field("room elsewhere", BYTES),
    "frees_bytes": Field("frees", BYTES),
    "planned_bytes": Field("to copy", BYTES, empty="", width=110),
    "progress_ratio": Field("seen done", RATIO, width=NARROW),
    "expected_bytes": Field("bytes expected", BYTES),
    "observed_bytes": Field("bytes seen", BYTES),
    "bytes_ratio": Field("bytes seen of expected", RATIO),
    "time_ratio": Field("time taken of expected", RATIO),
    # Time.
    "state_age_ms": Field("newest state", SPAN, "state_age", width=130),
    "inventory_age_ms": Field("newest listing", SPAN, "inventory_age", width=130),
    "oldest_listing_age_ms": Field("oldest listing of a directory", SPAN, "inventory_age"),
    "seen_age_ms": Field("last answer", SPAN, "state_age"),
    "run_age_ms": Field("newest run", SPAN),
    "since_ms": Field("since", AGO),
    "last_seen_ms": Field("last seen", AGO, empty="never"),
    "last_proof_ms": Field("last proof of life", AGO, empty="none"),
    "opened_at_ms": Field("opened", AGO, width=130),
    "at_ms": Field("when", AGO, width=130),
    "inventory_at_ms": Field("listed", AGO),
    "started_at_ms": Field("begun", AGO, width=130),
    "expires_at_ms": Field("valid until", AGO),
    "maintenance_until_ms": Field("until", AGO),
    "needs_ms": Field("takes", SPAN),
    "expected_ms": Field("time expected", SPAN),
    "observed_ms": Field("time taken", SPAN),
    # How many.
    "page": _count("page", "any_dark-red"),
    "critical_alerts": _count("critical", "any_orange"),
    "warning": _count("warning", "any_yellow"),
    "offline": _count("offline", "any_dark-red"),
    "unknown": _count("unknown", "any_purple"),
    "saturated": _count("saturated", "any_red"),
    "critical": _count("critical", "any_orange"),
    "filling": _count("filling", "any_yellow"),
    "degraded": _count("degraded", "any_yellow"),
    "online": _count("online"),
    "leaderless": _count("leaderless", "any_dark-red"),
    "under_min_isr": _count("under min ISR", "any_red"),
    "sole_replica": _count("sole replica", "any_orange"),
    "at_min_isr": _count("at min ISR", "any_yellow"),
    "brokers": _count("brokers"),
    "troubled_brokers": _count("not online", "any_orange"),
    "log_dirs": _count("directories"),
    "troubled_log_dirs": _count("not online", "any_orange"),
    "log_dir_count": _count("directories"),
    "offline_log_dirs": _count("offline", "any_dark-red"),
    "recovering_logs": _count("logs to recover", empty=""),
    "unseen_disks": _count("disks not seen", "any_purple"),
    "disks": _count("disks"),
    "replicas": _count("replicas"),
    "replica_count": _count("replicas"),
    "leaders": _count("leaders"),
    "by_directory": _count("dead directory", "any_red"),
    "by_broker": _count("dead broker", "any_red"),
    "by_unknown": _count("not known", "any_purple"),
    "leader": Field("leader", "none", empty="none", width=NARROW),
    "min_insync_replicas": _count("must be in sync"),
    "offset_lag": _count("records behind"),
    "proposed": _count("proposed"),
    "accepted": _count("accepted"),
    "running": _count("running"),
    "done": _count("done"),
    "failed": _count("failed", "any_red"),
    "stuck": _count("stuck", "any_red"),
    "rolled_back": _count("rolled back"),
    "step": _count("steps done"),
    "answered": _count("answers"),
    "not_answered": _count("without answer", "any_orange"),
    "records": _count("records"),
    "changes": _count("changes"),
    "unexpected": _count("rows"),
    "not_met": _count("not met", "any_red"),
    "more": _count("more", empty=""),
    # The rest is text as it is.
    "isr": _text("in sync"),
    "replicas_on": _text("replicas on"),
    "kafka_version": _text("Kafka"),
    "maintenance_by": _text("by"),
    "started_by": _text("by"),
    "maintenance_reason": _text("why"),
    "kind": _text("action", 180),
    "id": _text("id"),
    "alert_id": _text("id"),
    "collector": _text("collector"),
    "example": _text("last one (partition/offset)"),
    "suite": _text("suite"),
    "expectation": _text("expectation"),
    "observed": _text("seen"),
    "error": _text("error"),
    "place": Field("place"),
    "time": Field("time"),
    "text": Field("text"),
    "tags": Field("tags"),
    **{f"d{number:02d}": Field(f"{number}", empty="", width=NARROW, is_cell=True) for number in range(1, 17)},
}


def usual_mappings() -> list[model.ValueMapping]:
    """Return the colours of words, and what a missing value says where a field says nothing else."""
    return [_words(), _null(UNKNOWN)]


def own_mappings(field: Field) -> list[model.ValueMapping] | None:
    """Return what the values of a field say where that is not the usual; None where it is."""
    if field.empty == UNKNOWN and not field.is_cell:
        return None
    return [*([_words()] if field.is_word else ()), *(_cells() if field.is_cell else ()), _null(field.empty)]


def _words() -> model.ValueMapping:
    results = {
        word: model.ValueMappingResult(color=colour, index=index)
        for index, (word, colour) in enumerate(COLOURS.items())
    }
    return model.ValueMap(options=results)


def _cells() -> Iterator[model.ValueMapping]:
    for index, (begin, colour) in enumerate(CELLS.items()):
        yield model.RegexMap(
            options=model.DashboardRegexMapOptions(
                pattern=f"^{begin}.*", result=model.ValueMappingResult(color=colour, index=index)
            )
        )


def _null(says: str) -> model.ValueMapping:
    colour = PURPLE if says == UNKNOWN else GREY
    return model.SpecialValueMap(
        options=model.DashboardSpecialValueMapOptions(
            match=model.SpecialValueMatch.NULL_AND_NAN,
            result=model.ValueMappingResult(text=says, color=colour, index=len(COLOURS)),
        )
    )
