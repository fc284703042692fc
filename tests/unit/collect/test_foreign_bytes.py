"""What others write and the collector reads: brokers' answers, exporters, logs and files. Nothing of it raises."""

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from kafka.protocol.admin import DescribeLogDirsResponse

from logdirwatch.collect.exporter import mbeans
from logdirwatch.collect.exporter.mbeans import samples
from logdirwatch.collect.host.records import event_record
from logdirwatch.collect.host.server_properties import check_broker, log_dirs_of, parsed
from logdirwatch.collect.kafka import responses
from logdirwatch.collect.rounds import records
from logdirwatch.collect.rounds.facts import ClusterFacts
from logdirwatch.errors import UserError
from logdirwatch.model import topics
from logdirwatch.parse.broker_log.entries import Entries
from logdirwatch.parse.broker_log.findings import MarkExplained, Started, findings
from logdirwatch.parse.kernel_log.lines import kernel_error
from logdirwatch.parse.records import Accepted, parse
from tests.support.hostile import NAMES
from tests.unit.collect.builders import ORIGIN, T0, broker_facts, log_dir_result, log_dirs_response
from tests.unit.parse.broker_log.logs import CHANNEL, fenced, fetcher_error, line, marked

LONGS = st.sampled_from([-(2**63), -1, 0, 2**63 - 1]) | st.integers(-(2**63), 2**63 - 1)
names = st.sampled_from(NAMES) | st.text(min_size=1, max_size=20)
codes = st.sampled_from([0, 56, 31, -1]) | st.integers(-(2**15), 2**15 - 1)
replicas = st.tuples(names, st.integers(0, 2**31 - 1), LONGS, LONGS, st.booleans())
results = st.builds(
    log_dir_result,
    path=names,
    error_code=codes,
    total=LONGS,
    usable=LONGS,
    cordoned=st.booleans(),
    replicas=st.lists(replicas, max_size=3),
)


@given(st.lists(results, max_size=3, unique_by=lambda result: result.log_dir), codes)
def test_whatever_a_broker_answers_its_record_is_one_that_is_accepted(found, code):
    answer = responses.log_dirs(log_dirs_response(*found, error_code=code))
    record = records.metrics_record(ORIGIN, broker_facts(), ClusterFacts(), answer, T0, with_configs=True)
    assert parse(topics.METRICS, None, msgspec.json.encode(record), T0, "home") == Accepted(record)


@given(at=st.integers(0, 10_000), more=st.binary(max_size=4), cut=st.integers(0, 10_000))
def test_an_answer_that_can_be_decoded_has_an_outcome(at, more, cut):
    found = [log_dir_result(path, replicas=[("t", 1, 2, 3, False)]) for path in NAMES[:5]]
    data = bytes(DescribeLogDirsResponse(version=5, error_code=0, results=found).encode(version=5))
    spoilt = (data[: at % len(data)] + more + data[at % len(data) + len(more) :])[: max(cut, 1)]
    try:
        read = DescribeLogDirsResponse.decode(spoilt, version=5)
    except Exception:  # the client library's own affair: the connection is closed
        return
    assert responses.log_dirs(read).status


LABELS = st.lists(st.tuples(st.sampled_from(["logDirectory", "name", "x"]), names), max_size=3)
EXPOSED = st.builds(
    lambda name, labels, value: (
        f"{name}{{{','.join(f'{k}=%s' % msgspec.json.encode(v).decode() for k, v in labels)}}} {value}"
    ),
    st.sampled_from(["kafka_log_LogManager_Value", "kafka_log_logmanager_offlinelogdirectorycount"]) | names,
    LABELS,
    st.sampled_from(["1", "NaN", "+Inf", "1e999", "0x1", "-", "", "9" * 5_000, "\N{FULLWIDTH DIGIT ONE}"]),
)


@given(st.lists(EXPOSED, max_size=5).map(lambda lines: "\n".join(lines).encode()) | st.binary(max_size=200))
@example(b"{" * 100_000)
@example(b'a{x="' * 20_000)
@example(b"kafka_log_LogManager_Value " + b"1" * (1 << 20))
def test_no_exporter_breaks_a_record(body):
    found = mbeans.metrics(body)
    assert len(found) <= mbeans.MAX_METRICS
    answer = responses.log_dirs(log_dirs_response(log_dir_result()))
    record = records.metrics_record(
        ORIGIN, broker_facts(), ClusterFacts(), answer, T0, with_configs=False, metrics=found
    )
    assert parse(topics.METRICS, None, msgspec.json.encode(record), T0, "home") == Accepted(record)
    assert all(isinstance(sample.name, str) for sample in samples(body, lambda _: True))


numbers = st.sampled_from(["0", "2147483647", "99999999999", "9" * 5_000, "²", "٣", "-1", ""])
partitions = st.builds(lambda topic, number: f"{topic}-{number}", names | st.just("t"), numbers)
LOGGED = st.one_of(
    st.binary(max_size=100),
    names.map(lambda path: line(f"Error while rolling log segment for t-0 in dir {path}", CHANNEL).encode()),
    names.map(lambda path: line(f"Error while writing file {path}", CHANNEL, exception=path).encode()),
    partitions.map(lambda partition: marked(partition).encode()),
    partitions.map(lambda partition: fenced(partition).encode()),
    partitions.map(lambda partition: fetcher_error("Error processing data for partition", partition).encode()),
    partitions.map(
        lambda partition: line(f"Error for {partition}", exception=f"CorruptRecordException {partition}").encode()
    ),
)


@given(st.lists(LOGGED, max_size=4), st.lists(names, max_size=2))
def test_whatever_a_brokers_log_says_its_events_are_accepted(pieces, log_dirs):
    entries = Entries()
    for entry in [entry for piece in pieces for entry in entries.feed(piece)] + list(entries.end()):
        for found in (one for one in findings(entry, log_dirs) if not isinstance(one, (Started, MarkExplained))):
            record = event_record(ORIGIN, 7, found, T0)
            assert parse(topics.EVENTS, None, msgspec.json.encode(record), T0, "home") == Accepted(record)


@given(
    st.text(max_size=100) | st.builds("{} sda1 {}".format, st.sampled_from(["I/O error, dev", "EXT4-fs error"]), names)
)
def test_any_line_of_the_kernel_is_an_error_or_none(text):
    found = kernel_error(text)
    assert found is None or found.text


@given(
    st.text(max_size=200)
    | st.builds(
        "{}={}\n{}".format, st.sampled_from(["log.dirs", "node.id", "broker.id", "log.dir"]), names | numbers, names
    )
)
def test_any_server_properties_are_read_or_refused(text):
    found = parsed(text)
    try:
        check_broker(found, 7)
        paths = log_dirs_of(found)
    except UserError:
        return
    assert all(path.startswith("/") for path in paths)


@pytest.mark.parametrize("number", ["9" * 5_000, "²", "٣"])
def test_what_only_looks_like_a_number_is_none(number):
    check_broker({"node.id": number}, 7)
    entries = Entries()
    read = [*entries.feed(marked(f"t-{number}").encode()), *entries.end()]
    assert [list(findings(entry, ())) for entry in read] == [[]]
