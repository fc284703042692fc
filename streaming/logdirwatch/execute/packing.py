"""Operations as the journal has them: large ones by columns and compressed, since Kafka refuses records above 1 MiB."""

import base64
import lzma
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import accumulate, chain, compress, islice, pairwise, repeat
from typing import Any

import msgspec

from logdirwatch.execute.seen import Held
from logdirwatch.model.actions.operations import Operation, RollingCopy
from logdirwatch.model.actions.parts import ReassignedPartition
from logdirwatch.plan.commands.operations import as_data, from_record, limits_of, replicas_of

_PACKED = "packed"
_PACKED_FROM_BYTES = 64 * 1024
_MOST_BYTES = 1 << 28
_FIELDS = {"partitions": ReassignedPartition.__struct_fields__, "copies": RollingCopy.__struct_fields__}
"""The lists that are long, with the fields of their objects."""

Tree = Any
"""What JSON has: objects, lists and values."""
Values = list[Any]
Known = dict[tuple[str, int], Values]
"""The first column of each name and length."""


class _Column(msgspec.Struct, array_like=True, frozen=True):
    """The values of one field: what most of them are, which are not, and those by their numbers, as planes of bytes.

    ``way`` says what is numbered: the values, their steps, or what is unlike the first such column or its reverse.
    """

    name: str
    way: str
    count: int
    usual: Any
    is_other: bytes
    known: Values
    planes: bytes


class _Packed(msgspec.Struct, array_like=True, frozen=True):
    """Operations, with numbers in place of their long lists."""

    tree: Tree
    tables: list[list[_Column]]


