"""The web application: every page is rendered on the server from the tables.

Decisions need a login; see :mod:`logdirwatch.console.deciding`.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
from flask import Flask, Response, abort, render_template, request
from markupsafe import Markup, escape
from werkzeug.exceptions import HTTPException

from logdirwatch.clock import monotonic_ms
from logdirwatch.console import brokers, overview
from logdirwatch.console.capacity import Capacity
from logdirwatch.console.capacity import content as capacity_content
from logdirwatch.console.chart import SPANS_MS, Event, Frame, Outlook, Period, chart, period
from logdirwatch.console.deciding import Deciding, Decisions
from logdirwatch.console.guard import Guard, finished
from logdirwatch.console.login.gate import Gate
from logdirwatch.console.login.users import Users
from logdirwatch.console.login.workspace import Workspace
from logdirwatch.console.overview import heatmap, vitals
from logdirwatch.console.reading import HEAD_TABLES, MOST_CHANGES, Reader, Row
from logdirwatch.console.search import Filter, Term, term, terms, topics_of
from logdirwatch.console.settings import ConsoleSettings
from logdirwatch.decisions import AlertDecisions
from logdirwatch.detect.predicates import levels
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.errors import UserError
from logdirwatch.model.vocabulary import OPEN, LogDirStatus, Rule
from logdirwatch.observe.http_server import MOST_BODY_BYTES
from logdirwatch.plan.rule_responses import RESPONSES
from logdirwatch.report import alerts as alert_words
from logdirwatch.report import executions as execution_words
from logdirwatch.report.actions import listing as action_words
from logdirwatch.report.actions.listing import is_blocked
from logdirwatch.report.actions.outlook import effects
from logdirwatch.report.affected import DANGERS, affected_lines, affected_links, hurt, touched
from logdirwatch.report.handling import marks
from logdirwatch.report.status import ages, counts
from logdirwatch.report.status.cluster import Broker, ClusterStatus, LogDir
from logdirwatch.report.status.snapshot import Patience, Snapshot, statuses
from logdirwatch.report.timeline import KINDS, execution_look, moments
from logdirwatch.report.words import place
from logdirwatch.store.schema.definitions import LOG_DIR_STATE
from logdirwatch.text.units import human_age, human_bytes, human_count, human_in, human_ms, human_rate, human_ratio
from logdirwatch.text.words import counted, utc

Part = TypeVar("Part")

SIGNS = {"filling": "▲", "critical": "▲▲", "saturated": "■", "offline": "✖", "unknown": "?", "degraded": "▲"}
BROKERS_A_PAGE = 25
ALERTS_AT_FIRST, ALERTS_A_PAGE = 25, 100
PARTITIONS_A_PAGE = 100
LISTED_BROKERS_A_PAGE = 100
ACTIONS_A_PAGE = 50
MOST_TERMS = 20
MOST_UNFOLDED = 12
"""The number of brokers up to which a cluster is shown completely."""
MOST_CELLS = 6
"""The number of directories of a broker up to which each is shown; of more, those that are online are counted."""
MOST_FOLDED = 40
"""The number of healthy brokers of a rack in the page, collapsed; larger racks are only a link."""
FEWEST_DRAWN = 13
"""The number of brokers from which a cluster has a heatmap too."""


def application(
    reader: Reader,
    settings: ConsoleSettings,
    patience: Patience,
    now_ms: Callable[[], int],
    detect: DetectSettings | None = None,
    capacity: Capacity | None = None,
    decisions: Decisions | None = None,
    runbook: Callable[[Rule], str | None] = lambda _: None,
    monotonic_ms: Callable[[], int] = monotonic_ms,
) -> Flask:
    """Return the application; ``reader`` is queried for every page, ``detect`` has the thresholds of the charts.

    ``runbook`` returns the URL of a rule's runbook, ``monotonic_ms`` is the clock of sessions and waits. Without
    ``capacity`` there is no capacity page; without ``decisions``, or a login in ``settings``, nobody can decide.
    """
    app = Flask(__name__)
    app.jinja_env.filters.update(
        bytes=_size,
        rate=human_rate,
        ratio=human_ratio,
        count=human_count,
        ms=human_ms,
        age=human_age,
        full_in=human_in,
        utc=utc,
        when=_when,
        exact=_exact,
        capitalised=_sentence,
        sign=lambda status: SIGNS.get(status, ""),
        percent=lambda ratio: f"{int(ratio * 100)} %",
    )
    app.jinja_env.globals.update(
        place=place,
        meaning=alert_words.meaning,
        marks=marks,
        term=term,
        effect=action_words.effect,
        where=action_words.where,
        standing=action_words.standing,
        is_blocked=is_blocked,
        execution_look=execution_look,
        counted_noun=counted,
        worst=overview.worst,
        shown_status=overview.shown,
        refresh_s=settings.refresh_s,
        most_cells=MOST_CELLS,
        has_capacity=capacity is not None,
        spans=list(SPANS_MS),
    )
    app.config["MAX_CONTENT_LENGTH"] = MOST_BODY_BYTES
    guard = Guard(settings, monotonic_ms)
    app.before_request(guard.check)
    app.after_request(finished)
    app.after_request(guard.mark)
    pages = Pages(reader, patience, now_ms, detect or DetectSettings(), capacity, runbook)
    app.register_error_handler(UserError, lambda error: pages.refused("Cannot be read", _sentence(str(error)), 503))
    app.register_error_handler(
        HTTPException,
        lambda error: pages.refused(
            error.name, error.description or error.name, error.code or 500, getattr(error, "valid_methods", None)
        ),
    )
    for path, name in PATHS.items():
        app.get(path, endpoint=name)(getattr(pages, name))
    if settings.databricks_app and decisions is not None:
        workspace = Workspace()
        app.context_processor(workspace.context)
        Deciding(workspace, decisions).register(app)
    elif settings.login is not None and decisions is not None:
        gate = Gate(settings.login, Users(Path(settings.login.users_file)), monotonic_ms)
        gate.register(app, pages.shown)
        Deciding(gate, decisions).register(app)
    # Browsers request it on their own, for the JSON too.
    app.get("/favicon.ico")(lambda: app.send_static_file("icon.svg"))
    return app


PATHS = {
    "/": "fleet",
    "/directory": "directory",
    "/brokers": "brokers",
    "/broker": "broker",
    "/topic": "topic",
    "/partition": "partition",
    "/timeline": "timeline",
    "/capacity": "capacity",
    "/alerts": "alerts",
    "/alerts/<alert_id>": "alert",
    "/actions": "actions",
    "/actions/<action_id>": "action",
    "/actions/<action_id>.json": "action_json",
    "/executions": "executions",
    "/executions/<execution_id>": "execution",
}


class Pages:
    """The pages by name, rendered from the reader's present data."""

    def __init__(
        self,
        reader: Reader,
        patience: Patience,
        now_ms: Callable[[], int],
        detect: DetectSettings,
        capacity: Capacity | None,
        runbook: Callable[[Rule], str | None],
    ) -> None:
        self._reader, self._patience, self._now_ms, self._detect = reader, patience, now_ms, detect
        self._capacity, self._runbook = capacity, runbook

    def fleet(self) -> str:
        """Return the counts, the open alerts and the directories that are not healthy, or those that match a filter."""
        snapshot, unreadable = self._reader.snapshot()
        found, parts = statuses(snapshot, self._now_ms(), self._patience), Parts(unreadable)
        decided = self._decided(snapshot)
        alerts = None if snapshot.alerts is None else alert_words.listed(snapshot.alerts, decided, everything=False)
        counts_of = overview.counts(alerts, found)
        chosen = self._filter(parts)
        only = request.args.get("cluster")
        content = {
            "counts": counts_of,
            "alerts": alerts if alerts is None or not chosen else chosen.alerts(alerts, _by_id(found)),
            "alerts_at_first": ALERTS_AT_FIRST,
            "decided": decided,
            "clusters": [_section(one, chosen) for one in found if only in (None, one.cluster)],
            "filling": [] if chosen or only else parts.read(self._reader.next_to_fill),
            "counted": counts.one_liners,
            "is_chosen": bool(chosen),
            "topics": self._topics(parts),
        }
        return self.shown("fleet.html", found, unread=parts.unread, **content)

    def alerts(self) -> str:
        """Return the open alerts, paginated."""
        snapshot, unreadable = self._reader.snapshot(HEAD_TABLES)
        found, parts = statuses(snapshot, self._now_ms(), self._patience), Parts(unreadable)
        decided = self._decided(snapshot)
        alerts = None if snapshot.alerts is None else alert_words.listed(snapshot.alerts, decided, everything=False)
        chosen = self._filter(parts)
        if alerts is not None and chosen:
            alerts = chosen.alerts(alerts, _by_id(found))
        paged = paged_of(alerts or (), ALERTS_A_PAGE)
        return self.shown("alerts.html", found, alerts=alerts, decided=decided, paged=paged, unread=parts.unread)

    def brokers(self) -> str:
        """Return the brokers of every cluster as a list, those that match a filter."""
        snapshot, unreadable = self._reader.snapshot([*HEAD_TABLES, LOG_DIR_STATE.name])
        found, parts = statuses(snapshot, self._now_ms(), self._patience), Parts(unreadable)
        chosen, order = self._filter(parts), request.args.get("order", "")
        matching = {
            one.cluster: chosen.brokers(one.cluster, one.brokers or ()) if chosen else one.brokers for one in found
        }
        lines = [brokers.line(name, broker) for name, those in matching.items() for broker in those or ()]
        content: dict[str, Any] = {
            "paged": paged_of(brokers.ordered(lines, order), LISTED_BROKERS_A_PAGE),
            "summary": brokers.summary(lines),
            "orders": brokers.ORDERS,
            "order": order if order in brokers.ORDERS else brokers.ORDERS[0],
            "is_known": bool(found),
            "has_clusters": len(found) > 1,
        }
        return self.shown("brokers.html", found, unread=parts.unread, **content)

    def _decided(self, snapshot: Snapshot) -> dict[str, AlertDecisions]:
        """Return how the open alerts are handled, as far as that is known."""
        return {} if snapshot.handling is None else snapshot.handling.about_each(snapshot.alerts or (), self._now_ms())

    def _topics(self, parts: "Parts") -> list[Row]:
        """Return the topics that the filter names, if it may name nothing else."""
        asked = _terms()
        texts = topics_of(asked)
        is_topic = bool(texts) and len(texts) == len(asked)
        return parts.read(lambda: self._reader.topics_with(texts)) if is_topic else []

    def _filter(self, parts: "Parts") -> Filter:
        asked = _terms()
        found = {text: parts.read(partial(self._reader.places_of_topics, text)) for text in topics_of(asked)}
        return Filter(asked, {text: set(places) for text, places in found.items()})

    def directory(self) -> str:
        """Return one directory's use, history and replicas."""
        cluster, broker, log_dir = _asked("cluster"), _number("broker"), _asked("log_dir")
        row = self._reader.directory(cluster, broker, log_dir)
        if row is None:
            abort(404, f"{place(cluster, broker, log_dir)} is not in the tables")
        now = self._now_ms()
        shown = _period(now)
        snapshot, _ = self._reader.snapshot([*HEAD_TABLES, LOG_DIR_STATE.name])
        found = statuses(snapshot, now, self._patience)
        status, parts = next((one for one in found if one.cluster == cluster), None), Parts()
        points = parts.read(lambda: self._reader.history(cluster, broker, log_dir, shown.from_ms, shown.to_ms))
        transitions = parts.read(lambda: self._reader.transitions(cluster, broker, log_dir))
        # A forecast needs a period up to now.
        ahead_ms = 0 if shown.to_ms < now else (shown.to_ms - shown.from_ms) // 3
        content = {
            "chart": chart(
                points,
                Frame(shown.from_ms, shown.to_ms + ahead_ms),
                _outlook(row),
                self._thresholds(row),
                map(_event, transitions),
                now,
            ),
            "frame": (shown.from_ms, shown.to_ms + ahead_ms),
            "transitions": transitions,
            "period": shown,
            "replicas": parts.read(lambda: self._reader.replicas(cluster, broker, log_dir)),
            "status": status,
            "now": _now_of(status, broker, log_dir),
        }
        return self.shown("directory.html", found, row=row, span=shown.span, unread=parts.unread, **content)

    def broker(self) -> str:
        """Return one broker with its directories, open alerts and changes."""
        cluster, broker = _asked("cluster"), _number("broker")
        snapshot, unreadable = self._reader.snapshot([*HEAD_TABLES, LOG_DIR_STATE.name])
        found, parts = statuses(snapshot, self._now_ms(), self._patience), Parts(unreadable)
        one = _by_id(found).get((cluster, broker))
        if one is None:
            abort(404, f"{place(cluster, broker, None)} is not in the tables")
        about = [alert for alert in snapshot.alerts or () if (alert.cluster, alert.broker) == (cluster, broker)]
        content = {
            "cluster": cluster,
            "broker": one,
            "alerts": alert_words.listed(about, decided := self._decided(snapshot), everything=False),
            "decided": decided,
            "transitions": parts.read(lambda: self._reader.transitions(cluster, broker)),
            "impaired": parts.read(lambda: self._reader.impaired_replicas(cluster, broker)),
        }
        return self.shown("broker.html", found, unread=parts.unread, **content)

    def topic(self) -> str:
        """Return one topic with its partitions, those in danger first."""
        cluster, topic = _asked("cluster"), _asked("topic")
        rows = self._reader.partitions(cluster, topic)
        if not rows:
            abort(404, f"topic {topic} of {cluster} is not in the tables")
        parts = Parts()
        sizes = dict(parts.read(lambda: list(self._reader.partition_bytes(cluster, topic).items())))
        dangers = {name: sum(bool(row[column]) for row in rows) for name, column in DANGERS.items()}
        content: dict[str, Any] = {
            "cluster": cluster,
            "topic": topic,
            "first": rows[0],
            # A map of Arrow is a list of pairs.
            "configs": dict(rows[0]["configs"] or ()),
            "sizes": sizes,
            "total_bytes": sum(size or 0 for size in sizes.values()) if sizes else None,
            "affected": list(affected_lines(dangers)),
            "paged": paged_of(sorted(rows, key=_endangered_first), PARTITIONS_A_PAGE),
            "hurt": hurt,
        }
        return self.shown("topic.html", unread=parts.unread, **content)

    def partition(self) -> str:
        """Return one partition: who is affected by its state, and each replica with its directory."""
        cluster, topic, number = _asked("cluster"), _asked("topic"), _number("partition")
        row = self._reader.partition(cluster, topic, number)
        if row is None:
            abort(404, f"partition {topic}-{number} of {cluster} is not in the tables")
        parts = Parts()
        replicas = parts.read(lambda: self._reader.replicas_of(cluster, topic, number))
        listed = {replica["broker"] for replica in replicas}
        content: dict[str, Any] = {
            "row": row,
            "hurt": hurt(row),
            "replicas": replicas,
            "unlisted": [broker for broker in row["replicas"] or () if broker not in listed],
        }
        return self.shown("partition.html", unread=parts.unread, **content)

    def timeline(self) -> str:
        """Return what happened in a period, the newest first."""
        shown, parts, ask = _period(self._now_ms()), Parts(), self._reader
        ends = (shown.from_ms, shown.to_ms)
        kind = request.args.get("kind", "")
        kinds = (kind,) if kind in KINDS else KINDS
        found, has_more = moments(
            parts.read(lambda: ask.changes(*ends)) if "statuses" in kinds else (),
            parts.read(lambda: ask.alert_changes(*ends)) if "alerts" in kinds else (),
            parts.read(lambda: ask.execution_changes(*ends)) if "executions" in kinds else (),
            MOST_CHANGES,
        )
        content: dict[str, Any] = {
            "moments": found,
            "has_more": has_more,
            "kinds": (None, *KINDS),
            "kind": kind if kind in KINDS else None,
        }
        return self.shown("timeline.html", period=shown, unread=parts.unread, **content)

    def capacity(self) -> str:
        """Return the use of space, and the effect of the changes in the URL."""
        if self._capacity is None:
            abort(404, "this console knows no capacity")
        parts, found = Parts(), self._capacity
        usage = next(iter(parts.read(lambda: [found.usage()])), None)
        status = statuses(self._reader.heads(), self._now_ms(), self._patience)
        content = capacity_content(found, request.args, usage, [one.cluster for one in status])
        return self.shown("capacity.html", status, unread=parts.unread, **content)

    def _thresholds(self, row: Row) -> dict[str, float]:
        """Return the used ratios from which a directory is filling, critical and saturated."""
        thresholds = self._detect.thresholds_for(row["cluster"], row["log_dir"])
        critical, saturated = levels(thresholds, row["total_bytes"] or 0)
        return {
            LogDirStatus.FILLING: thresholds.filling_ratio,
            LogDirStatus.CRITICAL: critical,
            LogDirStatus.SATURATED: saturated,
        }

    def alert(self, alert_id: str) -> str:
        """Return one alert with its revisions and actions."""
        life = self._reader.alert(alert_id)
        if not life:
            abort(404, f"no alert {alert_id} in the tables")
        evidence = json.dumps(msgspec.to_builtins(life[0].evidence), indent=2, sort_keys=True)
        parts = Parts()
        actions = action_words.listed(parts.read(lambda: self._reader.actions_of(alert_id)), everything=True)
        handling = self._reader.handling()
        content: dict[str, Any] = {
            "alert": life[0],
            "life": life,
            "marks": None if handling is None else marks(handling.about(life[0], self._now_ms())),
            "evidence": evidence,
            "actions": actions,
            "now": [action for action in actions if action.status in OPEN and not is_blocked(action)],
            "blocked": [action for action in actions if is_blocked(action)],
            "closed": [action for action in actions if action.status not in OPEN],
            "affected": list(affected_lines(life[0].affected)),
            "affected_links": list(affected_links(life[0].affected)),
            "response": RESPONSES[life[0].rule],
            "runbook": self._runbook(life[0].rule),
        }
        return self.shown("alert.html", unread=parts.unread, **content)

    def actions(self) -> str:
        """Return the open actions: what may be done now, and what is blocked."""
        stored = self._reader.open_actions()
        listed = None if stored is None else action_words.listed(stored, everything=False)
        paged = paged_of(listed or (), ACTIONS_A_PAGE)
        groups = [(held, [one for one in paged.shown if is_blocked(one) is held]) for held in (False, True)]
        return self.shown("actions.html", actions=listed, paged=paged, groups=groups)

    def action(self, action_id: str) -> str:
        """Return one action with its commands."""
        found = _found(self._reader, action_id)
        parts = Parts()
        rows = parts.read(lambda: self._reader.directories(found.cluster))
        content: dict[str, Any] = {
            "touched": touched(found.expected, rows),
            "steps": execution_words.planned_steps(found.operations or ()),
            "conditions": action_words.conditions(found),
            "effects": list(effects(found.expected)),
            "details": action_words.details(found, self._now_ms()),
            "executions": [
                execution_words.execution(one) for one in parts.read(lambda: self._reader.executions(action_id) or [])
            ],
        }
        return self.shown("action.html", action=found, unread=parts.unread, **content)

    def action_json(self, action_id: str) -> Response:
        """Return one action as its record."""
        return Response(msgspec.json.encode(_found(self._reader, action_id)), mimetype="application/json")

    def executions(self) -> str:
        """Return running and stuck executions, and ended ones with their result."""
        stored = self._reader.executions()
        unfinished, over = execution_words.current(map(execution_words.execution, stored or ()))
        parts = Parts()
        actions = parts.read(lambda: self._reader.actions_named(one.action_id for one in (*unfinished, *over)))
        content: dict[str, Any] = {
            "is_stored": stored is not None,
            "unfinished": unfinished,
            "over": over,
            "actions": {action.action_id: action for action in actions},
            "compared": execution_words.compared,
        }
        return self.shown("executions.html", unread=parts.unread, **content)

    def execution(self, execution_id: str) -> str:
        """Return one execution: its steps, its result, what to do next, and its states."""
        life = self._reader.execution(execution_id)
        if not life:
            abort(404, f"no execution {execution_id} in the tables")
        one, parts = execution_words.execution(life[0]), Parts()
        found = parts.read(lambda: self._reader.actions_named([one.action_id]))
        action = found[0] if found else None
        content: dict[str, Any] = {
            "one": one,
            "life": life,
            "action": action,
            "compared": execution_words.compared(one, action),
        }
        return self.shown("execution.html", unread=parts.unread, **content)

    def refused(self, title: str, what: str, code: int, allowed: Iterable[str] | None = None) -> Response:
        """Return an error page; ``allowed`` are the methods of the path if the request has another one."""
        headers = None if allowed is None else {"Allow": ", ".join(sorted(allowed))}
        return Response(self.shown("error.html", [], title=title, what=what), code, headers)

    def shown(self, name: str, found: list[ClusterStatus] | None = None, **content: Any) -> str:
        """Return a page with warnings about clusters on top, such as that they are not monitored."""
        now = self._now_ms()
        of_all = statuses(self._reader.heads(), now, self._patience) if found is None else found
        loud: dict[str, list[str]] = {}
        for one in of_all:
            for text in ages.loud(one, now):
                loud.setdefault(text, []).append(one.cluster)
        q = request.args.get("q", "").strip()
        running = execution_words.counts([execution for one in of_all for execution in one.executions or ()])
        return render_template(name, now_ms=now, loud=loud, vitals=vitals(of_all), running=running, q=q, **content)


