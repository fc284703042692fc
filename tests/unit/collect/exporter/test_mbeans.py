"""An exporter's text in any spelling gives the same metrics under the same names; no bytes are an error."""

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.collect.exporter import mbeans
from logdirwatch.collect.exporter.mbeans import Sample, samples
from tests.support.tables import DATA

# A broker with two directories, of which the second one failed, as three configurations of the exporter show it.
NO_RULES = (DATA / "exporter/no_rules.txt").read_text(encoding="utf-8")
STRIMZI = (DATA / "exporter/strimzi.txt").read_text(encoding="utf-8")
OPEN_METRICS = (DATA / "exporter/open_metrics.txt").read_text(encoding="utf-8")
EXPECTED = {
    "OfflineLogDirectoryCount": 1.0,
    "CordonedLogDirectoryCount": 1.0,
    "LogDirectoryOffline:/data/d1": 0.0,
    "LogDirectoryOffline:/data/d2": 1.0,
    "LogDirectoryCordoned:/data/d1": 1.0,
    "remainingLogsToRecover:/data/d1": 7.0,
    "UncleanableBytes:/data/d1": 4096.0,
    "UncleanablePartitionsCount:/data/d1": 2.0,
    "DeadThreadCount": 0.0,
    "LogFlushCount": 321.0,
    "LogFlushTimeMs:mean": 2.5,
    "LogFlushTimeMs:max": 80.25,
    "LogFlushTimeMs:p50": 1.5,
    "LogFlushTimeMs:p99": 60.0,
    "OfflineReplicaCount": 3.0,
    "UnderMinIsrPartitionCount": 4.0,
    "AtMinIsrPartitionCount": 5.0,
    "UnderReplicatedPartitions": 6.0,
    "ReassigningPartitions": 0.0,
    "QueuedReplicaToDirAssignments": 2.0,
    "BytesInTotal": 1.25e10,
    "RemoteCopyLagBytes": 2048.0,
    "RemoteCopyErrorsTotal": 8.0,
    "linux-disk-write-bytes": 9.87654321e11,
}
# Strimzi's rules have no line for these two.
NOT_IN_STRIMZI = {"LogFlushTimeMs:mean", "LogFlushTimeMs:max"}


def metrics(text):
    return mbeans.metrics(text.encode())


@pytest.mark.parametrize(
    ("text", "missing"),
    [(NO_RULES, set()), (STRIMZI, NOT_IN_STRIMZI), (OPEN_METRICS, set())],
    ids=["no", "strimzi", "om"],
)
def test_every_spelling_gives_the_same_metrics(text, missing):
    assert metrics(text) == {key: value for key, value in EXPECTED.items() if key not in missing}


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_line_ends_and_a_missing_last_one_make_no_difference(line_end):
    assert metrics(line_end.join(STRIMZI.strip().splitlines())) == metrics(STRIMZI)


@pytest.mark.parametrize("text", ["NaN", "+Inf", "-Inf", "1e999"])
def test_a_value_that_is_not_finite_is_not_known(text):
    assert metrics(f"kafka_log_logmanager_offlinelogdirectorycount {text}\n") == {"OfflineLogDirectoryCount": None}


@pytest.mark.parametrize(
    "line",
    [
        "kafka_server_brokertopicmetrics_bytesinpersec 1",  # the counter or a rate?
        "kafka_server_brokertopicmetrics_bytesinpersec_oneminuterate 1",
        "kafka_log_logflushstats_logflushrateandtimems 1",  # the count, the mean or another one?
        'kafka_log_logflushstats_logflushrateandtimems{quantile="0.95"} 1',
        "kafka_log_logmanager_logdirectoryoffline 1",  # which directory?
        'kafka_log_logmanager_logdirectoryoffline{logdirectory=""} 1',
        'kafka_server_replicamanager_underminisrpartitioncount{topic="t"} 1',
        "other_log_logmanager_offlinelogdirectorycount 1",
        "kafka_log_logmanager_offlinelogdirectorycount",
        "kafka_log_logmanager_offlinelogdirectorycount one",
        "kafka_log_logmanager_offlinelogdirectorycount 1_0",
        "kafka_log_logmanager_offlinelogdirectorycount-1",
        'kafka_log_logmanager_offlinelogdirectorycount{a="b" 1',
        'kafka_log_logmanager_offlinelogdirectorycount{a="b" c="d"} 1',
        "kafka_log_logmanager_offlinelogdirectorycount{a=b} 1",
        "# kafka_log_logmanager_offlinelogdirectorycount 1",
        "<html><body>kafka_log_logmanager_offlinelogdirectorycount 1</body></html>",
    ],
)
def test_what_cannot_be_told_apart_or_read_is_left_out_alone(line):
    good = "kafka_log_logcleaner_deadthreadcount 1"
    assert metrics(f"{line}\n{good}\n{line}") == {"DeadThreadCount": 1.0}


