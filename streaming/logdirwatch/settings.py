"""The configuration: one YAML file, overridden by environment variables, completed by defaults.

Validating never connects. Every key is listed with its meaning in ``conf/reference.yaml``.
"""

import math
import os
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, Field, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict
from pydantic_settings.exceptions import SettingsError

from logdirwatch.autopilot.settings import AutopilotSettings
from logdirwatch.collect.settings import (
    CollectSettings,
    HostSettings,
    JmxExporterSettings,
    LogDirCapacity,
    configured_capacity,
)
from logdirwatch.config import environment
from logdirwatch.config.section import DAY_MS, Name, Section
from logdirwatch.config.stream import CheckpointSettings, StreamSettings
from logdirwatch.config.text_file import TooLargeError, opened, text_of
from logdirwatch.console.settings import ConsoleSettings
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.errors import UserError
from logdirwatch.fleet.settings import FleetSettings
from logdirwatch.kafka.settings import KafkaSettings, TopicSettings
from logdirwatch.model.vocabulary import ClusterOwner
from logdirwatch.notify.settings import NotifySettings
from logdirwatch.plan.settings import PlanSettings, StrimziSettings, ToolSettings
from logdirwatch.quality.settings import QualitySettings
from logdirwatch.report.capacity.settings import ReportSettings
from logdirwatch.store.settings import MaintainSettings, TableSettings
from logdirwatch.text.printable import name_or_mask, printable
from logdirwatch.text.words import did_you_mean

_Section = TypeVar("_Section", bound=BaseModel)
NAME_ITSELF = "[key]"
"""Pydantic's last step to a name, such as a cluster's, that is wrong itself."""


class _Environment(EnvSettingsSource):
    """The environment variables, over what is ``written`` in the file."""

    def __init__(self, settings_cls: type[BaseSettings], written: Mapping[str, Any]) -> None:
        super().__init__(settings_cls)
        self._written = written

    def __call__(self) -> dict[str, Any]:
        """Return the values that are set; raises UserError for a cluster that has an address nowhere."""
        found = environment.spelled(super().__call__(), self._written)
        if (problem := environment.without_address(found, self._written)) is not None:
            raise _refused("the environment", problem)
        return found

    def _load_env_vars(self) -> Mapping[str, str | None]:
        return environment.prepared(super()._load_env_vars())

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:
        """Return a value that is written as JSON; raises ``environment.NotJsonError``."""
        del field_name, field
        return environment.decoded(value)


class ClusterSettings(KafkaSettings):
    """One monitored cluster."""

    tools: ToolSettings = ToolSettings()
    owner: ClusterOwner | None = Field(
        None,
        description="What declares the cluster's configuration: strimzi, gitops or terraform; null: nothing does. "
        "Actions are written for it.",
    )
    strimzi: StrimziSettings = StrimziSettings()
    jmx_exporter: JmxExporterSettings = JmxExporterSettings()
    log_dirs: tuple[LogDirCapacity, ...] = Field(
        (), description="Sizes of log directories where Kafka does not report them (below 3.3) and no watch-host runs."
    )

    def capacity_of(self, broker: int, path: str) -> int | None:
        """Return the configured size of a log directory."""
        return configured_capacity(self.log_dirs, broker, path)


class DecisionSettings(Section):
    """Limits of decisions about alerts."""

    longest_ms: int = Field(
        7 * DAY_MS, ge=0, description="Maximum duration of an acknowledgement or silence, also of one without an end."
    )


