"""A line as a JSON object: the entry that it is, the line that it wraps, or neither."""

import json

import pytest

from logdirwatch.parse.broker_log.heads import Head
from logdirwatch.parse.broker_log.json_lines import DEPTH, read_object

AT = "2026-03-08T16:42:33.730Z"
ENTRY = {"@timestamp": AT, "level": "ERROR", "logger": "a.B", "message": "said"}


def read(*found, **fields):
    return read_object(json.dumps(found[0] if found else {**ENTRY, **fields}))


def test_an_entry_by_the_names_of_its_fields():
    assert read() == Head(AT, "ERROR", "a.B", "said")


# The names of Log4j's and Logback's layouts, of ECS, GELF, Logstash, GCP, Splunk, journald, docker and OpenTelemetry.
NAMES = {
    "message": """message msg log MESSAGE textPayload full_message short_message @message body text line _raw
        formattedMessage rendered_message event""",
    "level": "level log.level severity loglevel log_level levelname @level lvl severityText status",
    "logger": """loggerName logger_name logger log.logger _logger loggerFqcn category class name loggername
        instrumentationScope.name scope.name logger.name""",
    "@timestamp": "@timestamp timestamp time ts date timeMillis instant datetime",
}


@pytest.mark.parametrize(("named", "name"), [(named, name) for named, names in NAMES.items() for name in names.split()])
def test_each_part_has_many_names(named, name):
    fields = {key: value for key, value in ENTRY.items() if key != named}
    assert read(fields | {name: ENTRY[named]}) == Head(AT, "ERROR", "a.B", "said")


def test_parts_that_are_nested_are_found_and_do_not_overrule_those_at_the_top():
    nested = {"@timestamp": AT, "log": {"level": "error", "logger": "a.B"}, "message": "said"}
    assert read(nested) == Head(AT, "ERROR", "a.B", "said")
    assert read(nested | {"log.level": "WARN"}).level == "WARN"


@pytest.mark.parametrize("envelope", ["jsonPayload", "fields", "structured", "data", "parsed", "attributes", "event"])
def test_what_an_envelope_holds_is_at_the_top(envelope):
    assert read({envelope: ENTRY, "insertId": "x"}) == Head(AT, "ERROR", "a.B", "said")


def test_splunk_wraps_a_line_of_text_as_an_event():
    assert read({"time": 1.5, "host": "b", "event": "\tat a.B.c(B.java:1)"}) == "\tat a.B.c(B.java:1)"


def test_open_telemetry_names_the_type_of_each_value():
    found = read(
        {
            "severityText": "ERROR",
            "body": {"stringValue": "said"},
            "attributes": [
                {"key": "exception.type", "value": {"stringValue": "x.Y"}},
                {"key": "exception.message", "value": {"stringValue": "why"}},
            ],
            "scope": {"name": "a.B"},
        }
    )
    assert found == Head("", "ERROR", "a.B", "said", ("x.Y: why",))
    assert read(message={"intValue": "1"}) is None
    assert read(attributes=[{"value": "x"}]) == read()


def test_numbers_are_read_and_other_values_are_not():
    assert read(timeMillis=1, **{"@timestamp": None}).at == "1"
    assert read(message=["x"]) is None
    assert read(**{"@timestamp": {"epochSecond": 1}}).at == ""


@pytest.mark.parametrize(
    ("instant", "at"),
    [
        ({"epochSecond": 1_772_988_153, "nanoOfSecond": 730_000_000}, "2026-03-08T16:42:33.730Z"),
        ({"epochSecond": 1_772_988_153, "nanoOfSecond": 30_999_999}, "2026-03-08T16:42:33.030Z"),
        ({"epochSecond": 1_772_988_153}, "2026-03-08T16:42:33.000Z"),
        ({"epochSecond": "soon"}, ""),
        ({}, ""),
        (1_772_988_153_730, "2026-03-08T16:42:33.730Z"),
        (1_772_988_153, "2026-03-08T16:42:33.000Z"),
        ("1772988153.73", "2026-03-08T16:42:33.730Z"),
        (99_999_999_999_999, "99999999999999"),
    ],
)
def test_an_instant_and_a_number_since_1970_are_told_as_a_time(instant, at):
    assert read(instant=instant, **{"@timestamp": None}).at == at


def test_so_is_that_of_its_xml_layout():
    event = (
        '<Event level="ERROR" loggerName="a.B"><Instant epochSecond="1772988153" nanoOfSecond="730000000"/>'
        "<Message>said</Message></Event>"
    )
    assert read_object(event) == Head("2026-03-08T16:42:33.730Z", "ERROR", "a.B", "said")


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"logger": None}, Head(AT, "ERROR", "", "said")),
        ({"level": None}, Head(AT, "", "a.B", "said")),
        ({"level": "error"}, Head(AT, "ERROR", "a.B", "said")),
        ({"level": "6", "logger": None}, "said"),
        ({"level": None, "logger": None}, "said"),
        ({"level": None, "logger": None, "message": "said\n"}, "said"),
        ({"logger": None, "message": "\tat a.B.c(B.java:1)"}, "\tat a.B.c(B.java:1)"),
        ({"message": ""}, Head(AT, "ERROR", "a.B", "")),
    ],
)
def test_without_a_level_and_a_logger_it_wraps_a_line_of_text(fields, found):
    assert read(**fields) == found