def test_paths_come_back_as_they_are_on_the_broker():
    text = r"""
kafka_log_logmanager_logdirectoryoffline{logdirectory="\"/a \\\"b\\\" {c},d\""} 1
kafka_log_logmanager_logdirectoryoffline{logdirectory="/plain\\back"} 1
"""
    assert set(metrics(text)) == {'LogDirectoryOffline:/a "b" {c},d', "LogDirectoryOffline:/plain\\back"}


def test_where_a_metric_is_there_twice_the_first_one_counts():
    name = "kafka_log_logmanager_offlinelogdirectorycount"
    assert metrics(f"{name} 1\n{name}_value 2\n") == {"OfflineLogDirectoryCount": 1.0}


def test_an_exporter_cannot_fill_a_record():
    line = 'kafka_log_logmanager_logdirectoryoffline{{logdirectory="/{}"}} 1\n'
    assert len(metrics("".join(line.format(number) for number in range(mbeans.MAX_METRICS + 5)))) == mbeans.MAX_METRICS
    assert metrics(line.format("x" * mbeans.MAX_PATH_CHARACTERS)) == {}


@pytest.mark.parametrize(
    ("version", "count"),
    [
        (None, None),
        ("nonsense", None),
        ("2.8", 3.0),
        ("3.6", 3.0),
        ("3.7", None),
        ("4.2", None),
        ("4.3", 3.0),
        ("4.10.1", 3.0),
    ],
)
def test_the_offline_replicas_are_only_believed_where_kafka_counts_them(version, count):
    assert mbeans.trusted({"OfflineReplicaCount": 3.0, "DeadThreadCount": 0.0}, version) == {
        "OfflineReplicaCount": count,
        "DeadThreadCount": 0.0,
    }


def test_what_an_exporter_does_not_show_is_not_made_up():
    assert mbeans.trusted({}, "4.2") == {}


PAGE = (Path(__file__).parents[4] / "docs" / "prometheus.md").read_text(encoding="utf-8")
# What the exporter matches its rules against.
BEANS = (DATA / "exporter/beans.txt").read_text(encoding="utf-8")


def exported(rules, bean):
    """Return the line that the exporter writes for ``bean``: the first rule that is found in it counts."""
    for rule in rules["rules"]:
        if found := re.fullmatch(f".*(?:{rule['pattern']}).*", bean):
            name = re.sub(r"\W", "_", _filled(rule["name"], found)).lower()
            labels = {_filled(k, found): _filled(v, found) for k, v in rule.get("labels", {}).items()}
            return f"{name}{{{','.join(f'{label}={chr(34)}{text}{chr(34)}' for label, text in labels.items())}}} 1\n"
    return ""


def _filled(template, found):
    return re.sub(r"\$(\d)", lambda number: found[int(number[1])], template)


def test_the_rules_on_the_page_give_every_metric():
    rules = next(yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.S) if "rules:" in block)
    lines = [exported(rules, bean) for bean in BEANS.split("\n")]
    assert set(metrics("".join(lines))) == set(EXPECTED)


@pytest.mark.parametrize("key", sorted(EXPECTED))
def test_every_metric_is_on_the_page(key):
    name, _, part = key.partition(":")
    assert f"`{name}" in PAGE
    assert part.startswith("/") or not part or f":{part}`" in PAGE


LINE = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["kafka_log_LogManager_Value", "kafka_log_logmanager_logdirectoryoffline", "#", ""]),
    st.sampled_from(["", "{", '{name="OfflineLogDirectoryCount"', '{logdirectory="\\"/d1\\"",}', "}", "{} "]),
    st.text(max_size=20),
    st.sampled_from([" 1", "\n", " NaN\n", '"} 2\n']),
)


@given(st.binary(max_size=200) | st.lists(LINE, max_size=8).map(lambda lines: "".join(lines).encode()))
def test_no_bytes_are_an_error(body):
    for sample in samples(body, lambda _: True):
        assert isinstance(sample, Sample)
    assert all(value is None or value - value == 0 for value in mbeans.metrics(body).values())


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), st.text(max_size=20), max_size=4), st.floats())
def test_what_is_written_by_the_rules_is_read_back(labels, value):
    escaped = {k: v.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"') for k, v in labels.items()}
    written = ",".join(f'{name}="{text}"' for name, text in escaped.items())
    (sample,) = samples(f"m{{{written}}} {value!r}\n".encode(), lambda name: name == "m")
    assert sample == Sample("m", labels, value if value - value == 0 else None)
