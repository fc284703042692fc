"""The layouts in which brokers' logs are found: patterns, JSON by its templates, and what others write in front."""

import json
import re
from xml.sax.saxutils import escape, quoteattr

from tests.support.tables import rows

FRAMES = [
    "\tat java.base/sun.nio.ch.FileDispatcherImpl.write0(Native Method)",
    "\tat kafka.log.LogSegment.$anonfun$append$1(LogSegment.scala:158)",
    "\tat org.apache.kafka.server.util.KafkaScheduler.lambda$0(KafkaScheduler.java:60) ~[kafka-server-4.3.1.jar:?]",
    "\t... 12 more",
]
ISO = "2026-03-08T16:42:33.730Z"
NANO = "2026-03-08T16:42:33.730123456Z"


def _short(logger):
    return logger.rpartition(".")[2]


def _abbreviated(logger, letters):
    *packages, name = logger.split(".")
    return ".".join([*(package[:letters] for package in packages), name])


# A pattern's fields: d(ate) in its form, p level, c logger, s short logger, a and b abbreviated, m message, t thread.
PATTERNS = dict(rows("broker_log/layouts"))

# Quarkus writes the exception on the line itself.
INLINE = {
    "Quarkus": "2026-03-08 16:42:33,730 {p} [{b}] ({t}) {m}",
    "JBoss": "2026-03-08 16:42:33,730 {p:5} [{c}] ({t}) {m}",
}


# The pattern's own separator keeps an exception on the line of its entry.
ONE_LINE = {
    "one line, with bars": ("[2026-03-08 16:42:33,730] {p} {m} ({c})", " | "),
    "one line, with blanks": ("2026-03-08 16:42:33,730 {p} {m} [{c}]", " "),
    "one line, with escaped ends": ("2026-03-08 16:42:33,730 {p} {m} ({c}) [{t}]", "\\n"),
}


def _one_line(pattern, separator):
    return lambda *said: [separator.join(_lines(pattern, *said))]


def _lines(pattern, level, logger, message, exception, *, is_inline=False):
    causes = exception.splitlines() if exception else []
    if is_inline and causes:
        message, causes = f"{message}: {causes[0]}", causes[1:]
    head = pattern.format(
        p=level, l=level.lower(), c=logger, s=_short(logger), a=_abbreviated(logger, 1), b=_abbreviated(logger, 3),
        m=message, t="kafka-scheduler-4",
    )  # fmt: skip
    return [head, *(line for cause in causes for line in (cause, *FRAMES))]


def _of_pattern(pattern, *, is_inline=False):
    return lambda *said: _lines(pattern, *said, is_inline=is_inline)


def _object(**fields):
    return [json.dumps({name: value for name, value in fields.items() if value is not None})]


def _stack(exception):
    return "".join(f"{line}\n" for cause in exception.splitlines() for line in (cause, *FRAMES)) if exception else None


def _ecs(level, logger, message, exception):
    return _object(
        **{
            "@timestamp": ISO,
            "log.level": level,
            "message": message,
            "process.thread.name": "main",
            "log.logger": logger,
            "error.type": exception.partition(":")[0] or None,
            "error.message": exception.partition(": ")[2] or None,
            "error.stack_trace": _stack(exception),
        }
    )


def _ecs_nested(level, logger, message, exception):
    error = {"stack_trace": _stack(exception)} if exception else None
    return _object(**{"@timestamp": ISO, "log": {"level": level, "logger": logger}, "message": message, "error": error})


def _ecs_array(*said):
    found = json.loads(_ecs(*said)[0])
    stack = found.pop("error.stack_trace", None)
    first = json.dumps(found)
    if not stack:
        return [first]
    below = [f"\t{json.dumps(line)}," for line in stack.splitlines()]
    return [f'{first[:-1]}, "error.stack_trace":[', *below[:-1], f"{below[-1][:-1]}]}}"]


def _logstash(level, logger, message, exception):
    return _object(
        **{"@timestamp": ISO, "@version": 1, "message": message, "logger_name": logger, "level": level},
        thread_name="main",
        exception={"exception_class": exception.partition(":")[0], "stacktrace": _stack(exception)}
        if exception
        else None,
    )


def _logback(level, logger, message, exception):
    return _object(
        **{"@timestamp": ISO, "message": message, "logger_name": logger, "level": level, "level_value": 40_000},
        stack_trace=_stack(exception),
    )


def _log4j_object(level, logger, message, exception):
    thrown = None
    for text in reversed([line for line in exception.splitlines() if not line.startswith("\t")]):
        name, _, said = text.removeprefix("Caused by: ").partition(": ")
        thrown = {"commonElementCount": 0, "name": name, "message": said, "extendedStackTrace": [{"class": "x"}]} | (
            {"cause": thrown} if thrown else {}
        )
    return _object(
        instant={"epochSecond": 1_772_988_153, "nanoOfSecond": 730_000_000},
        thread="main",
        level=level,
        loggerName=logger,
        message=message,
        thrown=thrown,
        loggerFqcn="org.apache.logging.slf4j.Log4jLogger",
    )


