"""An exporter's text in any spelling gives the same metrics under the same names; no bytes are an error."""

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.collect.exporter import mbeans
from logdirwatch.collect.exporter.mbeans import Sample, samples

# A broker with two directories, of which the second one failed, as three configurations of the exporter show it.
NO_RULES = r"""
# HELP kafka_log_LogManager_Value Attribute exposed for management
# TYPE kafka_log_LogManager_Value untyped
kafka_log_LogManager_Value{name="OfflineLogDirectoryCount",} 1.0
kafka_log_LogManager_Value{name="CordonedLogDirectoryCount",} 1.0
kafka_log_LogManager_Value{name="LogDirectoryOffline",logDirectory="\"/data/d1\"",} 0.0
kafka_log_LogManager_Value{name="LogDirectoryOffline",logDirectory="\"/data/d2\"",} 1.0
kafka_log_LogManager_Value{name="LogDirectoryCordoned",logDirectory="\"/data/d1\"",} 1.0
kafka_log_LogManager_Value{name="remainingLogsToRecover",dir="\"/data/d1\"",} 7.0
kafka_log_LogCleanerManager_Value{name="uncleanable-bytes",logDirectory="\"/data/d1\"",} 4096.0
kafka_log_LogCleanerManager_Value{name="uncleanable-partitions-count",logDirectory="\"/data/d1\"",} 2.0
kafka_log_LogCleaner_Value{name="DeadThreadCount",} 0.0
kafka_log_LogFlushStats_Count{name="LogFlushRateAndTimeMs",} 321.0
kafka_log_LogFlushStats_Mean{name="LogFlushRateAndTimeMs",} 2.5
kafka_log_LogFlushStats_Max{name="LogFlushRateAndTimeMs",} 80.25
kafka_log_LogFlushStats_50thPercentile{name="LogFlushRateAndTimeMs",} 1.5
kafka_log_LogFlushStats_99thPercentile{name="LogFlushRateAndTimeMs",} 60.0
kafka_log_LogFlushStats_999thPercentile{name="LogFlushRateAndTimeMs",} 79.0
kafka_log_LogFlushStats_OneMinuteRate{name="LogFlushRateAndTimeMs",} 0.4
kafka_server_ReplicaManager_Value{name="OfflineReplicaCount",} 3.0
kafka_server_ReplicaManager_Value{name="UnderMinIsrPartitionCount",} 4.0
kafka_server_ReplicaManager_Value{name="AtMinIsrPartitionCount",} 5.0
kafka_server_ReplicaManager_Value{name="UnderReplicatedPartitions",} 6.0
kafka_server_ReplicaManager_Value{name="ReassigningPartitions",} 0.0
kafka_server_ReplicaManager_Count{name="IsrShrinksPerSec",} 12.0
org_apache_kafka_server_AssignmentsManager_Value{name="QueuedReplicaToDirAssignments",} 2.0
kafka_server_BrokerTopicMetrics_Count{name="BytesInPerSec",topic="orders",} 1.0E9
kafka_server_BrokerTopicMetrics_Count{name="BytesInPerSec",} 1.25E10
kafka_server_BrokerTopicMetrics_OneMinuteRate{name="BytesInPerSec",} 1000.0
kafka_server_BrokerTopicMetrics_Value{name="RemoteCopyLagBytes",topic="orders",} 512.0
kafka_server_BrokerTopicMetrics_Value{name="RemoteCopyLagBytes",} 2048.0
kafka_server_BrokerTopicMetrics_Count{name="RemoteCopyErrorsPerSec",topic="orders",} 3.0
kafka_server_BrokerTopicMetrics_Count{name="RemoteCopyErrorsPerSec",} 8.0
kafka_server_KafkaServer_Value{name="linux-disk-write-bytes",} 9.87654321E11
kafka_cluster_Partition_Value{name="UnderMinIsr",topic="orders",partition="0",} 1.0
jvm_memory_bytes_used{area="heap",} 1.0E8
"""
STRIMZI = r"""
# TYPE kafka_log_logmanager_offlinelogdirectorycount gauge
kafka_log_logmanager_offlinelogdirectorycount 1.0
kafka_log_logmanager_cordonedlogdirectorycount 1.0
kafka_log_logmanager_logdirectoryoffline{logDirectory="\"/data/d1\""} 0.0
kafka_log_logmanager_logdirectoryoffline{logDirectory="\"/data/d2\""} 1.0
kafka_log_logmanager_logdirectorycordoned{logDirectory="\"/data/d1\""} 1.0
kafka_log_logmanager_remaininglogstorecover{dir="\"/data/d1\""} 7.0
kafka_log_logcleanermanager_uncleanable_bytes{logDirectory="\"/data/d1\""} 4096.0
kafka_log_logcleanermanager_uncleanable_partitions_count{logDirectory="\"/data/d1\""} 2.0
kafka_log_logcleaner_deadthreadcount 0.0
# TYPE kafka_log_logflushstats_logflushrateandtimems_count counter
kafka_log_logflushstats_logflushrateandtimems_count 321.0
kafka_log_logflushstats_logflushrateandtimems{quantile="0.50"} 1.5
kafka_log_logflushstats_logflushrateandtimems{quantile="0.99"} 60.0
kafka_log_logflushstats_logflushrateandtimems{quantile="0.999"} 79.0
kafka_server_replicamanager_offlinereplicacount 3.0
kafka_server_replicamanager_underminisrpartitioncount 4.0
kafka_server_replicamanager_atminisrpartitioncount 5.0
kafka_server_replicamanager_underreplicatedpartitions 6.0
kafka_server_replicamanager_reassigningpartitions 0.0
kafka_server_assignmentsmanager_queuedreplicatodirassignments 2.0
kafka_server_brokertopicmetrics_bytesin_total{topic="orders"} 1.0E9
kafka_server_brokertopicmetrics_bytesin_total 1.25E10
kafka_server_brokertopicmetrics_remotecopylagbytes{topic="orders"} 512.0
kafka_server_brokertopicmetrics_remotecopylagbytes 2048.0
kafka_server_brokertopicmetrics_remotecopyerrors_total 8.0
kafka_server_kafkaserver_linux_disk_write_bytes 9.87654321E11
kafka_log_log_size{topic="orders",partition="0"} 5.0
"""
OPEN_METRICS = r"""# TYPE kafka_log_LogManager_OfflineLogDirectoryCount gauge
# HELP kafka_log_LogManager_OfflineLogDirectoryCount directories that are gone
kafka_log_LogManager_OfflineLogDirectoryCount{env="prod"} 1
kafka_log_LogManager_Cordoned_Log_Directory_Count_value{env="prod"} 1
kafka_log_LogManager_LogDirectoryOffline{env="prod",logdirectory="/data/d1"} 0 1700000000.123
kafka_log_LogManager_LogDirectoryOffline{env="prod",logdirectory="/data/d2"} 1 1700000000.123
kafka_log_LogManager_LogDirectoryCordoned_Value{env="prod",log_directory="/data/d1"} 1
kafka_log_LogManager_remainingLogsToRecover{env="prod",directory="/data/d1"} 7
kafka_log_LogCleanerManager_uncleanable_bytes{env="prod",logdirectory="/data/d1"} 4096
kafka_log_LogCleanerManager_uncleanable_partitions_count_value{env="prod",logdirectory="/data/d1"} 2
kafka_log_LogCleaner_DeadThreadCount{env="prod"} 0
# TYPE kafka_log_LogFlushStats_LogFlushRateAndTimeMs_count counter
kafka_log_LogFlushStats_LogFlushRateAndTimeMs_count_total{env="prod"} 321 # {trace_id="a b"} 1 1700000000.1
kafka_log_LogFlushStats_LogFlushRateAndTimeMs_count_created{env="prod"} 1.7e9
kafka_log_LogFlushStats_LogFlushRateAndTimeMs_Mean{env="prod"} 2.5
kafka_log_LogFlushStats_LogFlushRateAndTimeMs_Max{env="prod"} 80.25
kafka_log_LogFlushStats_LogFlushRateAndTimeMs_50thPercentile{env="prod"} 1.5
kafka_log_LogFlushStats_LogFlushRateAndTimeMs_99thPercentile{env="prod"} 60.0
kafka_server_ReplicaManager_OfflineReplicaCount{env="prod"} 3
kafka_server_ReplicaManager_UnderMinIsrPartitionCount_total{env="prod"} 4
kafka_server_ReplicaManager_AtMinIsrPartitionCount{env="prod"} 5
kafka_server_ReplicaManager_UnderReplicatedPartitions{env="prod",name="broker-1",type="kafka"} 6
kafka_server_ReplicaManager_ReassigningPartitions{env="prod"} 0
org_apache_kafka_server_AssignmentsManager_QueuedReplicaToDirAssignments{env="prod"} 2
kafka_server_BrokerTopicMetrics_BytesInPerSec_Count{env="prod"} 1.25e+10
kafka_server_BrokerTopicMetrics_RemoteCopyLagBytes{env="prod",topic="orders"} 512
kafka_server_BrokerTopicMetrics_RemoteCopyLagBytes{env="prod"} 2048
kafka_server_BrokerTopicMetrics_RemoteCopyErrorsPerSec_Count{env="prod"} 8
kafka_server_Value{type="KafkaServer",name="linux-disk-write-bytes"} 987654321000
# EOF
"""
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
BEANS = r"""
kafka.log<type=LogManager, name=OfflineLogDirectoryCount><>Value
kafka.log<type=LogManager, name=CordonedLogDirectoryCount><>Value
kafka.log<type=LogManager, name=LogDirectoryOffline, logDirectory="/data/d1"><>Value
kafka.log<type=LogManager, name=LogDirectoryOffline, logDirectory="/data/d2"><>Value
kafka.log<type=LogManager, name=LogDirectoryCordoned, logDirectory="/data/d1"><>Value
kafka.log<type=LogManager, name=remainingLogsToRecover, dir="/data/d1"><>Value
kafka.log<type=LogCleanerManager, name=uncleanable-bytes, logDirectory="/data/d1"><>Value
kafka.log<type=LogCleanerManager, name=uncleanable-partitions-count, logDirectory="/data/d1"><>Value
kafka.log<type=LogCleaner, name=DeadThreadCount><>Value
kafka.log<type=LogFlushStats, name=LogFlushRateAndTimeMs><>Count
kafka.log<type=LogFlushStats, name=LogFlushRateAndTimeMs><>Mean
kafka.log<type=LogFlushStats, name=LogFlushRateAndTimeMs><>Max
kafka.log<type=LogFlushStats, name=LogFlushRateAndTimeMs><>OneMinuteRate
kafka.log<type=LogFlushStats, name=LogFlushRateAndTimeMs><>50thPercentile
kafka.log<type=LogFlushStats, name=LogFlushRateAndTimeMs><>99thPercentile
kafka.log<type=LogFlushStats, name=LogFlushRateAndTimeMs><>999thPercentile
kafka.server<type=ReplicaManager, name=OfflineReplicaCount><>Value
kafka.server<type=ReplicaManager, name=UnderMinIsrPartitionCount><>Value
kafka.server<type=ReplicaManager, name=AtMinIsrPartitionCount><>Value
kafka.server<type=ReplicaManager, name=UnderReplicatedPartitions><>Value
kafka.server<type=ReplicaManager, name=ReassigningPartitions><>Value
kafka.server<type=BrokerTopicMetrics, name=BytesInPerSec><>Count
kafka.server<type=BrokerTopicMetrics, name=BytesInPerSec><>OneMinuteRate
kafka.server<type=BrokerTopicMetrics, name=RemoteCopyLagBytes><>Value
kafka.server<type=BrokerTopicMetrics, name=RemoteCopyErrorsPerSec><>Count
kafka.server<type=KafkaServer, name=linux-disk-write-bytes><>Value
org.apache.kafka.server<type=AssignmentsManager, name=QueuedReplicaToDirAssignments><>Value
"""


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
