"""The typed parts of records: attributes for our code, a read-only mapping for scripts that read a record.

A field is declared in one of four ways:

- without a default: it is on the wire in every record;
- ``= NULL``, ``= NO``, ``= EMPTY_LIST`` or ``= EMPTY_MAP``: it is on the wire in every record that this release
  writes, as null (false, empty) where its value is not known; a record of an older release may lack it;
- ``= None``: it is on the wire only where it applies, and then never null;
- ``= UNSET``: it is on the wire only where it applies, as null where its value is not known.

Fields that this release does not know are ignored.
"""

from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, ValuesView
from operator import attrgetter
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Struct, field

P = TypeVar("P", bound="RecordPart")

# msgspec leaves out of the JSON what equals a plain default; what a factory gave is always written.
NULL: Any = field(default_factory=lambda: None)
NO: Any = field(default_factory=bool)
EMPTY_LIST: Any = field(default_factory=lambda: [])  # noqa: PIE807 - an empty list of list() would be left out
EMPTY_MAP: Any = field(default_factory=lambda: {})  # noqa: PIE807 - an empty map of dict() would be left out


def meaning(annotation: Any) -> str:
    """Return what a field means: the text in its annotation; empty if it has none."""
    return next((note for note in getattr(annotation, "__metadata__", ()) if isinstance(note, str)), "")


class RecordPart(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of a record; ``part["name"]`` and ``part.get("name")`` read a field as it is on the wire."""

    def get(self, name: str, default: Any = None) -> Any:
        """Return a field, or ``default`` where the part does not have it."""
        return self._view().get(name, default)

    def keys(self) -> KeysView[str]:
        """Return the names of the fields that are on the wire."""
        return self._view().keys()

    def values(self) -> ValuesView[Any]:
        """Return the values of the fields that are on the wire."""
        return self._view().values()

    def items(self) -> ItemsView[str, Any]:
        """Return names and values of the fields that are on the wire."""
        return self._view().items()

    def __getitem__(self, name: str) -> Any:
        """Return a field; KeyError where the part does not have it."""
        return self._view()[name]

    def __contains__(self, name: object) -> bool:
        """Tell whether a field is on the wire."""
        return name in self._view()

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the fields that are on the wire."""
        return iter(self._view())

    def __len__(self) -> int:
        """Return how many fields are on the wire."""
        return len(self._view())

    def __eq__(self, other: object) -> bool:
        """Compare with another part, or with a mapping of the same fields."""
        if isinstance(other, RecordPart):
            return Struct.__eq__(self, other)
        return self._view() == other if isinstance(other, Mapping) else NotImplemented

    __hash__ = Struct.__hash__

    def _view(self) -> dict[str, Any]:
        """Return the fields that are on the wire, by the names that they have there."""
        kind = type(self)
        defaults = (*[UNSET] * (len(kind.__struct_fields__) - len(kind.__struct_defaults__)), *kind.__struct_defaults__)
        values = map(self.__getattribute__, kind.__struct_fields__)
        found = zip(kind.__struct_encode_fields__, values, defaults, strict=True)
        return {
            name: value
            for name, value, default in found
            if value is not UNSET and (value is not None or default is not None)
        }


def converted(found: Mapping[str, Any], kind: type[P]) -> P:
    """Return a part as a record has it; a field that does not fit is left out, so that the rest remains usable.

    Raises msgspec.ValidationError if a required field does not fit.
    """
    try:
        return msgspec.convert(found, kind)
    except msgspec.ValidationError:
        return msgspec.convert(_fitting(found, kind), kind)


def fitting(found: Mapping[str, Any], kind: type[RecordPart]) -> Mapping[str, Any]:
    """Return the fields of a part that fit, and those that this release does not know, as they are on the wire."""
    try:
        msgspec.convert(found, kind)
    except msgspec.ValidationError:
        return _fitting(found, kind)
    return found


def _fitting(found: Mapping[str, Any], kind: type[RecordPart]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if _fits(name, value, kind)}


def as_written(given: Mapping[str, Any], kind: type[RecordPart]) -> dict[str, Any]:
    """Return the JSON object of a part that a producer gives, with every field that it gives.

    Raises msgspec.ValidationError if a field does not fit, is missing, or does not belong to the part: records match
    their schema.
    """
    written = msgspec.to_builtins(dict(given))
    unknown = sorted(_unknown(written, msgspec.convert(written, kind)))
    if unknown:
        raise msgspec.ValidationError(f"{kind.__name__} has no field {', '.join(unknown)}")
    return dict(written)


def _unknown(given: Any, read: Any) -> Iterator[str]:
    """Yield the keys that were lost when a value was converted."""
    if isinstance(read, RecordPart):
        fields = dict(zip(read.__struct_encode_fields__, read.__struct_fields__, strict=True))
        yield from (f"`{name}`" for name in given if name not in fields)
        pairs = [(value, getattr(read, fields[name])) for name, value in given.items() if name in fields]
    elif isinstance(read, dict):
        pairs = [(given[name], value) for name, value in read.items()]
    else:
        pairs = list(zip(given, read, strict=True)) if isinstance(read, list | tuple) else []
    for part, kept in pairs:
        yield from _unknown(part, kept)


def _fits(name: str, value: Any, kind: type[RecordPart]) -> bool:
    fields = {found.encode_name: found.type for found in msgspec.structs.fields(kind)}
    try:
        msgspec.convert(value, fields.get(name, Any))
    except msgspec.ValidationError:
        return False
    return True


def in_common(kind: type[Struct], other: type[Struct]) -> Callable[[Struct], dict[str, Any]]:
    """Return what takes the fields that structs of one kind have as those of another, by name, from one of them."""
    names = [name for name in kind.__struct_fields__ if name in other.__struct_fields__]
    values = attrgetter(*names)
    return lambda found: dict(zip(names, values(found), strict=True))