def _confluent(level, logger, message, exception):
    text = f"{message}\n{_stack(exception)}" if exception else message
    return _object(level=level, logger=logger, message=text, thread="main", timestamp="2026-03-08 16:42:33,730")


def _gelf(level, logger, message, exception):
    full = f"{message}\n{_stack(exception)}" if exception else message
    return _object(
        version="1.1", host="b7", short_message=message, full_message=full, timestamp=1772988153.73, level=3,
        _logger=logger, _thread="main",
    )  # fmt: skip


def _gcp(level, logger, message, exception):
    return _object(timestamp=ISO, severity=level, message=message, _logger=logger, exception=_stack(exception))


def _gcp_payload(level, logger, message, exception):
    return _object(
        timestamp=ISO,
        jsonPayload={"level": level, "logger": logger, "message": message, "thrown": _stack(exception)},
        resource={"type": "k8s_container"},
    )


def _logfmt(level, logger, message, exception):
    def quoted(text):
        return json.dumps(text, ensure_ascii=False)

    stack = f" stack_trace={quoted(_stack(exception))}" if exception else ""
    return [f"time={ISO} level={level.lower()} logger={logger} msg={quoted(message)}{stack}"]


def _logstash_0(level, logger, message, exception):
    fields = {"level": level, "loggerName": logger, "threadName": "main"}
    thrown = {"throwableInformation": _stack(exception)} if exception else {}
    return _object(**{"@timestamp": ISO, "@source_host": "b7", "@message": message, "@fields": fields | thrown})


def _capitals(level, logger, message, exception):
    return _object(TimeStamp=ISO, LogLevel=level.title(), Logger=logger, Message=message, StackTrace=_stack(exception))


def _numbered(level, logger, message, exception):
    number = {"INFO": 30, "WARN": 40, "ERROR": 50, "FATAL": 60}[level]
    return _object(
        v=0, hostname="b7", time=ISO, level=number, name=logger, msg=message, err={"stack": _stack(exception)}
    )


def _cdata(text):
    return f"<![CDATA[{text}]]>"


def _log4j_xml(level, logger, message, exception):
    thrown = f"<log4j:throwable>{_cdata(_stack(exception))}</log4j:throwable>\n" if exception else ""
    return (
        f'<log4j:event logger="{logger}" timestamp="1772988153730" level="{level}" thread="main">\n'
        f"<log4j:message>{_cdata(message)}</log4j:message>\n{thrown}"
        '<log4j:locationInfo class="kafka.utils.Logging" method="error" file="Logging.scala" line="76"/>\n'
        "</log4j:event>\n"
    ).splitlines()


def _log4j2_xml(level, logger, message, exception):
    thrown, ends = "", ""
    for text in (line for line in exception.splitlines() if not line.startswith("\t")):
        name, _, said = text.removeprefix("Caused by: ").partition(": ")
        tag = "Cause" if thrown else "Thrown"
        thrown += f'<{tag} commonElementCount="0" localizedMessage={quoteattr(said)} message={quoteattr(said)} '
        thrown += (
            f'name="{name}"><ExtendedStackTrace><ExtendedStackTraceItem class="x" line="1"/></ExtendedStackTrace>\n'
        )
        ends = f"</{tag}>{ends}"
    return (
        '  <Event xmlns="http://logging.apache.org/log4j/2.0/events" thread="main" '
        f'level="{level}" loggerName="{logger}" endOfBatch="false" threadId="1">\n'
        '    <Instant epochSecond="1772988153" nanoOfSecond="730000000"/>\n'
        f"    <Message>{escape(message)}</Message>\n    {thrown}{ends}\n  </Event>\n"
    ).splitlines()


def _pretty(*said):
    return json.dumps(json.loads(_log4j_object(*said)[0]), indent=2).splitlines()


OBJECTS = {
    "log4j2's JsonLayout over several lines": _pretty,
    "log4j2's JsonLayout as one array": lambda *said: [f", {line}" for line in _log4j_object(*said)],
    "log4j's XMLLayout": _log4j_xml,
    "log4j2's XmlLayout": _log4j2_xml,
    "log4j2's XmlLayout, compact": lambda *said: ["".join(line.strip() for line in _log4j2_xml(*said))],
    "logfmt": _logfmt,
    "Logstash, its first form": _logstash_0,
    "names in capitals": _capitals,
    "Bunyan": _numbered,
    "ECS": _ecs,
    "ECS, nested": _ecs_nested,
    "ECS, its stack as an array": _ecs_array,
    "Logstash": _logstash,
    "Logback's encoder": _logback,
    "log4j2's JsonLayout": _log4j_object,
    "Confluent": _confluent,
    "GELF": _gelf,
    "GCP": _gcp,
    "GCP's envelope": _gcp_payload,
}

