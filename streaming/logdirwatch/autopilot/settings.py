"""What the autopilot may do: nothing, unless a cluster and a kind of action are named."""

from datetime import time
from typing import Annotated, Literal, get_args
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field, field_validator

from logdirwatch.config.section import Ms, Section
from logdirwatch.config.servers import Listen
from logdirwatch.model.vocabulary import ActionKind

Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
WEEK: tuple[Weekday, ...] = get_args(Weekday)


def _clock(text: str) -> str:
    try:
        is_clock = time.fromisoformat(text).isoformat("minutes") == text  # without seconds, or a zone as in 2200Z
    except ValueError:
        is_clock = False
    if not is_clock:
        msg = "expected a time of day such as 22:00"
        raise ValueError(msg)
    return text


Clock = Annotated[str, AfterValidator(_clock)]


MOST_AT_ONCE = 16


class WindowSettings(Section):
    """A time of the week in which actions may start."""

    days: tuple[Weekday, ...] = Field(WEEK, min_length=1, description="Days on which the window opens.")
    opens: Clock = Field("00:00", description="When it opens.")
    closes: Clock = Field(
        "00:00", description="When it closes; a time that is not after the opening is one of the next day."
    )


class KindSettings(Section):
    """How actions of one kind may start."""

    unattended: bool = Field(
        False, description="Whether they may start without an acceptance; one that deletes data never does."
    )


class AutopilotClusterSettings(Section):
    """What the autopilot may do on one cluster."""

    paused: bool = Field(False, description="Whether nothing is started; what runs is stopped.")
    kinds: dict[ActionKind, KindSettings] = Field(
        {}, description="The kinds of actions that may start, by name; none: nothing starts."
    )
    windows: tuple[WindowSettings, ...] = Field((), description="When actions may start; none: at any time.")
    time_zone: str = Field("UTC", description="Time zone of the windows, such as Europe/Paris.")
    max_actions_per_hour: int = Field(4, ge=1, description="Most actions that may start within an hour.")
    executions_at_once: int = Field(
        3,
        ge=1,
        le=MOST_AT_ONCE,
        description="Most actions that run at the same time; two of them never touch the same broker or topic.",
    )
    max_bytes_per_hour: int | None = Field(
        None, ge=1, description="Most bytes that the moves started within an hour may copy; null: no limit."
    )
    max_partitions: int = Field(100, ge=1, description="Most partitions that one action may move.")

    @field_validator("kinds")
    @classmethod
    def _can_be_executed(cls, kinds: dict[ActionKind, KindSettings]) -> dict[ActionKind, KindSettings]:
        from logdirwatch.plan.action_types import EXECUTABLE  # noqa: PLC0415 - numpy takes a moment: few allow a kind

        for kind in kinds:
            if kind not in EXECUTABLE:
                msg = f"{kind} is never carried out by itself; possible: {', '.join(EXECUTABLE)}"
                raise ValueError(msg)
        return kinds

    @field_validator("time_zone")
    @classmethod
    def _is_known(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (ValueError, OSError, KeyError):
            msg = f"there is no time zone {name!r}; write Europe/Paris or UTC"
            raise ValueError(msg) from None
        return name


class AutopilotSettings(Section):
    """What ``logdirwatch autopilot`` may do. By default it may do nothing."""

    paused: bool = Field(False, description="Whether nothing is started on any cluster; what runs is stopped.")
    clusters: dict[str, AutopilotClusterSettings] = Field(
        {}, description="What it may do, by a cluster's name in the configuration; others are never changed."
    )
    clusters_at_once: int = Field(1, ge=1, description="On how many clusters actions may run at the same time.")
    settle_ms: Ms = Field(
        900_000,
        description="How long an alert's next unattended action waits after the last one, until its effect is seen.",
    )
    telemetry_max_age_ms: int = Field(
        15_000, ge=1_000, description="How old the last complete reading of the telemetry topics may be."
    )
    recheck_ms: Ms = Field(
        60_000,
        description="How long an action waits that does not hold on the live cluster, until it is checked again.",
    )
    listen: Listen | None = Field(
        None, description="host:port of /metrics, /health and /ready; null: it does not listen."
    )
