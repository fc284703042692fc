"""An event of log4j's XML layouts as the fields that a JSON object of it has. Pure.

Log4j 1 (``XMLLayout``) and log4j2 (``XmlLayout``) write attributes for what is short and elements for what is long,
over several lines; with ``compact="true"`` on one. A parser of XML would follow whatever the text defines, so it is
only read by its names.
"""

import html
import re
from typing import Any

from logdirwatch.parse.patterns import compiled

_BEGINS = compiled(r"(?:<\?xml [^>]*\?>\s*)?(?:<Events\b[^>]*>)?\s*<(?P<tag>(?:log4j:)?[Ee]vent)\s")
# The frame around all events of a file.
_AROUND = compiled(r"\s*(?:<\?xml [^>]*>)?\s*(?:</?(?:Events|(?:log4j:)?eventSet)\b[^>]*>)?\s*")
_ATTRIBUTE = compiled(r"\s+(?P<name>[A-Za-z]\w*)=\"(?P<text>[^\"]{0,65536})\"")
# A value may hold a ">", as that of a rename does.
_TAG = compiled(r"<(?:log4j:)?(?P<name>[A-Za-z]\w*)(?P<attributes>(?:\s+[\w:]{1,60}=\"[^\"]{0,65536}\")*)\s*/?>")
_MESSAGE = compiled(r"<(?:log4j:)?[Mm]essage>")
_STACK = compiled(r"<(?:log4j:throwable|ExtendedStackTrace)>")
_QUOTED = "<![CDATA["
_THROWN = frozenset({"Thrown", "Cause"})


def end_of(text: str) -> str | None:
    """Return what ends the event that begins with ``text``, None if none does."""
    found = _BEGINS.match(text)
    return None if found is None else f"</{found['tag']}>"


def is_around(text: str) -> bool:
    """Tell whether a line only begins or ends the file."""
    return _AROUND.fullmatch(text) is not None


def fields_of(text: str) -> dict[str, Any] | None:
    """Return the fields of a whole event, None for anything else."""
    begun, end = _BEGINS.match(text), end_of(text)
    if begun is None or end is None or end not in text:
        return None
    event, *inside = _TAG.finditer(text, begun.start("tag") - 1)
    thrown = [_attributes(tag["attributes"]) for tag in inside if tag["name"] in _THROWN]
    instant = next((_attributes(tag["attributes"]) for tag in inside if tag["name"] == "Instant"), {})
    causes = "\nCaused by: ".join(": ".join(filter(None, (one.get("name"), one.get("message")))) for one in thrown)
    fields, stack = _attributes(event["attributes"]), _text_behind(_STACK, text)
    return {"instant": instant, **fields, "message": _text_behind(_MESSAGE, text), "thrown": stack or causes}


def _attributes(text: str) -> dict[str, str]:
    return {found["name"]: html.unescape(found["text"]) for found in _ATTRIBUTE.finditer(text)}


def _text_behind(tag: "re.Pattern[str]", text: str) -> str:
    found = tag.search(text)
    if found is None:
        return ""
    if text.startswith(_QUOTED, found.end()):
        return text[found.end() + len(_QUOTED) :].partition("]]>")[0]
    return html.unescape(text[found.end() :].partition("<")[0]).strip()
