"""``backtest --prometheus`` over the series of each exporter, from a real server."""

import json

import pytest
from typer.testing import CliRunner

from logdirwatch.cli.main import application

STEP_S = 600
END_S = 1_764_000_000
DAYS = 20
TOTAL = 1_000_000_000_000


def used_bytes(at_s):
    """Half full for 16 days, then full within two days."""
    since_s = at_s - (END_S - 4 * 86_400)
    return int(TOTAL * min(0.97, 0.5 + max(0, since_s) / 86_400 / 4))


def history(labels, value):
    return [(labels, value(at_s), at_s) for at_s in range(END_S - DAYS * 86_400, END_S, STEP_S)]


def volume(size, free, labels):
    return {size: history(labels, lambda _: TOTAL), free: history(labels, lambda at_s: TOTAL - used_bytes(at_s))}


def both(*series):
    found = {}
    for one in series:
        for name, samples in one.items():
            found.setdefault(name, []).extend(samples)
    return found


NODE = ("node_filesystem_size_bytes", "node_filesystem_avail_bytes")
CLAIM = ("kubelet_volume_stats_capacity_bytes", "kubelet_volume_stats_available_bytes")
OWN = ("logdirwatch_log_dir_total_bytes", "logdirwatch_log_dir_usable_bytes")
MOUNTED = {"mountpoint": "/var/lib/kafka", "fstype": "xfs"}
SERIES = {
    "node": both(
        *(volume(*NODE, {"instance": f"kafka-{host}:9100", **MOUNTED}) for host in range(5)),
        volume(*NODE, {"instance": "kafka-1:9100", "mountpoint": "/", "fstype": "xfs"}),
    ),
    "kubelet": volume(*CLAIM, {"namespace": "events", "persistentvolumeclaim": "data-0-my-kafka-1", "node": "n1"}),
    "own": both(
        volume(*OWN, {"cluster": "prod", "broker": "7", "log_dir": "/d1", "replica": "a"}),
        volume(*OWN, {"cluster": "prod", "broker": "7", "log_dir": "/d1", "replica": "b"}),
        volume(*OWN, {"cluster": "test", "broker": "7", "log_dir": "/d1"}),
    ),
    "jmx": {
        "kafka_log_log_size": [
            sample
            for partition in "01"
            for sample in history(
                {"instance": "kafka-1:7071", "topic": "t", "partition": partition}, lambda at_s: used_bytes(at_s) // 2
            )
        ]
    },
}


@pytest.fixture(scope="session")
def servers(serving):
    return {name: serving(series) for name, series in SERIES.items()}


@pytest.fixture
def backtest(servers, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(server, *arguments):
        times = ["--from", "2025-11-04T16:00", "--to", "2025-11-24T16:00"]
        return CliRunner().invoke(
            application("backtest"), ["backtest", "--prometheus", servers[server].url, *times, *arguments]
        )

    return run


def told(result):
    assert result.exit_code == 0, (result.output, result.exception)
    lines = [json.loads(line) for line in result.output.splitlines()]
    rules = {line["rule"]: line for line in lines if "false_alerts" in line}
    return [line for line in lines if "false_alerts" not in line], rules


@pytest.mark.parametrize(
    ("server", "arguments", "where"),
    [
        ("node", [], [("prometheus", None, f"kafka-{host}:9100:/var/lib/kafka") for host in range(5)]),
        ("node", ["--select", 'mountpoint="/"'], [("prometheus", None, "kafka-1:9100:/")]),
        ("kubelet", [], [("prometheus", None, "events:data-0-my-kafka-1")]),
        ("own", [], [("prod", 7, "/d1"), ("test", 7, "/d1")]),
        ("own", ["--cluster", "prod"], [("prod", 7, "/d1")]),
        ("jmx", ["--capacity", "1TB"], [("prometheus", None, "kafka-1:7071")]),
    ],
)
def test_each_exporter_names_its_directories_and_its_bytes(backtest, server, arguments, where):
    alerts, rules = told(backtest(server, "--json", *arguments))
    assert sorted((alert["cluster"], alert["broker"], alert["log_dir"]) for alert in alerts) == where
    ours = rules["logdirwatch"]
    assert (ours["alerts"], ours["false_alerts"], ours["full"], ours["told"]) == (len(where), 0, len(where), len(where))
    # 85 % are 35 % of a quarter a day; then the rule waits for half an hour.
    assert rules["free < 15 %"]["hours_before"] == pytest.approx((0.10 * 4 * 24) - 0.5, abs=0.51)
    assert rules["free < 15 %"]["hours_gained"] > 0
    assert 0 < rules["predict_linear 6h, 24h"]["hours_before"] < 24


def test_a_rule_of_ones_own_is_compared(backtest):
    own = "sum by (instance) (node_filesystem_avail_bytes{mountpoint!='/'}) < 3e11"
    _, rules = told(backtest("node", "--json", "--rule", own, "--select", 'instance="kafka-1:9100",mountpoint!="/"'))
    assert (rules[own]["alerts"], rules[own]["told"]) == (1, 1)
    assert rules[own]["hours_before"] == pytest.approx(0.25 * 4 * 24, abs=0.3)


def test_people_see_alerts_and_comparison(backtest):
    output = backtest("kubelet").output
    assert "events:data-0-my-kafka-1 is " in output
    assert "Broker" not in output
    assert [line.split()[0] for line in output.splitlines()[-6:]] == [
        "rule",
        "logdirwatch",
        "logdirwatch,",
        "logdirwatch,",
        "free",
        "predict_linear",
    ]


@pytest.mark.parametrize(
    ("server", "arguments", "said"),
    [
        ("node", ["--select", 'mountpoint="/none"'], 'node_filesystem_avail_bytes{mountpoint="/none"}, kubelet_'),
        ("node", ["--from", "2023-01-01", "--to", "2023-02-01"], "has no series of a log directory in this time"),
        ("node", ["--rule", "sum(up"], "refuses sum(up: 1:7: parse error"),
        ("node", ["--rule", "vector(1)"], "--rule vector(1): its series have none of the labels instance, mountpoint"),
        ("node", ["--select", "mountpoint=/"], "refuses logdirwatch_log_dir_usable_bytes{mountpoint=/}: "),
        ("jmx", [], "the JMX exporter does not tell the size of a disk: add --capacity"),
        ("jmx", ["--capacity", "much"], "--capacity much: write a number with its unit"),
        ("node", ["--step", "0m"], "--step 0m: write a number with its unit"),
    ],
)
def test_what_cannot_be_answered_is_one_line(backtest, server, arguments, said):
    result = backtest(server, *arguments)
    assert said in str(result.exception)
    assert "\n" not in str(result.exception)