def packed(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return operations as one compressed entry if they are large."""
    if len(msgspec.json.encode(found)) < _PACKED_FROM_BYTES:
        return found
    tables, known = list[list[_Column]](), Known()

    def taken_out(rows: Values, fields: Sequence[str]) -> Tree:
        tables.append([_column(name, values, known) for name, values in _columns(rows, fields)])
        return len(tables) - 1

    operations = from_record(found)
    lists = [_by_replica(one, data) for one, data in zip(operations, as_data(operations), strict=True)]
    data = msgspec.msgpack.encode(_Packed(_changed(lists, taken_out), tables))
    return [{"op": _PACKED, "columns": base64.b64encode(lzma.compress(data)).decode()}]


@dataclass(frozen=True)
class Long:
    """What a packed plan names, so that the records of its states can tell it by number: see ``changes``.

    ``places`` are the replicas of its order, where they come to and then where they leave; ``limits`` its throttles.
    """

    operations: Sequence[Operation] = ()
    places: Sequence[Held] = ()
    limits: Mapping[tuple[str, str, str], str] = field(default_factory=dict)

    @cached_property
    def numbers(self) -> Mapping[object, int]:
        """The number of each place."""
        return {held: number for number, held in enumerate(self.places)}


def unpacked(found: Sequence[Mapping[str, Any]]) -> Sequence[Operation]:
    """Read what :func:`packed` wrote; raises like ``from_record``."""
    return long_plan(found).operations or from_record(found)


def long_plan(found: Sequence[Mapping[str, Any]]) -> Long:
    """Return a packed plan; what is not packed names nothing."""
    is_packed = len(found) == 1 and found[0].get("op") == _PACKED
    return _read(str(found[0].get("columns"))) if is_packed else _SHORT


_SHORT = Long()


@lru_cache(maxsize=2)
def _read(columns: str) -> Long:
    try:
        reader = lzma.LZMADecompressor()
        data = reader.decompress(base64.b64decode(columns, validate=True), _MOST_BYTES)
    except lzma.LZMAError as error:
        raise ValueError(str(error)) from None
    if not reader.eof:
        msg = "packed operations are cut off or too large"
        raise ValueError(msg)
    operations = from_record(_of_columns(data))
    places, limits = dict[Held, None](), dict[tuple[str, str, str], str]()
    for args in (args for one in operations for args in (one.args, one.inverse.args)):
        partitions = [] if args.reassignment is None else args.reassignment.partitions
        for copy in [] if args.rolling is None else args.rolling.copies:
            one = partitions[copy.partition]
            places[one.topic, one.partition, one.replicas[copy.replica]] = None
        limits |= {limit[:3]: limit.value for limit in limits_of(args)}
    return Long(operations, tuple(places), limits)


def _of_columns(data: bytes) -> Iterator[Tree]:
    found, known = msgspec.msgpack.decode(data, type=_Packed), Known()
    tables = [_rows({one.name: _values(one, known) for one in columns}) for columns in found.tables]
    return map(_by_name, _changed(found.tree, lambda number, _: tables[number]))


def _changed(tree: Tree, change: Callable[[Any, Sequence[str]], Tree]) -> Tree:
    """Return a tree with other values in place of its long lists."""
    if isinstance(tree, list):
        return [_changed(one, change) for one in tree]
    if not isinstance(tree, dict):
        return tree
    return {
        key: change(value, _FIELDS[key]) if key in _FIELDS else _changed(value, change) for key, value in tree.items()
    }


# -- objects as columns


def _columns(rows: Values, fields: Sequence[str]) -> Iterator[tuple[str, Values]]:
    """Yield a column for each field: of lists their items, after their lengths; -1: there is no list."""
    for name in fields:
        values = [row.get(name) for row in rows]
        if any(isinstance(value, list) for value in values):
            yield f"{name} #", [-1 if value is None else len(value) for value in values]
            values = list(chain.from_iterable(value or () for value in values))
        yield name, values


def _rows(columns: dict[str, Values]) -> list[dict[str, Any]]:
    """Read what :func:`_columns` yielded."""
    fields = {name: values for name, values in columns.items() if not name.endswith(" #")}
    for name, values in fields.items():
        if (lengths := columns.get(f"{name} #")) is not None:
            items = iter(values)
            fields[name] = [None if length < 0 else list(islice(items, length)) for length in lengths]
    rows = zip(*fields.values(), strict=True)
    return [{name: value for name, value in zip(fields, row, strict=True) if value is not None} for row in rows]


def _column(name: str, values: Values, known: Known) -> _Column:
    first = known.setdefault((name, len(values)), values)
    for way in ("like", "reversed") if first is not values else ():
        is_other = [one != other for one, other in zip(values, _WAYS[way](first), strict=True)]
        if 2 * sum(is_other) < len(values):
            return _numbered(name, way, None, values, is_other)
    is_number = all(isinstance(value, int) for value in values)
    steps = [after - before for before, after in pairwise([0, *values])] if is_number else values
    way, found = ("steps", steps) if len(set(steps)) < len(set(values)) else ("values", values)
    usual = Counter(found).most_common(1)[0][0] if found else None
    return _numbered(name, way, usual, found, [value != usual for value in found])


def _numbered(name: str, way: str, usual: Any, values: Values, is_other: list[bool]) -> _Column:
    import numpy as np  # noqa: PLC0415 - commands that show executions read none that is packed

    others = list(compress(values, is_other))
    known = {value: number for number, value in enumerate(dict.fromkeys(others))}
    planes = np.array([known[value] for value in others], "<u4").view(np.uint8).reshape(-1, 4).T
    bits = np.packbits(np.array(is_other, bool))
    return _Column(name, way, len(values), usual, bits.tobytes(), list(known), planes.tobytes())


def _values(one: _Column, known: Known) -> Values:
    import numpy as np  # noqa: PLC0415 - as above

    numbers = np.frombuffer(one.planes, np.uint8).reshape(4, -1).T.copy().view("<u4").ravel().tolist()
    others = iter([one.known[number] for number in numbers])
    is_other = np.unpackbits(np.frombuffer(one.is_other, np.uint8), count=one.count).tolist()
    usual = _WAYS[one.way](known[one.name, one.count]) if one.way in _WAYS else repeat(one.usual)
    values = [next(others) if other else value for other, value in zip(is_other, usual, strict=False)]
    values = list(accumulate(values)) if one.way == "steps" else values
    known.setdefault((one.name, one.count), values)
    return values


_WAYS: dict[str, Callable[[Values], Values]] = {"like": lambda first: first, "reversed": lambda first: first[::-1]}


# -- lists of throttled replicas, by the replicas that a reassignment has before and after it

_ORDERS: dict[str, Callable[[str], Any]] = {
    "text": str,
    "number": lambda entry: [int(number) for number in entry.split(":")],
}
_REPLICAS = " replicas"
"""In place of a topic's name."""


def _by_replica(operation: Operation, data: dict[str, Any]) -> dict[str, Any]:
    """Return an operation that tells for each replica whether a list names it, where that says all."""
    replicas = _replicas(operation)
    for args in (data["args"], data["inverse"]["args"]):
        lists = args.get("limits", {}).get("topics", {})
        named = {(topic, key, entry) for topic, keys in lists.items() for key in keys for entry in keys[key].split(",")}
        keys = sorted({key for _, key, _ in named})
        marks = {key: "".join("01"[(topic, key, entry) in named] for topic, entry in replicas) for key in keys}
        for order in _ORDERS:
            if lists and _lists(replicas, marks, order) == lists:
                args["limits"]["topics"] = {_REPLICAS: {"order": order, **marks}}
    return data


def _by_name(data: dict[str, Any]) -> dict[str, Any]:
    """Read what :func:`_by_replica` wrote."""
    operation = msgspec.convert(data, Operation)
    for args in (data["args"], data["inverse"]["args"]):
        lists = args.get("limits", {}).get("topics", {})
        if _REPLICAS in lists:
            marks = dict(lists[_REPLICAS])
            args["limits"]["topics"] = _lists(_replicas(operation), marks, marks.pop("order"))
    return data


def _replicas(operation: Operation) -> list[tuple[str, str]]:
    here, there = replicas_of(operation.inverse.args.reassignment), replicas_of(operation.args.reassignment)
    return [
        (topic, f"{number}:{broker}")
        for (topic, number), brokers in here.items()
        for broker in dict.fromkeys((*brokers, *there.get((topic, number), ())))
    ]


def _lists(
    replicas: Sequence[tuple[str, str]], marks: Mapping[str, str], order: str
) -> Mapping[str, Mapping[str, str]]:
    found: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for key, marked in marks.items():
        for (topic, entry), mark in zip(replicas, marked, strict=True):
            if mark == "1":
                found[topic][key].append(entry)
    return {
        topic: {key: ",".join(sorted(entries, key=_ORDERS[order])) for key, entries in keys.items()}
        for topic, keys in found.items()
    }