class Settings(BaseSettings):
    """The whole configuration."""

    model_config = SettingsConfigDict(
        env_prefix=environment.PREFIX,
        env_nested_delimiter=environment.DELIMITER,
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        nested_model_default_partial_update=True,
    )

    home: str = Field(
        ".logdirwatch", min_length=1, description="Folder of local run-time files: tables, local cluster, jars, logs."
    )
    default_cluster: Name = Field("default", description="Cluster of events that do not name one.")
    telemetry: KafkaSettings = KafkaSettings()
    clusters: dict[Name, ClusterSettings] = Field({}, description="The monitored clusters by name.")
    topics: TopicSettings = TopicSettings()
    collect: CollectSettings = Field(default_factory=CollectSettings)
    host: HostSettings | None = None
    detect: DetectSettings = DetectSettings()
    fleet: FleetSettings = FleetSettings()
    decisions: DecisionSettings = DecisionSettings()
    plan: PlanSettings = PlanSettings()
    autopilot: AutopilotSettings = AutopilotSettings()
    notify: NotifySettings = NotifySettings()
    stream: StreamSettings = StreamSettings()
    tables: TableSettings = TableSettings()
    checkpoints: CheckpointSettings = CheckpointSettings()
    maintain: MaintainSettings = MaintainSettings()
    quality: QualitySettings = QualitySettings()
    console: ConsoleSettings = ConsoleSettings()
    report: ReportSettings = ReportSettings()

    @model_validator(mode="after")
    def _autopilot_knows_its_clusters(self) -> "Settings":
        for name in self.autopilot.clusters:
            if self.clusters and name not in self.clusters:
                msg = f"autopilot.clusters.{name}: there is no such cluster{did_you_mean(name, self.clusters)}"
                raise ValueError(msg)
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Let the environment override the file, which arrives as init arguments."""
        del env_settings, dotenv_settings, file_secret_settings
        return _Environment(settings_cls, init_settings()), init_settings

    @property
    def home_path(self) -> Path:
        """The home folder, absolute."""
        return Path(self.home).expanduser().absolute()

    @property
    def tables_path(self) -> str:
        """Where path tables lie."""
        return self.tables.path or str(self.home_path / "tables")


def local_cluster_config(home: Path) -> Path:
    """Return the path of the configuration of a running local cluster."""
    return home / "cluster" / "logdirwatch.yaml"


def find_config(explicit: Path | None) -> Path | None:
    """Return the file to read: the named one, ``LOGDIRWATCH_CONFIG``, ``logdirwatch.yaml``, the local cluster's."""
    named = explicit or (Path(value) if (value := os.environ.get(environment.CONFIG)) else None)
    if named is not None:
        return named
    home = Path(os.environ.get(f"{environment.PREFIX}HOME", ".logdirwatch")).expanduser().absolute()
    usual = (Path("logdirwatch.yaml"), local_cluster_config(home))
    # Also a folder, which container engines make of a file that they do not find, and a link that leads nowhere.
    return next((path for path in usual if path.exists() or path.is_symlink()), None)


def load(path: Path | None = None) -> Settings:
    """Read the configuration from ``path`` and the environment.

    Raises UserError naming the file, the key and what is wrong with it; never shows a value, which may be a secret.
    """
    where = str(path) if path else "the environment"
    content = _read_yaml(path) if path else {}
    sections = {name: _section_of(field.annotation) is not None for name, field in Settings.model_fields.items()}
    if (problem := environment.unusable(os.environ, sections)) is not None:
        raise _refused("the environment", problem)
    try:
        return Settings(**content)
    except SettingsError as error:
        raise _refused("the environment", _not_json(error)) from None
    except ValidationError as error:
        problems = (_problem(found["loc"], found["type"], found["msg"]) for found in error.errors(include_input=False))
        raise _refused(where, "; ".join(problems)) from None


def replaced(section: _Section, option: str, **values: Any) -> _Section:
    """Return a section with values of the command line; raises UserError naming the ``option`` for a wrong one."""
    try:
        return type(section).model_validate({**dict(section), **values})
    except ValidationError as error:
        raise refused_option(option, error) from None


def refused_option(option: str, error: ValidationError) -> UserError:
    """Return what is wrong with an option that stands for a key; it shows no value."""
    found = error.errors(include_input=False)[0]
    words = _words_of(found["type"], found["msg"], found["loc"])
    return UserError(printable(f"{option}: {words}"), exit_code=2)


def _refused(where: str, problem: str) -> UserError:
    return UserError(printable(f"configuration ({where}): {problem}"), exit_code=2)


def _not_json(error: SettingsError) -> str:
    """Return which variable is not JSON, and why."""
    cause = error.__cause__
    if not isinstance(cause, environment.NotJsonError):
        return "a variable cannot be read"
    variables = environment.prepared(os.environ)
    return f"{environment.holding(cause.value, variables)} {cause.reason}"


def _problem(where: Sequence[int | str], kind: str, message: str) -> str:
    """Return what is wrong with a place of the configuration, and the variable that sets it, if one does."""
    variable = environment.named(where, os.environ)
    # Where a section may be null, pydantic takes what is not JSON for a text.
    is_no_object = kind.endswith("_type") and kind != "string_type"
    if variable and is_no_object and (reason := environment.why_not_json(os.environ[variable])):
        return f"{variable} {reason}"
    steps = (name_or_mask(str(step)) for step in where if step != NAME_ITSELF)
    place = ".".join(steps) + (f" ({variable})" if variable else "")
    return f"{place}: {_words_of(kind, message, where)}"