LAYOUTS = {
    **{name: _of_pattern(pattern) for name, pattern in PATTERNS.items()},
    **{name: _of_pattern(pattern, is_inline=True) for name, pattern in INLINE.items()},
    **{name: _one_line(*parts) for name, parts in ONE_LINE.items()},
    **OBJECTS,
}


def _before(prefix):
    return lambda line: prefix + line


def _wrapped(line):
    return json.dumps({"log": f"{line}\n", "stream": "stdout", "time": ISO})


def _fluentd(line):
    return json.dumps({"@timestamp": ISO, "stream": "stdout", "message": line, "kubernetes": {"pod_name": "kafka-0"}})


def _journal(line):
    return json.dumps({"__REALTIME_TIMESTAMP": "1772988153730123", "PRIORITY": "6", "MESSAGE": line, "_PID": "812"})


def _journal_of_colours(line):
    return json.dumps({"PRIORITY": "6", "MESSAGE": [*f"\x1b[31m{line}\x1b[m".encode()], "_PID": "812"})


PREFIXES = {
    "none": lambda line: line,
    "docker json-file": _wrapped,
    "fluentd": _fluentd,
    "journald's JSON": _journal,
    "journald's JSON, with colours": _journal_of_colours,
    "GCP's text, as errors": lambda line: json.dumps({"severity": "ERROR", "textPayload": line, "timestamp": ISO}),
    "GCP's text": lambda line: json.dumps({"textPayload": line, "timestamp": ISO}),
    "containerd": _before(f"{NANO} stdout F "),
    "CRI-O with a zone": _before("2026-03-08T16:42:33.730123456+01:00 stderr F "),
    "docker logs -t": _before(f"{NANO} "),
    "compose": _before("kafka-1  | "),
    "compose with times": _before(f"kafka-1  | {NANO} "),
    "kubectl --prefix": _before("[pod/my-cluster-kafka-0/kafka] "),
    "kubectl --prefix --timestamps": _before(f"[pod/my-cluster-kafka-0/kafka] {NANO} "),
    "syslog": _before("Mar  8 16:42:33 broker7 kafka-server-start.sh[812]: "),
    "syslog with its priority": _before("<14>Mar  8 16:42:33 broker7 kafka[812]: "),
    "ISO syslog": _before("2026-03-08T16:42:33.730123+00:00 broker7 kafka[812]: "),
    "RFC 5424": _before(f"<165>1 {ISO} broker7 kafka 812 - - "),
    "journalctl with microseconds": _before("Mar 08 16:42:33.730123 broker7 kafka-server-start.sh[812]: "),
    "journalctl -o short-unix": _before("1772988153.730123 broker7 kafka[812]: "),
    "journalctl -o short-monotonic": _before("[ 8123.456789] broker7 kafka[812]: "),
    "Java service wrapper": _before("INFO   | jvm 1    | 2026/03/08 16:42:33 | "),
    "another service wrapper": _before("INFO|5652/0|Service org.apache.kafka|26-03-08 16:42:33|"),
    "containerd around compose": _before(f"{NANO} stdout F kafka-1  | "),
    "json-file around syslog": lambda line: _wrapped(f"Mar  8 16:42:33 broker7 kafka[812]: {line}"),
    "colours": lambda line: f"\x1b[31m{line}\x1b[m",
    "colours that syslog escaped": lambda line: f"Mar  8 16:42:33 broker7 kafka[812]: #033[31m{line}#033[m".replace(
        "\t", "#011"
    ),
    "Windows' line ends": lambda line: f"{line}\r",
}


def told(layout, level, logger, message, exception="", prefix="none"):
    """Return one entry as the log of a broker with this layout holds it."""
    lines = LAYOUTS[layout](level, logger, message, exception)
    return "".join(f"{PREFIXES[prefix](line)}\n" for line in lines)


_ENTRY = re.compile(r"\[[^\]]*\] (?P<level>[A-Z]+) (?P<message>.*) \((?P<logger>[^)]*)\)")


def translated(text, layout, prefix="none"):
    """Return a log in Kafka's own pattern as it is in another layout."""
    found = []
    for line in text.splitlines():
        if match := _ENTRY.fullmatch(line):
            found.append([match["level"], match["logger"], match["message"], []])
        elif not line.startswith("\tat "):
            found[-1][3].append(line)
    return "".join(told(layout, level, logger, said, "\n".join(more), prefix) for level, logger, said, more in found)