def _found(reader: Reader, action_id: str) -> Any:
    found = reader.action(action_id)
    if found is None:
        abort(404, f"no action {action_id} in the tables")
    return found


class Parts:
    """The parts of a page: one whose table cannot be read is listed in ``unread`` and does not hide the others."""

    def __init__(self, unread: Iterable[str] = ()) -> None:
        self.unread = [_sentence(text) for text in unread]

    def read(self, ask: Callable[[], list[Part]]) -> list[Part]:
        """Return the result, empty if it cannot be read."""
        try:
            return ask()
        except UserError as error:
            self.unread.append(_sentence(str(error)))
            return []


class Paged(NamedTuple):
    """One page of many items; ``pages`` is the number of pages, at least one."""

    shown: Sequence[Any]
    page: int
    pages: int
    total: int


def paged_of(found: Sequence[Any], at_once: int) -> Paged:
    """Return the page in the URL, or the nearest existing one."""
    pages = max(1, -(-len(found) // at_once))
    asked = request.args.get("page", "1")
    page = min(pages, max(1, int(asked))) if asked.isascii() and asked.isdecimal() and len(asked) < 11 else 1
    return Paged(found[(page - 1) * at_once : page * at_once], page, pages, len(found))


class Section(NamedTuple):
    """One cluster on the fleet page; ``heatmap`` is None if the table shows as much."""

    status: ClusterStatus
    shown: Paged
    racks: list[tuple[overview.Rack, bool]]
    heatmap: Any
    is_small: bool


def _section(status: ClusterStatus, chosen: Filter) -> Section:
    """Return the brokers that match a filter; without one those that are not healthy, and the others by rack."""
    brokers = status.brokers or []
    is_small = len(brokers) <= MOST_UNFOLDED
    drawn = heatmap(brokers, is_past=status.is_past) if len(brokers) >= FEWEST_DRAWN and not chosen else None
    if chosen:
        found = overview.worst_first(chosen.brokers(status.cluster, brokers))
        return Section(status, paged_of(found, BROKERS_A_PAGE), [], drawn, is_small)
    bad = overview.worst_first(broker for broker in brokers if not overview.is_healthy(broker))
    racks, left = [], MOST_FOLDED
    for rack in overview.racks(broker for broker in brokers if overview.is_healthy(broker)):
        left -= len(rack.brokers)
        racks.append((rack, left >= 0))
    return Section(status, paged_of(bad, BROKERS_A_PAGE), racks, drawn, is_small)


def _endangered_first(row: Row) -> tuple[list[bool], int]:
    return [not row[column] for column in DANGERS.values()], row["partition"]


def _by_id(found: Iterable[ClusterStatus]) -> dict[tuple[str, int], Broker]:
    return {(status.cluster, broker.broker): broker for status in found for broker in status.brokers or ()}


def _period(now_ms: int) -> Period:
    """Return the period in the URL."""
    asked = request.args
    return period(asked.get("span", ""), asked.get("from", ""), asked.get("to", ""), now_ms)


def _outlook(row: Row) -> Outlook:
    """Return the forecast of a directory from its row."""
    growth, total = row["growth_bytes_per_s"], row["total_bytes"]
    return Outlook(row["full_at_ms"], growth / total / 1000 if growth is not None and total else None)


def _event(change: Row) -> Event:
    what = "broker" if change["log_dir"] is None else "directory"
    return Event(change["at_ms"], change["to_status"], f"{utc(change['at_ms'])}: {what} {change['to_status']}")


def _now_of(status: ClusterStatus | None, broker: int, log_dir: str) -> LogDir | None:
    """Return a directory from the status of its cluster."""
    brokers = [] if status is None else status.brokers or []
    log_dirs = [one for found in brokers if found.broker == broker for one in found.log_dirs or ()]
    return next((one for one in log_dirs if one.log_dir == log_dir), None)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _size(size_bytes: float | None) -> str:
    return "unknown" if size_bytes is None else human_bytes(size_bytes)


def _when(at_ms: int) -> Markup:
    """Return a time in UTC as the element to which the script adds the local time."""
    text = utc(at_ms)
    if not text.endswith("Z"):
        return escape(text)
    iso = datetime.fromtimestamp(at_ms // 1000, tz=timezone.utc).isoformat().replace("+00:00", "Z")
    return Markup('<time datetime="{}">{}</time>').format(iso, text)


def _exact(text: str) -> Markup:
    """Escape a text so that carriage returns survive, which a browser would turn into line ends."""
    return escape(text).replace("\r", Markup("&#13;"))


def _terms() -> list[Term]:
    """Return the filter in the URL; each word is a query of the tables."""
    found = terms(request.args.get("q", ""))
    if len(found) > MOST_TERMS:
        abort(400, f"a filter has at most {MOST_TERMS} words; write a text with blanks in double quotes")
    return found


def _asked(name: str) -> str:
    value = request.args.get(name, "")
    if not value:
        abort(400, f"{name} is missing from the address")
    return value


def _number(name: str) -> int:
    value = _asked(name)
    if not (value.isascii() and value.isdecimal() and len(value) < 11):
        abort(400, f"{name} must be a number")
    return int(value)
