"""The first line of an entry in a broker's log, in any pattern that an operator may choose. Pure.

The date (in any order), the level and the logger may be anywhere. Kafka's own pattern is ``[%d] %p %m (%c)%n``;
Strimzi's adds ``[%t]`` behind it and since Kafka 4.0 is ``%d{yyyy-MM-dd HH:mm:ss} %-5p [%t] %c{1}:%L - %m%n``. A line
with a date begins an entry only if it has a level or a logger as well: container runtimes date every line.
"""

import re
from dataclasses import dataclass, replace

from logdirwatch.parse.broker_log.process_ends import HOST, STORAGE_TOOL, level_of
from logdirwatch.parse.patterns import compiled

_TIME = r"\d\d:\d\d:\d\d(?:[.,:]\d{1,9})?"
_ZONE = r"(?: ?(?:Z|[+-]\d\d:?\d\d|UTC|GMT|[A-Z]{1,4}[DS]?T)\b)?"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)[a-z]*\.?"
LEVEL = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|SEVERE|CRITICAL|FATAL)"
_DATES = (
    rf"\d{{4}}[-/.]\d\d[-/.]\d\d[ T_]+{_TIME}",
    rf"\d{{1,2}}[-/. ]{_MONTH}[-/. ]\d{{2,4}}[ :T]+{_TIME}",
    rf"\d{{1,2}}[-/.]\d\d[-/.]\d{{2,4}}[ T]+{_TIME}",
    rf"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +)?{_MONTH} +\d{{1,2}},?(?: +\d{{4}},?)? +{_TIME}(?: [AP]M)?",
    r"\d{8}[-_T ]?\d\d:?\d\d:?\d\d(?:[.,]\d{1,9})?",
    r"1\d{12}(?!\d)",
    r"1\d{9}(?:\.\d{1,9})?(?!\d)",
    _TIME,
    # Milliseconds since the start, as in log4j's TTCCLayout.
    rf"\d{{1,12}}(?= +\[[^\]]{{0,100}}\] +{LEVEL}\b)",
)
DATE = rf"(?:{'|'.join(_DATES)}){_ZONE}(?: \d{{4}}(?=[ \])>]))?"

_AT = compiled(rf"[\[(<]?(?P<at>{DATE})[\])>]?[ \t|,;:-]*")
# A thread, a host or a process may stand before the level; a date in brackets is the entry's own, behind a prefix.
_BRACKETS = r"\[(?!\d{4}[-/])[^\]]{0,100}\]|\((?!\d{4}[-/])[^)]{0,100}\)|<[^>]{0,100}>"
# Neither begins nor ends with a dash, which may stand between words too.
_WORD = r"[\w./$@](?:[\w./$@-]{0,98}[\w./$@])?"
_BEFORE = rf"(?:(?:{_BRACKETS}|{_WORD})[ \t|,;-]+){{0,3}}?"
_LEVEL = compiled(rf"{_BEFORE}(?:[\[(<]?(?P<level>{LEVEL})\b[\])>]?|[\[(<](?P<small>{LEVEL.lower()})[\])>])[ \t|:,;-]*")
_SMALL = compiled(rf"(?P<level>{LEVEL.lower()})[ \t|:-]+")
_LEVEL_FIRST = compiled(rf"[\[(<]?(?P<level>{LEVEL})[\])>]?[ \t:-]+(?![ \t]*\|)")

# Named by a package, or a class of several words: no word of a sentence looks like it.
_LOGGER = (
    r"(?![\w.$]{0,200}(?:Exception|Error)\b)"
    r"(?:[A-Za-z_][\w$]{0,60}(?:\.[\w$]{1,60}){1,12}|[A-Z]\w{0,60}?[a-z]\w{0,60}?[A-Z][\w$]{0,60}"
    # A caller (%C{1}:%L): the number of its line tells it from a word, and the trait of Kafka's Scala code is known.
    r"|[A-Z][\w$]{1,60}(?=:\d)|Logging(?:\$class)?(?![\w.-]))\$?(?::(?:\d+|\?))?"
)
_THREAD = r"[\[(][^\])=]{0,100}[\])]"
_THREADS = rf"(?:{_THREAD}[ \t:-]+|[\w.-]{{1,100}} \| ){{0,3}}"
_IN_FRONT = tuple(
    compiled(pattern)
    for pattern in (
        rf"\[(?P<logger>{_LOGGER}) *\](?: \([^)]{{0,100}}\)|(?: \[[^\]=]{{0,100}}\]){{1,4}})?(?: -+| :|:)? *",
        rf"<(?P<logger>{_LOGGER}) *>(?: \[[^\]=]{{0,100}}\])?(?: -+| :|:)? *",
        rf"(?:\d+ )?(?:-+ )?{_THREADS}(?P<logger>{_LOGGER}) *(?:{_THREAD}(?: -+|:)? |(?: -+|:| ?\|)[ \t]+)",
        rf"{_THREADS}(?P<logger>{_LOGGER}) +(?=[\[A-Z])",
    )
)
_BEHIND = compiled(
    rf" ?(?:\((?P<round>{_LOGGER})\)|\[(?P<square>{_LOGGER})\])"
    r"(?: \[[^\]]{0,100}\]| \([^)]{0,100}\)| \{[^}]{0,100}\})?$"
)
_EXCEPTION = r"(?:[a-z]\w{0,60}\.){1,12}[A-Z]\w{0,100}(?:Exception|Error|Throwable)\b"
_INLINE = compiled(rf": (?P<exception>{_EXCEPTION}(?:: |$))")
# A pattern that keeps an entry on one line has the exception and its frames behind the logger.
_ONE_LINE = compiled(
    rf"(?P<front>.{{0,2000}}?(?:\({_LOGGER}\)|\[{_LOGGER}\])(?: \[[^\]]{{0,100}}\])?)[ \t|;,\\n]+"
    rf"(?P<thrown>{_EXCEPTION}.{{0,65536}})"
)
_ONE_LINE_FRAMES = compiled(r"(?:[ \t|;,]|\\[nt])*(?:\bat [\w$.<>/@+-]+\([^()]*\)(?: ~?\[[^\]]*\])?|\.\.\. \d+ more)")
# A logger is within this many characters of either end of a line.
_FRONT_CHARACTERS, _BACK_CHARACTERS = 600, 400

