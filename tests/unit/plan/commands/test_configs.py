"""Configuration commands to the letter, and scripts for a broker's host; the quota's guard is run by a real shell."""

import subprocess

import pytest

from logdirwatch.plan.commands import kafka_tools
from logdirwatch.plan.settings import ToolSettings
from tests.unit.plan.builders import policy

TOOLS = policy().tools
CALL = "kafka-configs.sh --bootstrap-server kafka:9092"
CLIENT = '--entity-name="${CLIENT_ID:?set it to the client.id of the producer}"'


@pytest.mark.parametrize(
    ("values", "change"),
    [
        (["/d1"], "--add-config 'cordoned.log.dirs=[/d1]'"),
        (["/d1", "/d2"], "--add-config 'cordoned.log.dirs=[/d1,/d2]'"),
        ([], "--delete-config cordoned.log.dirs"),
    ],
)
def test_a_list_is_set_whole_or_taken_away(values, change):
    found = kafka_tools.set_broker_list(TOOLS, 3, "cordoned.log.dirs", values)
    assert found == f"{CALL} --alter --entity-type brokers --entity-name=3 {change}"


def test_a_quota_is_set_for_the_client_whom_the_shell_is_told():
    assert kafka_tools.client_quota(TOOLS, 1024) == (
        f"{CALL} --alter --entity-type clients {CLIENT} --add-config producer_byte_rate=1024"
    )


def test_quotas_are_listed():
    assert kafka_tools.describe_quotas(TOOLS) == f"{CALL} --describe --entity-type clients"


def test_the_end_of_a_quota_reads_it_first():
    found = kafka_tools.end_client_quota(TOOLS, 1024)
    assert found.startswith(f"{CALL} --describe --entity-type clients {CLIENT} | awk -v quota=1024 ")
    assert found.endswith(f" && {CALL} --alter --entity-type clients {CLIENT} --delete-config producer_byte_rate")


@pytest.mark.parametrize(
    ("printed", "quota", "is_ended"),
    [
        ("producer_byte_rate=1024.0", 1024, True),
        ("consumer_byte_rate=5.0, producer_byte_rate=1024.0", 1024, True),
        ("producer_byte_rate=2.24451666E8", 224451666, True),
        ("producer_byte_rate=1025.0", 1024, False),
        ("producer_byte_rate=10240.0", 1024, False),
        ("consumer_byte_rate=1024.0", 1024, False),
        ("", 1024, False),
    ],
)
def test_only_our_own_quota_is_ended(printed, quota, is_ended, tmp_path):
    tool = tmp_path / "kafka-configs.sh"
    log = tmp_path / "log"
    tool.write_text(
        f'#!/bin/sh\ncase "$*" in *--alter*) echo "$*" > {log};; '
        f"*) echo \"Quota configs for client-id 'p' are {printed}\";; esac\n"
    )
    tool.chmod(0o755)
    path = f"{tmp_path}:/usr/bin:/bin"
    subprocess.run(
        ["/bin/sh", "-c", kafka_tools.end_client_quota(TOOLS, quota)],
        env={"PATH": path, "CLIENT_ID": "p"},
        check=False,
        timeout=60,
    )
    assert log.exists() is is_ended
    if is_ended:
        assert log.read_text().strip().endswith("--entity-name=p --delete-config producer_byte_rate")


class TestOnHost:
    SSH = policy(tools=ToolSettings(host_command="ssh host-{broker} sh -s")).tools

    def test_without_a_way_there_each_command_is_a_note(self):
        assert kafka_tools.on_host(TOOLS, 2, ["rm", "--", "/a b"], ["sync"]) == [
            "# On broker 2's host: rm -- '/a b'",
            "# On broker 2's host: sync",
        ]

    def test_with_one_they_are_a_script_that_stops_at_the_first_failure(self):
        assert kafka_tools.on_host(self.SSH, 2, ["rm", "--", "/a b"], ["sync"]) == [
            "ssh host-2 sh -s <<'LOGDIRWATCH_END'\nset -e\nrm -- '/a b'\nsync\nLOGDIRWATCH_END"
        ]

    def test_a_name_of_two_lines_is_never_put_into_a_script(self):
        found = kafka_tools.on_host(self.SSH, 2, ["sync"], ["rm", "--", "/a\nLOGDIRWATCH_END"])
        assert found[0] == "# On broker 2's host: sync"
        assert all(line.startswith("#") for command in found for line in command.splitlines())
