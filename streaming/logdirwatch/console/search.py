"""The filter of the fleet: words such as ``rack:r1 status:offline orders``, all of which must match. Pure."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from logdirwatch.model.records import AlertRecord
from logdirwatch.report.status.cluster import Broker, LogDir

KEYS = ("broker", "host", "rack", "dir", "topic", "status", "severity", "cluster")
_WHOLE = {"broker", "status", "severity"}
"""The keys whose value must match as a whole: broker 1 is not broker 10."""

NOTHING = "-"
"""As the text of a term: without a value."""
_WORD = re.compile(r'(?:(\w+):)?(?:"([^"]*)"|(\S+))')

Place = tuple[str, int, str]
"""Cluster, broker, path of the directory."""


class Term(NamedTuple):
    """A word of the filter; without a key it may match any field."""

    key: str | None
    text: str


def terms(query: str) -> list[Term]:
    """Return the terms of a query, in lower case; a text with spaces is in double quotes."""
    found = []
    for named, quoted, word in _WORD.findall(query.lower()):
        text = quoted or word
        # A number alone is a broker: it is part of too many hosts and paths.
        key = named or ("broker" if text.isdecimal() else "")
        found.append(Term(key, text) if key in KEYS else Term(None, f"{key}:{text}" if key else text))
    return found


def term(key: str, text: str | None) -> str:
    """Return the term for a value, which cannot contain a double quote."""
    return f"{key}:{NOTHING}" if not text else f'{key}:"{text}"' if re.search(r"\s", text) else f"{key}:{text}"


def topics_of(asked: Iterable[Term]) -> list[str]:
    """Return the texts that may be part of a topic's name."""
    return [term.text for term in asked if term.key in (None, "topic") and term.text]


class Filter:
    """The brokers, directories and alerts that match every term.

    ``places_by_topic`` are, for each text that may name a topic, the directories with a replica of such a topic.
    """

    def __init__(self, asked: Iterable[Term], places_by_topic: Mapping[str, set[Place]]) -> None:
        self._terms, self._places = list(asked), places_by_topic

    def __bool__(self) -> bool:
        return bool(self._terms)

    def brokers(self, cluster: str, brokers: Iterable[Broker]) -> Iterator[Broker]:
        """Yield the brokers of a cluster that match or have a matching directory, with those directories only."""
        for broker in brokers:
            own = _of_broker(cluster, broker)
            if self._holds({**own, "status": broker.status}, lambda _: False):
                yield broker
                continue
            found = [log_dir for log_dir in broker.log_dirs or () if self._has(cluster, broker.broker, own, log_dir)]
            if found:
                yield replace(broker, log_dirs=found)

    def alerts(self, alerts: Iterable[AlertRecord], brokers: Mapping[tuple[str, int], Broker]) -> list[AlertRecord]:
        """Return the matching alerts; ``brokers`` are the known ones by cluster and id."""
        return [alert for alert in alerts if self._is_about(alert, brokers)]

    def _has(self, cluster: str, broker: int, own: Mapping[str, str], log_dir: LogDir) -> bool:
        place = (cluster, broker, log_dir.log_dir)
        fields = {**own, "dir": log_dir.log_dir.lower(), "status": log_dir.status}
        return self._holds(fields, lambda text: place in self._places.get(text, ()))

    def _is_about(self, alert: AlertRecord, brokers: Mapping[tuple[str, int], Broker]) -> bool:
        broker = None if alert.broker is None else brokers.get((alert.cluster, alert.broker))
        fields = {
            **({"cluster": alert.cluster.lower()} if broker is None else _of_broker(alert.cluster, broker)),
            "broker": "" if alert.broker is None else str(alert.broker),
            "dir": (alert.log_dir or "").lower(),
            "status": alert.to_status or "",
            "severity": alert.severity,
            "summary": f"{alert.rule} {alert.summary}".lower(),
        }
        place = (alert.cluster, alert.broker or 0, alert.log_dir or "")
        return self._holds(fields, lambda text: place in self._places.get(text, ()) or text in fields["summary"])

    def _holds(self, fields: Mapping[str, str], has_topic: Callable[[str], bool]) -> bool:
        return all(_matches(term, fields, has_topic) for term in self._terms)


def _of_broker(cluster: str, broker: Broker) -> dict[str, str]:
    return {
        "cluster": cluster.lower(),
        "broker": str(broker.broker),
        "host": (broker.host or "").lower(),
        "rack": (broker.rack or "").lower(),
    }


def _matches(term: Term, fields: Mapping[str, str], has_topic: Callable[[str], bool]) -> bool:
    if term.key == "topic":
        return has_topic(term.text)
    if term.key is not None:
        return _is(term.key, fields.get(term.key, ""), term.text)
    return any(
        term.text in value if key not in _WHOLE else term.text == value for key, value in fields.items()
    ) or has_topic(term.text)


def _is(key: str, value: str, text: str) -> bool:
    return value == ("" if text == NOTHING else text) if key in _WHOLE or text == NOTHING else text in value
