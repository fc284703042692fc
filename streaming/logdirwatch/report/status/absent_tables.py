"""Why tables are missing: nothing stored yet, or another folder. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from logdirwatch.text.words import some_of


@dataclass(frozen=True)
class Place:
    """Where the tables are, in words: ``at /tables``, ``the folder /tables``, the key in the configuration."""

    at: str
    container: str
    setting: str
    remark: str = ""


def why_absent(
    missing: Sequence[str], place: Place, there: Sequence[str] | None, *, is_alive: bool | None, trigger: str
) -> str:
    """Return one line about tables that were never written, with what to do.

    ``there`` are the existing tables, None if the folder or schema does not exist. ``is_alive`` says whether heartbeats
    arrive, None if that is unknown; ``trigger`` is how often the tables are written.
    """
    names = f"table{'s' if len(missing) > 1 else ''} {', '.join(missing)}"
    if there is None:
        found = f"no {names}: {place.container} does not exist{place.remark}"
    else:
        has = f"only {some_of(there)}" if there else "no tables"
        found = f"no {names} {place.at}, which has {has}{place.remark}"
    if is_alive:
        return (
            f"{found}. collect and stream run, since heartbeats arrive: the tables are written within {trigger} of "
            f"stream's start; if not, stream has another {place.setting}, or its log says why store fails"
        )
    unknown = (
        "" if is_alive is False else "; whether stream runs is unknown, since the telemetry cluster does not answer"
    )
    start = f"run logdirwatch collect and logdirwatch stream, or set {place.setting} to where stream writes"
    return f"{found}: {start}{unknown}"
