"""Why tables are missing: nothing stored yet, or another folder. Pure."""

from collections.abc import Sequence

from logdirwatch.text.words import some_of

_START = "run logdirwatch collect and logdirwatch stream, or set tables.path to the folder that stream writes to"


def why_absent(
    missing: Sequence[str], root: str, there: Sequence[str] | None, *, is_alive: bool | None, trigger: str
) -> str:
    """Return one line about tables that were never written at ``root``, with what to do.

    ``there`` are the existing tables, None if the folder does not exist. ``is_alive`` says whether heartbeats arrive,
    None if that is unknown; ``trigger`` is how often the tables are written.
    """
    names = f"table{'s' if len(missing) > 1 else ''} {', '.join(missing)}"
    if there is None:
        found = f"no {names}: the folder {root} does not exist"
    else:
        found = f"no {names} at {root}, which has {f'only {some_of(there)}' if there else 'no tables'}"
    if is_alive:
        return (
            f"{found}. collect and stream run, since heartbeats arrive: the tables are written within {trigger} of "
            "stream's start; if not, stream writes to another tables.path, or its log says why store fails"
        )
    unknown = (
        "" if is_alive is False else "; whether stream runs is unknown, since the telemetry cluster does not answer"
    )
    return f"{found}: {_START}{unknown}"
