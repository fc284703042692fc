"""What Grafana does with the dashboards: finds their queries and fills in what was chosen."""

import json
import re
from typing import NamedTuple
from urllib.parse import quote

from dashboards import sql
from dashboards.__main__ import files
from logdirwatch.settings import Settings

TEXT_KEYS = ("rawSQL", "rawSql")


class Asked(NamedTuple):
    """A query of a dashboard; ``name`` is that of its panel, mark or variable."""

    board: str
    name: str
    text: str

    def __str__(self):
        return f"{self.board}-{self.name}".replace(" ", "_")


def asked(engine):
    """Return every query of an engine's dashboards, the same names in the same order for each engine."""
    found = []
    for name, content in sorted(files(Settings(), {})):
        folder, board = name.removesuffix(".json").split("/")
        if folder != engine:
            continue
        document = json.loads(content)
        for panel in document["panels"]:
            found += [Asked(board, f"{panel['id']} {panel['title']}", text_of(t)) for t in panel["targets"]]
        found += [Asked(board, m["name"], text_of(m["target"])) for m in document["annotations"].get("list", [])]
        chosen = [each for each in document["templating"]["list"] if each["type"] == "query"]
        found += [Asked(board, f"variable {each['name']}", each["query"]) for each in chosen]
    return found


def text_of(target):
    return next(target[key] for key in TEXT_KEYS if key in target)


def filled(text, tables, now_ms, from_ms, to_ms, interval_ms=600_000, **chosen):
    """Fill in as Grafana does: ``percentencode`` leaves letters, digits and ``-_.~``. Now is ``now_ms``."""
    for moment in sql.NOW_MS.values():
        text = text.replace(moment, str(now_ms))
    for name, value in {"__from": from_ms, "__to": to_ms, "__interval_ms": interval_ms}.items():
        text = text.replace(f"${{{name}}}", str(value))
    text = text.replace(sql.TABLES, tables)
    for name, value in chosen.items():
        text = text.replace(f"${{{name}:percentencode}}", quote(str(value), safe=""))
    left = re.findall(r"\$\{[^}]*\}", text)
    assert not left, f"Grafana has no {left}"
    return text
