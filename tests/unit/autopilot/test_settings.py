"""What the section takes, and what it says about the rest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdirwatch import settings as configuration
from logdirwatch.autopilot.judge import described, is_open
from logdirwatch.autopilot.settings import WEEK, AutopilotSettings, WindowSettings
from logdirwatch.errors import UserError
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.action_types import EXECUTABLE

HOUR_MS = 3_600_000
MONDAY_MS = 1_699_833_600_000
"""2023-11-13, a Monday, 00:00 UTC."""


def loaded(tmp_path, text):
    path = tmp_path / "logdirwatch.yaml"
    path.write_text(f"clusters:\n  prod: {{bootstrap_servers: 'k:9092'}}\nautopilot: {text}\n")
    return configuration.load(path).autopilot


def test_by_default_nothing_is_allowed():
    assert AutopilotSettings().clusters == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{clusters: {prod: {kinds: {restart_broker: {}}}}}", "restart_broker is never carried out by itself"),
        ("{clusters: {prod: {kinds: {move: {}}}}}", "autopilot.clusters.prod.kinds.move"),
        ("{clusters: {prd: {}}}", "autopilot.clusters.prd: there is no such cluster; did you mean prod?"),
        ("{clusters: {prod: {time_zone: Mars/Olympus}}}", "there is no time zone 'Mars/Olympus'"),
        ("{clusters: {prod: {windows: [{opens: '25:00'}]}}}", "expected a time of day such as 22:00"),
        ("{clusters: {prod: {windows: [{opens: 2200Z}]}}}", "expected a time of day such as 22:00"),
        ("{clusters: {prod: {windows: [{days: [someday]}]}}}", "autopilot.clusters.prod.windows.0.days.0"),
        ("{clusters: {prod: {max_actions_per_hour: 0}}}", "autopilot.clusters.prod.max_actions_per_hour"),
        ("{kinds: {}}", "there is no such key"),
    ],
)
def test_what_is_wrong_is_said_with_its_key(tmp_path, text, said):
    with pytest.raises(UserError) as raised:
        loaded(tmp_path, text)
    assert said in str(raised.value)


def test_every_kind_that_can_be_executed_can_be_allowed(tmp_path):
    kinds = ", ".join(f"{kind}: {{unattended: true}}" for kind in EXECUTABLE)
    found = loaded(tmp_path, f"{{clusters: {{prod: {{kinds: {{{kinds}}}}}}}}}")
    assert set(found.clusters["prod"].kinds) == set(EXECUTABLE)
    assert ActionKind.DELETE_RECORDS not in EXECUTABLE


@pytest.mark.parametrize(
    ("window", "hours", "expected"),
    [
        ({}, 0, True),
        ({"opens": "01:00", "closes": "03:00"}, 0.5, False),
        ({"opens": "01:00", "closes": "03:00"}, 1, True),
        ({"opens": "01:00", "closes": "03:00"}, 3, False),
        ({"days": ["mon"], "opens": "22:00", "closes": "06:00"}, 23, True),
        ({"days": ["mon"], "opens": "22:00", "closes": "06:00"}, 24 + 5, True),
        ({"days": ["mon"], "opens": "22:00", "closes": "06:00"}, 24 + 6, False),
        ({"days": ["mon"], "opens": "22:00", "closes": "06:00"}, 5, False),
        ({"days": ["sun"], "opens": "22:00", "closes": "06:00"}, 5, True),
        ({"days": ["tue"]}, 12, False),
        ({"days": ["tue"], "opens": "01:00", "closes": "03:00"}, 2, False),
        ({"days": ["mon"]}, 12, True),
    ],
)
def test_a_window_is_open_on_its_days_and_past_midnight(window, hours, expected):
    assert is_open([WindowSettings(**window)], "UTC", MONDAY_MS + int(hours * HOUR_MS)) is expected


CLOCKS = st.times().map(lambda at: at.strftime("%H:%M"))
WINDOWS = st.builds(WindowSettings, days=st.sampled_from([WEEK, WEEK[:3], WEEK[3:]]), opens=CLOCKS, closes=CLOCKS)


@given(st.lists(WINDOWS, min_size=1, max_size=3), st.integers(0, 7 * 24 * 60))
def test_of_several_windows_one_that_has_opened_and_not_closed_is_enough(windows, minutes):
    def is_within(window, day):
        opens, closes = (int(at[:2]) * 60 + int(at[3:]) for at in (window.opens, window.closes))
        passed = minutes - day * 24 * 60 - opens
        return WEEK[day % 7] in window.days and 0 <= passed < ((closes - opens) % (24 * 60) or 24 * 60)

    expected = any(is_within(window, day) for window in windows for day in range(-1, 8))
    assert is_open(windows, "UTC", MONDAY_MS + minutes * 60_000) is expected


@pytest.mark.parametrize(("number", "day"), [*enumerate(("mon", "tue", "wed", "thu", "fri", "sat", "sun"))])
def test_every_day_of_the_week_has_its_name(number, day):
    noon_ms = MONDAY_MS + (24 * number + 12) * HOUR_MS
    assert is_open([WindowSettings(days=[day])], "UTC", noon_ms)
    assert not is_open([WindowSettings(days=[one for one in WEEK if one != day])], "UTC", noon_ms)


def test_windows_are_in_their_time_zone_and_none_means_always():
    night = [WindowSettings(days=("mon",), opens="00:00", closes="01:00")]
    assert is_open(night, "UTC", MONDAY_MS)
    assert not is_open(night, "Europe/Paris", MONDAY_MS)
    assert is_open(night, "Europe/Paris", MONDAY_MS - HOUR_MS)
    assert is_open([WindowSettings(days=("tue",)), *night], "UTC", MONDAY_MS)
    assert is_open([], "UTC", MONDAY_MS)
    assert described(night, "Europe/Paris") == "mon 00:00-01:00 Europe/Paris"