def test_an_entry_in_the_text_is_taken_as_it_is():
    inner = "[2026-03-08 16:42:33,730] WARN told (c.D)"
    expected = Head("2026-03-08 16:42:33,730", "WARN", "c.D", "told")
    assert read({"log": f"{inner}\n", "stream": "stdout", "time": AT}) == expected
    assert read(message=f"\x1b[31m{inner}\x1b[m") == expected
    with_more = read({"log": f"{inner}\njava.io.IOException: no\n\tat a.B.c(B.java:1)\n"})
    assert with_more.more == ("java.io.IOException: no",)


def test_bytes_as_numbers_are_text():
    assert read({"MESSAGE": list(b"\x1b[31msaid"), "PRIORITY": "6"}) == "\x1b[31msaid"
    assert read({"MESSAGE": [256]}) is None
    assert read({"MESSAGE": [-1]}) is None
    assert read({"MESSAGE": []}) is None
    assert read({"MESSAGE": [0]}) == "\0"


def test_a_logger_with_its_thread_is_an_object():
    found = {"timestamp": AT, "status": "error", "message": "said", "logger": {"name": "a.B", "thread_name": "t"}}
    assert read(found) == Head(AT, "ERROR", "a.B", "said")


STACK = "x.Y: why\n\tat a.B.c(B.java:1)\nCaused by: z.W: no\n\t... 12 more"
LINES = ("x.Y: why", "Caused by: z.W: no")
# fmt: off
NAMES_OF_STACKS = (
    "stackTrace", "stacktrace", "thrown", "exception", "_exception", "throwable", "throwableInformation", "exc_info",
    "error", "err", "exception.stacktrace", "error.stack",
)
# fmt: on


@pytest.mark.parametrize(
    "fields",
    [
        {"stack_trace": STACK},
        {"error.stack_trace": STACK},
        *({name: STACK} for name in NAMES_OF_STACKS),
        {"error": {"stack_trace": STACK}},
        *({"thrown": {name: STACK, "name": "x.Y"}} for name in ("stack_trace", "stackTrace", "stacktrace")),
        {"error": {"kind": "x.Y", "stack": STACK}},
        {"stack": STACK},
        {"thrown": {"extendedStackTrace": STACK, "name": "x.Y", "message": "why"}},
        {"exception": {"stacktrace": STACK}},
        {"message": f"said\n{STACK}"},
        {"message": f"said\n{STACK}", "stack_trace": STACK},
    ],
)
def test_an_exception_is_told_once_without_its_frames(fields):
    assert read(**fields) == Head(AT, "ERROR", "a.B", "said", LINES)


@pytest.mark.parametrize(
    ("fields", "more"),
    [
        ({"thrown": {"name": "x.Y", "message": "why"}}, ("x.Y: why",)),
        ({"thrown": {"name": "x.Y"}}, ("x.Y",)),
        ({"thrown": {"message": "why"}}, ("why",)),
        ({"exception": {"exception_class": "x.Y", "exception_message": "why"}}, ("x.Y: why",)),
        ({"thrown": {"name": "x.Y", "cause": {"name": "z.W", "message": "no"}}}, ("x.Y", "z.W: no")),
        ({"error.type": "x.Y", "error.message": "why"}, ("x.Y: why",)),
        *(({name: "x.Y"}, ("x.Y",)) for name in ("error.type", "error.name", "error.kind")),
        *(({"thrown": {name: "x.Y", "message": ""}}, ("x.Y: ",)) for name in ("class", "type", "className")),
        ({"exception.type": "x.Y", "exception.message": "why"}, ("x.Y: why",)),
        ({"error.type": "x.Y", "error.message": "why", "stack_trace": "z.W: no"}, ("z.W: no",)),
        ({"thrown": 7}, ()),
        ({"thrown": None}, ()),
    ],
)
def test_an_exception_as_an_object(fields, more):
    assert read(**fields).more == more


def test_causes_are_followed_only_so_deep():
    thrown = None
    for number in range(DEPTH + 2, 0, -1):
        thrown = {"name": f"e{number}", "cause": thrown}
    assert read(thrown=thrown).more == ("e1", "e2", "e3", "e4")
    assert DEPTH == 4


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (f'time={AT} level=error logger=a.B msg="said"', Head(AT, "ERROR", "a.B", "said")),
        (f"ts={AT} lvl=warn logger=a.B msg=said", Head(AT, "WARN", "a.B", "said")),
        (f'level=error time={AT} logger=a.B msg="a \\"b\\" \\\\ c"', Head(AT, "ERROR", "a.B", 'a "b" \\ c')),
        (
            f'time={AT} level=error logger=a.B msg="said" stack_trace="x.Y: why\\n\\tat a.B.c(B.java:1)"',
            Head(AT, "ERROR", "a.B", "said", ("x.Y: why",)),
        ),
        (f"time={AT} level=info", None),
        ("thread=main level=error msg=said", None),
    ],
)
def test_names_and_values(line, found):
    assert read_object(line) == found


@pytest.mark.parametrize(
    "line",
    ["", "said", "{", "[]", '["message"]', "{}", '{"a": 1}', '{"message": null}', "{" * 100_000, '{"a":' * 100_000],
)
def test_what_is_no_entry(line):
    assert read_object(line) is None