def _words_of(kind: str, message: str, where: Sequence[int | str]) -> str:
    """Return a problem in words; for an unknown key with the one that is probably meant."""
    if kind in {"model_type", "dict_type"}:
        return "expected keys and values below it"
    if kind != "extra_forbidden":
        return message.removeprefix("Value error, ")
    return f"there is no such key{did_you_mean(str(where[-1]), _keys_beside(where))}"


def _keys_beside(where: Sequence[int | str]) -> list[str]:
    """Return the keys of the section that a place of the configuration is in; names and positions lead nowhere."""
    section: type[BaseModel] = Settings
    for step in where[:-1]:
        field = section.model_fields.get(str(step))
        section = section if field is None else _section_of(field.annotation) or section
    return list(section.model_fields)


def _section_of(annotation: Any) -> type[BaseModel] | None:
    """Return the section in ``Section``, ``Section | None``, ``dict[str, Section]`` or ``tuple[Section, ...]``."""
    found = (one for one in (annotation, *get_args(annotation)) if isinstance(one, type))
    return next((one for one in found if issubclass(one, BaseModel)), None)


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        content = yaml.load(_text_of(path), _Loader)  # noqa: S506 - it is a safe one
    except OSError as error:
        raise UserError(f"configuration {path}: {error.strerror}", exit_code=2) from None
    except Exception as error:  # not UTF-8, an impossible date: PyYAML raises many kinds of errors
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}" if mark else ""
        raise UserError(f"configuration {path}{line}: {_unreadable(error)}", exit_code=2) from None
    if content is None:
        return {}
    if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
        raise UserError(f"configuration {path}: expected keys and values at the top", exit_code=2)
    return content


def _text_of(path: Path) -> str:
    with opened(path) as file:
        return text_of(file)


MOST_VALUES = 1_000_000


class _DuplicateKeyError(yaml.MarkedYAMLError):
    """A key twice in one section: YAML forbids it, and PyYAML takes the last one."""


class _Loader(yaml.SafeLoader):
    """Reads all but null as text, which gets its type from its key, as that of a variable does.

    YAML 1.1 takes ``010`` for eight, ``1:30`` for ninety and ``no`` for false, also as the name of a cluster.
    """

    yaml_implicit_resolvers = {  # noqa: RUF012 - as in PyYAML
        first: [(tag, form) for tag, form in known if tag.endswith((":null", ":merge"))]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def get_single_node(self) -> yaml.Node | None:
        """Return the file's values; raises an error for too many, those of an alias counted wherever it stands."""
        node: yaml.Node | None = super().get_single_node()
        if node is not None and _size(node, {}) > MOST_VALUES:
            raise TooLargeError(f"more than {MOST_VALUES} values, those of aliases counted wherever they stand")
        return node

    def construct_scalar(self, node: yaml.ScalarNode | yaml.MappingNode) -> Any:
        """Return a text; raises UnicodeError for what YAML's escapes can write and no path or address can hold."""
        text = super().construct_scalar(node)
        if not environment.is_text(text):
            raise UnicodeError
        return text

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return a section; raises an error for a key that it has twice."""
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag != "tag:yaml.org,2002:merge" and key.value in seen:
                raise _DuplicateKeyError(problem_mark=key.start_mark)
            if isinstance(key.value, str):
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def _size(node: yaml.Node, known: dict[int, float]) -> float:
    """Return how many values a node is and contains: infinitely many if it contains itself."""
    if id(node) not in known:
        known[id(node)] = math.inf
        parts = chain.from_iterable(node.value) if isinstance(node, yaml.MappingNode) else node.value
        inner = () if isinstance(node, yaml.ScalarNode) else parts
        known[id(node)] = 1 + sum(_size(one, known) for one in inner)
    return known[id(node)]


def _unreadable(error: Exception) -> str:
    if isinstance(error, TooLargeError):
        return str(error)
    if isinstance(error, _DuplicateKeyError):
        return "the key is there already"
    if isinstance(error, UnicodeError):
        return "not text in UTF-8"
    is_tab = "'\\t'" in str(getattr(error, "problem", ""))
    return "not valid YAML: indent with spaces, not with a tab" if is_tab else "not valid YAML"