# A frame of an exception, whatever stands before and behind it: a runtime dates it, and it ends as a logger does.
_FRAME = compiled(r"(?:^|[\s:])at [\w$.<>/@+-]+\([^()]*\)(?: ~?\[[^\]]*\])?$")

# Messages of the JVM itself have no date.
_OF_JAVA = compiled(
    r'(?:Exception in thread "|Error: |Error occurred during initialization|Error opening (?:log|zip) |Unrecognized '
    r"|(?:OpenJDK|Java HotSpot).*(?:warning|VM)|# There is insufficient memory|# A fatal error has been detected"
    r"|(?:Terminating|Aborting) due to java\.lang\.|Invalid (?:maximum|initial|minimum) heap|Invalid -X"
    r"|Could not (?:create|reserve|find agent)|library initialization failed|Improperly specified|VM option '"
    r"|Conflicting collector|Multiple (?:garbage )?collectors|Initial heap size|Segfault detected, aborting process)"
)
# The same, where unified logging (JEP 158) dates it: what it cannot open.
_LOGGED_BY_JAVA = compiled(r"\[\d+[.,]\d+s\]\[error\s*\]\[logging\s*\] ")
# Nor do the lines of its garbage collector and of logging libraries; they report no failure. Unified logging may date
# its lines; it has no blank between its brackets, its levels and its tags are in small letters.
_OF_LIBRARIES = compiled(
    rf"\[\d+[.,]\d+s\]\[|\[{DATE}\](?:\[[\w.,+-]{{1,60}}\]){{0,5}}(?:\[(?:trace|debug|info|warning|error) *\])?"
    r"\[(?:gc|safepoint|os|class|cds|jit|codecache|startuptime|metaspace|pagesize|heap|age|ref|task)[a-z+,]* *\] "
    r"|SLF4J[:(]|log4j:WARN|Picked up \w+:"
)
_JVM_WARNS = compiled(r"(?:OpenJDK|Java HotSpot).*VM warning: ")


@dataclass(frozen=True)
class Head:
    """The parsed first line of an entry; ``more`` is its part of the exception itself."""

    at: str
    level: str
    logger: str
    message: str
    more: tuple[str, ...] = ()


def head_of(text: str) -> Head | None:
    """Return the head of an entry, None for a line that begins none."""
    if _OF_LIBRARIES.match(text) and _LOGGED_BY_JAVA.match(text) is None:
        return Head("", "INFO", "", text.strip())
    if (dated := _AT.match(text)) is not None:
        text = text[dated.end() :]
        if (found := _dated(dated["at"], text)) is not None:
            return found
    elif (levelled := _LEVEL_FIRST.match(text)) is not None:
        return _undated(levelled["level"], text[levelled.end() :])
    if (logged := _LOGGED_BY_JAVA.match(text)) is not None:
        text = text[logged.end() :]
    text = text[max(text.find(STORAGE_TOOL), 0) :]
    if _OF_JAVA.match(text):
        return Head("", "ERROR", "java", text.strip())
    level = level_of(text)
    return None if level is None else Head("", level, HOST, text.strip())


def is_aside(head: Head) -> bool:
    """Tell whether a line is a whole entry of the JVM or a logging library, which may write anywhere."""
    return not head.at and (_OF_LIBRARIES.match(head.message) or _JVM_WARNS.match(head.message)) is not None


def _dated(at: str, rest: str) -> Head | None:
    levelled = _LEVEL.match(rest)
    if levelled is not None:
        level = (levelled["level"] or levelled["small"]).upper()
        rest = rest[levelled.end() :]
        # Behind a date that a container runtime wrote the entry's own follows its level.
        own = _AT.match(rest)
        return _head(at, level, rest) if own is None else _head(own["at"], level, rest[own.end() :])
    small = _SMALL.match(rest)
    if small is None and _FRAME.search(rest.rstrip()):
        return None
    found = _head(at, "", rest) if small is None else _head(at, small["level"].upper(), rest[small.end() :])
    return found if found.logger else None


