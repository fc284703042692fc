"""Why tables are not there, as far as can be told: nothing stored yet, or another folder. Pure."""

from collections.abc import Sequence

from logdirwatch.text.words import some_of

_START = "run logdirwatch collect and logdirwatch stream, or name in tables.path the folder that stream writes to"


def why_absent(
    missing: Sequence[str], root: str, there: Sequence[str] | None, *, is_alive: bool | None, trigger: str
) -> str:
    """Return one line about tables that were never written at ``root``, and what to do.

    ``there`` are the tables that lie there, None where the folder itself does not exist. ``is_alive`` says whether
    heartbeats come through, None where nobody could ask; ``trigger`` is how often the tables are written.
    """
    names = f"table{'s' if len(missing) > 1 else ''} {', '.join(missing)}"
    if there is None:
        found = f"no {names}: the folder {root} does not exist"
    else:
        found = f"no {names} at {root}, which has {f'only {some_of(there)}' if there else 'no table at all'}"
    if is_alive:
        return (
            f"{found}. collect and stream run, since heartbeats come through: the tables come within {trigger} of "
            "stream's start; if they do not, stream writes to another tables.path, or its log says why store fails"
        )
    unknown = (
        "" if is_alive is False else "; whether stream runs is not known, as the telemetry cluster does not answer"
    )
    return f"{found}: {_START}{unknown}"
