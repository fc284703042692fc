"""Nothing starts while the telemetry cluster is unavailable: a rejection could not be read."""

from logdirwatch.autopilot.facts import Facts
from logdirwatch.model.records import ActionRecord
from logdirwatch.text.units import human_ms


def reason(action: ActionRecord, facts: Facts, now_ms: int) -> str | None:
    """Return for how long the telemetry topics could not be read."""
    del action
    if facts.read_at_ms is None:
        return "waits: the telemetry topics have not been read yet"
    age_ms = now_ms - facts.read_at_ms
    if age_ms > facts.settings.telemetry_max_age_ms:
        return f"waits: the telemetry topics could not be read for {human_ms(age_ms)}"
    return None
