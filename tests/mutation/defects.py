"""Single-line defects that change behaviour: conditions, operators, constants, statements, arguments.

What only people read is left alone: documentation, annotations, log lines, texts with a space in them.
"""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

_OPPOSITE: dict[type[ast.AST], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "+"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
_OTHER_FUNCTION = {"min": "max", "max": "min", "any": "all", "all": "any"}
LARGE = 256
"""A number from here on is a size or a time that somebody chose: one more of it is as good."""
_ADAPTED = re.compile(r"(pyspark|kafka|py4j|delta)(\.|$)")
_FOR_PEOPLE = re.compile(r"\s|^$")


class Defect(NamedTuple):
    """One line of a file, counted from 1, and what stands there instead."""

    line: int
    before: str
    after: str


def defects(source: str) -> list[Defect]:
    """Return every defect that can be planted in a file, each once; not each leaves Python behind (`is_python`)."""
    lines = source.splitlines()
    found: dict[Defect, None] = {}
    for node in _judged(ast.parse(source)):
        for place, text in _changes(node, lines):
            if defect := _defect(lines, place, text):
                found[defect] = None
    return list(found)


_Place = tuple[int, int, int]


def _judged(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and those below it that decide what the program does."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "type_params"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_for_people(child):
                yield from _judged(child)


def _is_for_people(node: ast.AST) -> bool:
    match node:
        # Python 3.11 does not know where the parts of an f-string stand.
        case ast.JoinedStr() | ast.Import() | ast.ImportFrom():
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="log")))):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
        case ast.keyword(arg="description" | "help"):
            return True
    return False


def _changes(node: ast.AST, lines: list[str]) -> Iterator[tuple[_Place | None, str]]:
    match node:
        case ast.Compare(ops=[op], left=left, comparators=[right]):
            yield _between(left, right, op, lines)
        case ast.BinOp(left=left, op=op, right=right):
            yield _between(left, right, op, lines)
        case ast.BoolOp(op=op, values=values):
            yield from _without_one(node, op, values, lines)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield _place(node), _text(operand, lines)
        case ast.Constant():
            yield from _other_constant(node)
        case ast.Call():
            yield from _other_call(node, lines)
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.comprehension(ifs=[test]):
            yield _place(test), f"not ({_text(test, lines)})"
    if isinstance(node, ast.stmt):
        yield from _without_statement(node)


def _between(left: ast.expr, right: ast.expr, op: ast.AST, lines: list[str]) -> tuple[_Place | None, str]:
    before, after = _OPPOSITE.get(type(op), ("", ""))
    if not before or left.end_lineno != right.lineno:
        return None, ""
    begin, end = left.end_col_offset or 0, right.col_offset
    between = lines[right.lineno - 1].encode()[begin:end].decode()
    return (right.lineno, begin, end), between.replace(before, after, 1)


def _without_one(
    node: ast.BoolOp, op: ast.boolop, values: list[ast.expr], lines: list[str]
) -> Iterator[tuple[_Place | None, str]]:
    """Drop each operand; where they stand on lines of their own it is replaced by what changes nothing."""
    word = "and" if isinstance(op, ast.And) else "or"
    for left_out in values:
        if _place(node):
            rest = f" {word} ".join(_text(value, lines) for value in values if value is not left_out)
            yield _place(node), f"({rest})"
        else:
            yield _place(left_out), "True" if word == "and" else "False"


def _other_constant(node: ast.Constant) -> Iterator[tuple[_Place | None, str]]:
    match node.value:
        case bool():
            yield _place(node), str(not node.value)
        case int() | float() if node.value < LARGE:
            yield _place(node), repr(node.value + 1)
        case str() if not _FOR_PEOPLE.search(node.value):
            yield _place(node), repr(node.value + "X")


def _other_call(node: ast.Call, lines: list[str]) -> Iterator[tuple[_Place | None, str]]:
    if isinstance(node.func, ast.Name) and node.func.id in _OTHER_FUNCTION:
        yield _place(node.func), _OTHER_FUNCTION[node.func.id]
    if not _place(node):
        return
    arguments = [*node.args, *node.keywords]
    texts = [_text(argument, lines) for argument in arguments]
    function = _text(node.func, lines)
    # The order of arguments is nothing to min and max, unless there is a key.
    is_ordered = not (isinstance(node.func, ast.Name) and node.func.id in {"min", "max"} and not node.keywords)
    if is_ordered and len(node.args) > 1 and not isinstance(node.args[0], ast.Starred):
        yield _place(node), f"{function}({', '.join([texts[1], texts[0], *texts[2:]])})"
    for keyword in range(len(node.args), len(arguments)):
        yield _place(node), f"{function}({', '.join(texts[:keyword] + texts[keyword + 1 :])})"


def _without_statement(node: ast.stmt) -> Iterator[tuple[_Place | None, str]]:
    match node:
        case ast.Return(value=value) if value is not None and not _is_false(value):
            yield _place(node), "return None"
        case ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Delete() | ast.Continue() | ast.Break():
            yield _place(node), "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield _place(node), "pass"


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value


def _place(node: ast.expr | ast.stmt | ast.keyword) -> _Place | None:
    """Return where a node stands, None if it takes several lines."""
    if node.lineno != node.end_lineno:
        return None
    return node.lineno, node.col_offset, node.end_col_offset or 0


def _text(node: ast.expr | ast.keyword, lines: list[str]) -> str:
    """Return a node as it is written, in parentheses where it would be read otherwise."""
    if node.lineno != node.end_lineno:
        return ast.unparse(node)
    text = lines[node.lineno - 1].encode()[node.col_offset : node.end_col_offset].decode()
    return f"({text})" if isinstance(node, ast.BoolOp | ast.IfExp | ast.GeneratorExp | ast.NamedExpr) else text


def _defect(lines: list[str], place: _Place | None, text: str) -> Defect | None:
    """Return the line with a text at a place, None where that changes nothing or is no Python."""
    if place is None:
        return None
    number, begin, end = place
    line = lines[number - 1]
    after = (line.encode()[:begin] + text.encode() + line.encode()[end:]).decode()
    return Defect(number, line, after) if after != line else None


def planted(source: str, defect: Defect) -> str:
    """Return a file with a defect in it."""
    lines = source.splitlines()
    lines[defect.line - 1] = defect.after
    return "\n".join([*lines, ""])


def is_python(source: str, defect: Defect) -> bool:
    """Tell whether a file can be read with a defect in it."""
    try:
        ast.parse(planted(source, defect))
    except SyntaxError:
        return False
    return True


def is_of_adapter(source: str, line: int) -> bool:
    """Tell whether a line is in a function, or method of a class, that calls Spark or Kafka's client itself.

    Such a function names something of ``pyspark``, ``kafka`` or ``py4j``, or the attribute ``_spark``.
    """
    tree = ast.parse(source)
    foreign = {
        name.asname or name.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
        if _ADAPTED.match(getattr(node, "module", None) or name.name)
    }
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    around = [function for function in functions if function.lineno <= line <= (function.end_lineno or 0)]
    return any(_names(node, foreign) for function in around for node in ast.walk(function))


def _names(node: ast.AST, foreign: set[str]) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in {"_spark", "sparkSession"}
    return isinstance(node, ast.Name) and node.id in foreign
