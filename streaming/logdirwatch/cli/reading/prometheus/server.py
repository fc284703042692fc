"""Questions to the HTTP API of Prometheus, which Thanos, Mimir and VictoriaMetrics answer as well."""

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec
import requests

from logdirwatch.config.servers import is_web_url
from logdirwatch.errors import UserError
from logdirwatch.kafka.clients import one_line
from logdirwatch.parse.decoding import Decoder, NotReadableError
from logdirwatch.parse.decoding import one_line as one_line_of
from logdirwatch.text.printable import masked, printable

TIMEOUT_S = 120
"""A server ends a query itself, by default after two minutes."""
MOST_POINTS = 10_000
"""Prometheus refuses a range with more than 11,000 points of one series."""

Labels = Mapping[str, str]
Points = list[tuple[int, float]]
"""Epoch milliseconds and values, oldest first."""


class Steps(NamedTuple):
    """The times to ask for: from ``from_ms`` every ``step_ms`` until before ``to_ms``."""

    from_ms: int
    to_ms: int
    step_ms: int


class _Series(msgspec.Struct):
    metric: dict[str, str]
    values: list[tuple[float, str]] = []


class _Matrix(msgspec.Struct):
    result: list[_Series]


class _Answer(msgspec.Struct):
    status: str
    data: msgspec.Raw = msgspec.Raw(b"null")
    error: str = "without a reason"


_ANSWER = Decoder(_Answer)


_T = TypeVar("_T")


class Server(NamedTuple):
    """One server; ``token`` is a bearer token. A user and a password in the URL are used, and never shown.

    Each question raises UserError, in one line, when it has no answer.
    """

    url: str
    token: str | None = None

    def label_sets(self, selector: str, times: Steps) -> list[dict[str, str]]:
        """Return the labels of the series that ``selector`` names and that have samples in this time."""
        asked = {"match[]": selector, "start": times.from_ms / 1000, "end": times.to_ms / 1000}
        return self._data("series", asked, selector, list[dict[str, str]])

    def matrix(self, query: str, times: Steps) -> list[tuple[Labels, Points]]:
        """Return the series of ``query``, each with its points; a value that is no number is left out."""
        found: dict[str, tuple[Labels, Points]] = {}
        for from_ms in range(times.from_ms, times.to_ms, times.step_ms * MOST_POINTS):
            to_ms = min(from_ms + times.step_ms * MOST_POINTS, times.to_ms) - 1
            asked = {"query": query, "start": from_ms / 1000, "end": to_ms / 1000, "step": times.step_ms / 1000}
            for series in self._data("query_range", asked, query, _Matrix).result:
                _, points = found.setdefault(json.dumps(series.metric, sort_keys=True), (series.metric, []))
                told = ((round(at_s * 1000), float(value)) for at_s, value in series.values)
                points += [(at_ms, value) for at_ms, value in told if math.isfinite(value)]
        return list(found.values())

    def _data(self, path: str, asked: Mapping[str, Any], question: str, kind: type[_T]) -> _T:
        if not is_web_url(self.url):
            raise UserError(f"{self._name}: expected a URL such as http://prometheus:9090", exit_code=2)
        headers = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        try:
            answer = requests.get(
                f"{self.url.rstrip('/')}/api/v1/{path}", params=asked, headers=headers, timeout=TIMEOUT_S
            )
        except requests.RequestException as error:
            raise UserError(f"{self._name} does not answer: {_reason(error)}") from None
        if answer.status_code in {401, 403}:
            raise UserError(
                f"{self._name} refuses access (HTTP {answer.status_code}): put user and password into the URL, or a "
                "bearer token into PROMETHEUS_TOKEN"
            )
        return self._told(answer, question, kind)

    def _told(self, answer: requests.Response, question: str, kind: type[_T]) -> _T:
        try:
            told = _ANSWER.decode(answer.content)
            if told.status == "success":
                return Decoder(kind).decode(bytes(told.data))
        except NotReadableError:
            raise UserError(
                f"{self._name} does not answer as Prometheus does (HTTP {answer.status_code}): is that its address?"
            ) from None
        raise UserError(f"{self._name} refuses {question}: {one_line_of(told.error)}")

    @property
    def _name(self) -> str:
        return f"backtest: {printable(str(masked(self.url)))}"


def _reason(error: BaseException) -> str:
    """Return the innermost cause: requests and urllib3 wrap it, with the URL and its parameters in their words."""
    if isinstance(error, requests.Timeout):
        return f"nothing within {TIMEOUT_S} s"
    while (inner := getattr(error, "reason", None) or error.__cause__ or error.__context__) is not None:
        if not isinstance(inner, BaseException):
            break
        error = inner
    return one_line(error)