def _undated(level: str, rest: str) -> Head | None:
    """Return the head of an entry that begins with its level, if a date or a logger follows."""
    if (dated := _AT.match(rest)) is not None:
        return _head(dated["at"], level, rest[dated.end() :])
    found = _head("", level, rest)
    return found if found.logger else None


def _head(at: str, level: str, rest: str) -> Head:
    """Separate the logger, before or behind the message, from the message."""
    rest = rest.rstrip()
    if ("Exception" in rest or "Error" in rest) and (one_line := _ONE_LINE.fullmatch(rest)) is not None:
        thrown = _ONE_LINE_FRAMES.sub("\n", one_line["thrown"])
        below = tuple(part for line in thrown.splitlines() if (part := line.strip(" \t|;,")))
        return replace(_head(at, level, one_line["front"]), more=below)
    cut = max(0, len(rest) - _BACK_CHARACTERS)
    if behind := _BEHIND.search(rest, cut):
        return head(at, level, behind["round"] or behind["square"], rest[: behind.start()].rstrip())
    found = next((match for pattern in _IN_FRONT if (match := pattern.match(rest, 0, _FRONT_CHARACTERS))), None)
    logger, message = (found["logger"], rest[found.end() :]) if found else ("", rest)
    return head(at, level, logger, message)


def head(at: str, level: str, logger: str, message: str, more: tuple[str, ...] = ()) -> Head:
    """Return the head of an entry; an exception on the same line is moved below it."""
    if (inline := _INLINE.search(message)) is None:
        return Head(at, level, logger, message, more)
    thrown = message[inline.start("exception") :]
    below = more if thrown in more else (thrown, *more)
    return Head(at, level, logger, message[: inline.start()], below)


_COLOURS = compiled(r"(?:\x1b|#033)\[[0-9;]*[A-Za-z]")
_RFC_3339 = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)"
CRI = compiled(rf"{_RFC_3339} (?P<stream>stdout|stderr) (?P<tag>[FP])(?::\S+)? ?")
"""The prefix of containerd and CRI-O; F ends a line, P is a part of one."""
# Theirs, kubectl logs --prefix, the Java service wrapper, compose, syslog (RFC 5424, RFC 3164
# and with an ISO date) and journalctl in its short forms, docker logs -t and kubectl logs --timestamps.
_PREFIXES = tuple(
    compiled(pattern)
    for pattern in (
        CRI.pattern,
        r"\[pod/[^\]]+\] ?",
        rf"(?:STATUS|{LEVEL}) *\|(?:[^|]*\|){{0,3}}? *{DATE} *\| ?",
        r"[\w./-]+ *\| ",
        rf"<\d+>1 {_RFC_3339} \S+ \S+ \S+ \S+ (?:-|\[.*?\]) ?(?:\ufeff|BOM)?",
        rf"(?:<\d+>)?\[? *(?:{DATE}|\d+\.\d+)\]? (?!Caused by|\d{{4}}-)[\w.-]+ [A-Za-z_/][\w./@-]*(?:\[\d+\])?: ?",
        rf"{_RFC_3339} ",
    )
)
_CONTAINER = compiled(rf"(?P<name>\[pod/[^\]]+\]|(?!(?:STATUS|{LEVEL})\b)[\w./-]+(?= *\|))")
_UNKNOWN = compiled(rf"(?P<prefix>\S.{{0,120}}?[^\w.,-])(?=[\[(]?{DATE}[\])]?[ \t|:,-]+[\[(]?{LEVEL}\b)")
LONGEST = 500
_DIGITS = compiled(r"\d+")
_SEPARATOR = compiled(r",\s*(?=\{)")
"""What log4j2's JsonLayout writes between the events of one array (``complete="true"``)."""


def cleaned(line: str) -> str:
    """Return a line without colours, and with a tab wherever syslog escaped one."""
    text = line.lstrip("\ufeff")
    if text[:1] == ",":
        text = _SEPARATOR.sub("", text, count=1)
    if "[" in text:
        text = _COLOURS.sub("", text)
    return text.replace("#011", "\t") if "#011" in text else text


def without_prefix(text: str) -> str | None:
    """Return a line without its first known prefix, None if it has none."""
    found = next((match for pattern in _PREFIXES if (match := pattern.match(text, 0, LONGEST))), None)
    return None if found is None or not found.end() else text[found.end() :]


def container_of(text: str) -> str:
    """Return the pod or the service of compose that a line begins with, empty if it names none."""
    found = _CONTAINER.match(text)
    return "" if found is None else found["name"]


def unknown_prefix(text: str) -> str | None:
    """Return the text before the date and level of a line that has them further on."""
    found = _UNKNOWN.match(text)
    return None if found is None else found["prefix"]


def shape_of(prefix: str) -> "re.Pattern[str]":
    """Return a pattern of a prefix for other lines: its numbers and times differ."""
    return compiled(_DIGITS.sub(r"\\d+", re.escape(prefix)))
