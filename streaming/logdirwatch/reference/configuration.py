"""The configuration reference: every key with its meaning and default, from the settings classes."""

import textwrap
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, get_args

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from logdirwatch.text.units import human_bytes, human_ms

HEAD = """\
# Every key of logdirwatch's configuration with its meaning and default. Written by: logdirwatch config reference
#
# Copy the keys that you change to a file and pass it with --config or LOGDIRWATCH_CONFIG, or name it
# logdirwatch.yaml in the working directory. An environment variable overrides a key, nested with two underscores:
# LOGDIRWATCH_TELEMETRY__BOOTSTRAP_SERVERS, LOGDIRWATCH_DETECT__DEBOUNCE_SAMPLES. An unknown key is an error.
"""
_WIDTH = 116


def reference_yaml(settings: type[BaseModel]) -> str:
    """Return the reference of ``settings`` as YAML that loads to its defaults."""
    return HEAD + "\n" + "\n".join(_section(settings, _defaults(settings), indent="")) + "\n"


def description(field: FieldInfo) -> str | None:
    """Return a key's description: its own, or that of the section it opens."""
    if field.description:
        return field.description
    model = _model(field.annotation)
    return model.__doc__ if model else None


def _section(model: type[BaseModel], defaults: Mapping[str, Any], indent: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        if not indent and name != next(iter(model.model_fields)):
            yield ""
        yield from _comment((description(field) or "").replace("``", ""), indent)
        yield from _key(name, field, defaults.get(name), indent)


def _key(name: str, field: FieldInfo, default: Any, indent: str) -> Iterator[str]:
    model = _model(field.annotation)
    if model is not None and not get_args(field.annotation):
        yield f"{indent}{name}:"
        yield from _section(model, dict(default) if default else _defaults(model), indent + "  ")
    elif field.default_factory is not None:
        yield f"{indent}# {name}: (this machine's)"
    else:
        yield f"{indent}{name}: {_inline(default)}{_unit(name, default)}"
        if model is not None:
            yield from _example(model, field, indent)


def _example(model: type[BaseModel], field: FieldInfo, indent: str) -> Iterator[str]:
    """Show, as a comment, one entry of a mapping or list of sections, or the keys of a section that may be null."""
    lines = list(_section(model, _defaults(model), indent="  "))
    if type(None) in get_args(field.annotation):
        yield from (f"{indent}# {line}" for line in lines)
        return
    opening = "NAME:" if "dict" in str(field.annotation) else "-"
    yield from (f"{indent}#   {line}" for line in (opening, *lines))


def _defaults(model: type[BaseModel]) -> dict[str, Any]:
    fields = model.model_fields.items()
    return {name: None if f.is_required() else f.get_default(call_default_factory=True) for name, f in fields}


def _model(annotation: Any) -> type[BaseModel] | None:
    candidates = (annotation, *get_args(annotation))
    return next((c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel)), None)


def _comment(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# ")


def _inline(value: Any) -> str:
    plain = list(value) if isinstance(value, tuple) else value.value if isinstance(value, Enum) else value
    return str(yaml.safe_dump(plain, default_flow_style=True, width=_WIDTH)).removesuffix("...\n").strip()


def _unit(name: str, value: Any) -> str:
    if not isinstance(value, int) or isinstance(value, bool):
        return ""
    if "_bytes" in name:
        return f"  # {human_bytes(value)}"
    return f"  # {human_ms(value)}" if name.endswith("_ms") else ""
