"""The configuration in environment variables: which variable sets what, and what is wrong with it. Pure.

Kubernetes describes every service of a namespace in variables of its own (``NAME_SERVICE_HOST``, ``NAME_PORT_80_TCP``),
in every pod: those of a service whose name begins as ours do are not meant for the configuration.
"""

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from logdirwatch.text.words import did_you_mean

PREFIX = "LOGDIRWATCH_"
DELIMITER = "__"
CONFIG = f"{PREFIX}CONFIG"
"""Names the file, and is no part of the configuration."""
_OF_KUBERNETES = re.compile(
    r"_SERVICE_HOST$|_SERVICE_PORT(_[A-Z0-9_]+)?$|_PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?$"
)

_FORMS = 'write a list as ["..."] and keys with their values as {"...": "..."}'
_ESCAPES = r"in a string write \" for a quote and \\ for a backslash"


_NULL_CHARACTER = re.compile(r"(?<!\\)(\\\\)*\\u0000")
"""As JSON can write it: the system ends a path there, and Python's functions fail for it."""


class NotJsonError(ValueError):
    """A value that has to be JSON and is not; ``reason`` shows no part of it."""

    def __init__(self, value: str, reason: str) -> None:
        super().__init__(reason)
        self.value, self.reason = value, reason


def decoded(value: str) -> Any:
    """Return a value that is written as JSON; raises NotJsonError, also where an object has a key twice."""
    try:
        found = json.loads(value, object_pairs_hook=_object)
        if is_text(json.dumps(found, ensure_ascii=False)) and not _NULL_CHARACTER.search(value):
            return found
        reason = "has half of a surrogate pair or a null character in it"
    except json.JSONDecodeError as error:
        what = error.msg.partition(":")[0]  # after it comes a character of the value
        hint = _ESCAPES if value.lstrip().startswith(("{", "[")) else _FORMS
        reason = f"is not JSON ({what}, at character {error.pos + 1}); {hint}"
    except (RecursionError, ValueError) as error:
        reason = "is nested too deeply" if isinstance(error, RecursionError) else str(error)
    raise NotJsonError(value, reason) from None


def is_text(value: str) -> bool:
    """Tell whether a value can be encoded: Python keeps other bytes of a variable as halves of surrogate pairs."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in value


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("has a key twice in one JSON object")
    return made


def prepared(variables: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return the variables, a section before what is in it: its value would replace all of it.

    A secret that was made from a file ends in a line end, which is no part of it.
    """
    return {name: value and value.rstrip("\r\n") for name, value in sorted(variables.items())}


def unusable(variables: Mapping[str, str], sections: Mapping[str, bool]) -> str | None:
    """Return what is wrong with the first variable that sets nothing or is no text, None if there is none.

    ``sections`` are the keys at the top, each with whether there are keys below it.
    """
    known = {name.upper(): has_keys for name, has_keys in sections.items()}
    for name in sorted(_ours(variables)):
        if not is_text(variables[name]):
            return f"{name} is not text in UTF-8"
        section, *rest = name.upper().removeprefix(PREFIX).split(DELIMITER)
        is_known = section in known and (known[section] or not rest)
        if not is_known and not (_OF_KUBERNETES.search(name) and not rest):
            return f"{name}: there is no such key{did_you_mean(name.upper(), _meant(section, rest, known))}"
    return None


def _meant(section: str, rest: Sequence[str], known: Mapping[str, bool]) -> list[str]:
    """Return the names that a variable may have been meant to have: with two underscores, or of a similar section."""
    below = [[one, section[len(one) + 1 :]] for one in known if known[one] and section.startswith(f"{one}_")]
    # Of whole names all are similar: they begin alike.
    similar = [[one] for one in difflib.get_close_matches(section, known, n=1)]
    return [f"{PREFIX}{DELIMITER.join([*steps, *(rest if known[steps[0]] else ())])}" for steps in below or similar]


def named(where: Sequence[int | str], variables: Iterable[str]) -> str | None:
    """Return the variable that sets a place of the configuration, or the innermost section around it."""
    path = [str(step).lower() for step in where]
    found = ((name, _path(name)) for name in _ours(variables))
    setting = [(len(steps), name) for name, steps in found if steps == path[: len(steps)]]
    return max(setting)[1] if setting else None


def why_not_json(value: str) -> str | None:
    """Return why an object or a list is not JSON; None if it is, or is neither."""
    try:
        if value.lstrip().startswith(("{", "[")):
            decoded(value)
    except NotJsonError as error:
        return error.reason
    return None


def spelled(found: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """Return what variables set, with names spelled as in the file: those of variables have no case.

    >>> spelled({"prod": {"client": {}}}, {"Prod": {"bootstrap_servers": "b:9092"}})
    {'Prod': {'client': {}}}
    """
    names = {name.lower(): name for name in written if isinstance(name, str)}
    made: dict[str, Any] = {}
    for key, value in found.items():
        name = key if key in written else names.get(key.lower(), key)
        beside = written.get(name)
        made[name] = spelled(value, beside) if isinstance(value, dict) and isinstance(beside, dict) else value
    return made


def without_address(found: Mapping[str, Any], written: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a cluster that variables name, and that has an address nowhere; None if none is."""
    of_file, of_variables = (one.get("clusters") for one in (written, found))
    if not (isinstance(of_file, dict) and of_file and isinstance(of_variables, dict)):
        return None
    for name, cluster in of_variables.items():
        if name not in of_file and isinstance(cluster, dict) and "bootstrap_servers" not in cluster:
            return f"{PREFIX}CLUSTERS: there is no cluster {name} in the file{did_you_mean(name, map(str, of_file))}"
    return None


def holding(value: str, variables: Mapping[str, str | None]) -> str:
    """Return the variable that has a value."""
    return next(name for name, found in variables.items() if found == value).upper()


def _ours(variables: Iterable[str]) -> Iterator[str]:
    return (name for name in variables if name.upper().startswith(PREFIX) and name.upper() != CONFIG)


def _path(name: str) -> list[str]:
    return name.lower().removeprefix(PREFIX.lower()).split(DELIMITER)
