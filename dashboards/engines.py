"""The two engines that Grafana can ask, and how the plugin of each wants its queries."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grafana_foundation_sdk.cog import builder, variants
from grafana_foundation_sdk.models import dashboard as model

DATA_SOURCE_UID = "logdirwatch"
TIME_SERIES, TABLE = "time_series", "table"


@dataclass(frozen=True)
class Engine:
    """One engine; ``tables`` is the catalog and schema where the tables are unless told otherwise."""

    name: str
    plugin: str
    tables: str
    text_key: str
    formats: Mapping[str, Any]
    settings: Mapping[str, Mapping[str, Any]]

    @property
    def data_source(self) -> model.DataSourceRef:
        """What panels name."""
        return model.DataSourceRef(type_val=self.plugin, uid=DATA_SOURCE_UID)

    def target(self, sql: str, kind: str, ref: str) -> dict[str, Any]:
        """Return a query as the plugin stores it."""
        return {
            "refId": ref,
            "datasource": self.data_source,
            self.text_key: sql,
            "format": self.formats[kind],
            **self.settings[kind],
        }


TRINO = Engine(
    name="trino",
    plugin="trino-datasource",
    tables="delta.logdirwatch",
    text_key="rawSQL",
    formats={TIME_SERIES: 0, TABLE: 1},
    settings={TIME_SERIES: {}, TABLE: {}},
)
# The free plugin: that of Grafana's makers needs an Enterprise licence.
DATABRICKS = Engine(
    name="databricks",
    plugin="mullerpeter-databricks-datasource",
    tables="main.logdirwatch",
    text_key="rawSql",
    formats={TIME_SERIES: "time_series", TABLE: "table"},
    settings={
        TIME_SERIES: {
            "rawQuery": True,
            "editorMode": "code",
            "querySettings": {"convertLongToWide": True, "fillMode": 1},
        },
        TABLE: {"rawQuery": True, "editorMode": "code", "querySettings": {"convertLongToWide": False}},
    },
)
ENGINES = (DATABRICKS, TRINO)


class Target(variants.Dataquery):
    """A query of a panel, as JSON."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self._content = dict(content)

    def to_json(self) -> dict[str, Any]:
        """Return what the dashboard holds."""
        return self._content


class TargetBuilder(builder.Builder[Target]):
    """What panels take."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self._target = Target(content)

    def build(self) -> Target:
        """Return the query."""
        return self._target


class Annotation(model.AnnotationQuery):
    """Marks in time that a query finds; the SDK's own knows only Grafana's store of annotations."""

    def __init__(self, name: str, engine: Engine, content: Mapping[str, Any], colour: str) -> None:
        super().__init__(name=name, datasource=engine.data_source, enable=True, icon_color=colour)
        self._content = dict(content)

    def to_json(self) -> dict[str, object]:
        """Return what the dashboard holds."""
        return {**super().to_json(), "target": self._content}


class AnnotationBuilder(builder.Builder[model.AnnotationQuery]):
    """What dashboards take."""

    def __init__(self, annotation: Annotation) -> None:
        self._annotation = annotation

    def build(self) -> Annotation:
        """Return the annotation."""
        return self._annotation
