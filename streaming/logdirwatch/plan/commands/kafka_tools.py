"""Commands for a POSIX shell: every name, path and value is quoted as one argument.

Only the tool's prefix is not quoted, since it may be a whole ``kubectl exec -i POD --`` line. For the same reason the
tool reads a reassignment from standard input: the file need not exist where the tool runs.
"""

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from logdirwatch.plan.commands.throttles import Limits
from logdirwatch.plan.settings import ToolSettings
from logdirwatch.text.printable import printable

REASSIGN = "kafka-reassign-partitions"
CONFIGS = "kafka-configs"
LOG_DIRS = "kafka-log-dirs"
TOPICS = "kafka-topics"
QUORUM = "kafka-metadata-quorum"
STORAGE = "kafka-storage"
CLUSTER = "kafka-cluster"
LEADER_ELECTION = "kafka-leader-election"
ACLS = "kafka-acls"

# Output of Kafka 4.3.1's ReassignPartitionsCommand for a partition or replica that is still moving.
IN_PROGRESS = "is still in progress"
ADDITIONAL = "--additional"
POLL_S = 10
_NOTE = "# "
_HEREDOC_END = "LOGDIRWATCH_END"
_UNKNOWN_PRINCIPAL = '"${COLLECTOR_PRINCIPAL:?set it to the principal of the collector, such as User:logdirwatch}"'
_UNKNOWN_ADDRESS = '"${KAFKA_BOOTSTRAP_SERVERS:?set it to host:port of this cluster}"'


@dataclass(frozen=True)
class Tools:
    """How to call the tools of one cluster; ``bootstrap_servers`` None: the configuration names no address."""

    settings: ToolSettings
    bootstrap_servers: str | None

    def call(self, tool: str, *arguments: str, stdin: str | None = None) -> str:
        """Return the command that runs ``tool`` against the cluster; the file ``stdin``, if given, is its input."""
        redirect = [] if stdin is None else ["<", shlex.quote(stdin)]
        return " ".join([self._program(tool), *self._connection(), *map(shlex.quote, arguments), *redirect])

    def format_storage(self, options: Sequence[str]) -> list[str]:
        """Return the commands that format a broker's new directories on its host while it is stopped."""
        if self.settings.server_config is None:
            return []
        ask = " ".join([self._program(CLUSTER), "cluster-id", *self._connection("--config")])
        config = shlex.quote(self.settings.server_config)
        return [
            f"cluster_id=$({ask} | sed 's/^Cluster ID: //')",
            f'{self._program(STORAGE)} format {shlex.join(options)} --cluster-id "$cluster_id" --config {config}',
        ]

    def add_controller(self) -> str:
        """Return the command that makes a controller a voter, on its host, because it reads its metadata log."""
        config = shlex.quote(self.settings.server_config or "server.properties")
        return " ".join([self._program(QUORUM), *self._address(), "--command-config", config, "add-controller"])

    def stop(self, broker: int) -> list[str]:
        """Return the configured command that stops a broker, if there is one."""
        return _filled(self.settings.stop_command, broker)

    def start(self, broker: int) -> list[str]:
        """Return the configured command that starts a broker, if there is one."""
        return _filled(self.settings.start_command, broker)

    def reassign(self, plan: Mapping[str, Any], name: str, *, limits: Limits, beside: bool = False) -> list[str]:
        """Return the commands that throttle a reassignment, carry it out, and clear these throttles at its end.

        ``name`` is the file in the working directory. Throttles of others stay as they are; those between directories
        also delay new replicas that were created in the wrong directory. ``beside``: other reassignments run, and the
        tool needs an option to start one more (Kafka 4.3.1 ``ReassignPartitionsCommand``).
        """
        more = [ADDITIONAL] if beside else []
        return [
            write_file(name, reassignment_lines(plan)),
            *self.set_limits(limits, name),
            self._on_plan(name, "--execute", *more, "--timeout", str(self.settings.timeout_ms)),
            *self._until_done(name),
            *self.clear_limits(limits, name),
        ]

    def set_limits(self, limits: Limits, name: str | None = None) -> list[str]:
        """Return the command that sets throttles where none is set; it names those of others, which stay.

        It records what it sets beside the file ``name`` of a plan, and the plan's end deletes only that: somebody else
        may have set the very same value.
        """
        noted = None if name is None else _noted(name)
        change = self._config_of("--alter", '--add-config "$key=[$value]"')
        done = "" if noted is None else f' && echo "$entity $name $limit" >> {noted}'
        cases = f'*" $key="*) echo "$name: $key is set by somebody else and stays as it is" ;;\n*) {change}{done} ;;'
        return self._of_limits(limits, cases, () if noted is None else (f": > {noted}",), _listed(limits))

    def clear_limits(self, limits: Limits, name: str | None = None) -> list[str]:
        """Return the command that deletes throttles that still have the given value; others stay.

        With the ``name`` of a plan, only those that its start recorded.
        """
        change = self._config_of("--alter", '--delete-config "$key"')
        noted = _listed(limits) if name is None else (f"done < {_noted(name)}",)
        return self._of_limits(limits, f'*" $key=$value "*) {change} ;;', (), noted)

    def _of_limits(self, limits: Limits, cases: str, before: Sequence[str], told: Sequence[str]) -> list[str]:
        """Return a loop over throttles that reads each before it acts.

        The spaces are those of ``ConfigCommand``'s output.
        """
        if not limits:
            return []
        lines = (
            *before,
            "while read -r entity name limit; do",
            'key="${limit%%=*}" value="${limit#*=}"',
            f'found=$({self._config_of("--describe")}) && case "$found" in',
            cases,
            "esac",
            *told,
        )
        return ["\n".join(lines)]

    def _config_of(self, action: str, change: str = "") -> str:
        entity = '--entity-type "$entity" --entity-name="$name"'
        return " ".join(filter(None, [self.call(CONFIGS, action), entity, change, "< /dev/null"]))

    def elect(self, partitions: Sequence[tuple[str, int]], name: str, *, unclean: bool = False) -> list[str]:
        """Return the commands that elect leaders: the preferred replicas or, unclean, any live replica."""
        kind = "unclean" if unclean else "preferred"
        lines = partition_lines({"topic": topic, "partition": number} for topic, number in partitions)
        return [write_file(name, lines), self._elect(kind, "--path-to-json-file", "/dev/stdin", "<", shlex.quote(name))]

    def elect_all(self) -> str:
        """Return the command that returns leadership to every preferred replica."""
        return self._elect("preferred", "--all-topic-partitions")

    def _elect(self, kind: str, *words: str) -> str:
        """Use ``--admin.config``, the name of the option before 4.2, which 4.3.1 still accepts (KIP-1147)."""
        program, connection = self._program(LEADER_ELECTION), self._connection("--admin.config")
        return " ".join([program, *connection, "--election-type", kind, *words])

    def allow_collector(self, principal: str | None = None, *, allowed: bool = True) -> list[str]:
        """Return the commands that grant what the collector needs, or revoke it; the shell asks for an unknown name.

        Describe on the cluster for DescribeLogDirs, the rest for the inventory (Kafka 4.3.1 ``KafkaApis``).
        """
        both = ["Describe", "DescribeConfigs"]
        needed = ((both, ["--cluster"]), (both, ["--topic", "*"]), (["Describe"], ["--group", "*"]))
        return [self.allow(operations, resource, principal, allowed=allowed) for operations, resource in needed]

    def allow(
        self, operations: Sequence[str], resource: Sequence[str], principal: str | None = None, *, allowed: bool = True
    ) -> str:
        """Return the command that grants or revokes operations on a resource; the shell asks for an unknown name."""
        verb = ["--add"] if allowed else ["--remove", "--force"]
        words = [word for operation in operations for word in ("--operation", operation)]
        name = _UNKNOWN_PRINCIPAL if principal is None else shlex.quote(principal)
        return f"{self.call(ACLS, *verb, *words, *resource)} --allow-principal {name}"

    def cancel(self, name: str) -> str:
        """Return the command that cancels a running reassignment and its moves between directories."""
        return self._on_plan(name, "--cancel", "--preserve-throttles")

    def set_topic_config(self, topic: str, key: str, value: str | None) -> str:
        """Return the command that overrides a topic's configuration value, or deletes the override (None)."""
        change = ["--delete-config", key] if value is None else ["--add-config", f"{key}={value}"]
        # A topic's name may begin with a dash; only this form then passes it as a name.
        return self.call(CONFIGS, "--alter", "--entity-type", "topics", f"--entity-name={topic}", *change)

    def _until_done(self, name: str) -> list[str]:
        """Wait, then show the result.

        Without the option the tool clears the throttles of all brokers, whoever set them.
        """
        verify = self._on_plan(name, "--verify", "--preserve-throttles")
        return [f"while {verify} | grep {shlex.quote(IN_PROGRESS)}; do sleep {POLL_S}; done", verify]

    def _on_plan(self, name: str, *arguments: str) -> str:
        return self.call(REASSIGN, *arguments, "--reassignment-json-file", "/dev/stdin", stdin=name)

    def _program(self, tool: str) -> str:
        return f"{self.settings.prefix}{tool}{self.settings.suffix}"

    def _connection(self, config_option: str = "--command-config") -> list[str]:
        words = self._address()
        if self.settings.command_config is not None:
            words += [config_option, shlex.quote(self.settings.command_config)]
        return words

    def _address(self) -> list[str]:
        address = self.settings.bootstrap_servers or self.bootstrap_servers
        return ["--bootstrap-server", _UNKNOWN_ADDRESS if address is None else shlex.quote(address)]


def note(text: str) -> str:
    """Return a manual step as a shell comment; nothing in ``text`` can end the comment."""
    return f"{_NOTE}{printable(text)}"


def write_file(name: str, lines: Sequence[str]) -> str:
    """Return the command that writes ``lines`` to a file; JSON lines can neither expand nor end the here-document."""
    return "\n".join([f"cat > {shlex.quote(name)} <<'{_HEREDOC_END}'", *lines, _HEREDOC_END])


def reassignment_lines(plan: Mapping[str, Any]) -> list[str]:
    """Return a reassignment as JSON, one partition per line, so that people can read and diff it."""
    return partition_lines(plan["partitions"], f'"version":{plan["version"]},')


def partition_lines(entries: Iterable[Mapping[str, Any]], before: str = "") -> list[str]:
    """Return a JSON object with the field ``partitions``, one entry per line, and what stands ``before`` it."""
    lines = [json.dumps(entry, separators=(",", ":")) for entry in entries]
    return [f'{{{before}"partitions":[', *(f"{line}," for line in lines[:-1]), *lines[-1:], "]}"]


def _listed(limits: Limits) -> tuple[str, ...]:
    """Return the here-document that a loop over throttles reads, one per line.

    Names and values come from records: those that Kafka cannot have, because they would break the line, are left out.
    """
    lines = (str(limit) for limit in limits if limit.name.split() == [limit.name])
    return (f"done <<'{_HEREDOC_END}'", *(line for line in lines if line.isprintable()), _HEREDOC_END)


def _noted(name: str) -> str:
    """Return the file beside a plan's in which its commands record the throttles that they set."""
    return shlex.quote(f"{name.removesuffix('.json')}.limits")


def _filled(template: str | None, broker: int) -> list[str]:
    return [] if template is None else [template.replace("{broker}", str(broker))]


def set_broker_list(tools: Tools, broker: int, key: str, values: Sequence[str]) -> str:
    """Return the command that sets a list on a broker, or deletes the broker's own value if it is empty.

    The brackets keep commas and equals signs inside the value (Kafka 4.3.1 ``ConfigCommand.parseConfigsToBeAdded``).
    """
    change = ["--add-config", f"{key}=[{','.join(values)}]"] if values else ["--delete-config", key]
    return tools.call(CONFIGS, "--alter", "--entity-type", "brokers", f"--entity-name={broker}", *change)


def describe_configs(tools: Tools, entity_type: str, name: object, *options: str) -> str:
    """Return the command that lists the values set on a broker or topic; the option ``--all`` adds its defaults."""
    return tools.call(CONFIGS, "--describe", *options, "--entity-type", entity_type, f"--entity-name={name}")


_CLIENT = '--entity-name="${CLIENT_ID:?set it to the client.id of the producer}"'
# Kafka's tool prints a quota as Java does a double: 1024.0, and from 10 million on 2.24451666E8.
_IS_QUOTA = (
    "awk -v quota={} 'match($0, /producer_byte_rate=[0-9.E]+/) "
    "{{ if (substr($0, RSTART + 19, RLENGTH - 19) + 0 == quota) found = 1 }} END {{ exit !found }}'"
)


def client_quota(tools: Tools, bytes_per_s: int) -> str:
    """Return the template that limits one producer on every broker.

    The producers are unknown: the shell asks for the client id, and runs nothing without one.
    """
    command = tools.call(CONFIGS, "--alter", "--entity-type", "clients")
    return f"{command} {_CLIENT} --add-config producer_byte_rate={bytes_per_s}"


def end_client_quota(tools: Tools, bytes_per_s: int) -> str:
    """Return the template that deletes a producer's quota if it still has this value; any other is not ours."""
    found = f"{tools.call(CONFIGS, '--describe', '--entity-type', 'clients')} {_CLIENT}"
    command = tools.call(CONFIGS, "--alter", "--entity-type", "clients")
    ours = _IS_QUOTA.format(bytes_per_s)
    return f"{found} | {ours} && {command} {_CLIENT} --delete-config producer_byte_rate"


def describe_quotas(tools: Tools) -> str:
    """Return the command that lists client quotas."""
    return tools.call(CONFIGS, "--describe", "--entity-type", "clients")


def on_host(tools: Tools, broker: int, *commands: Sequence[str]) -> list[str]:
    """Return commands to run on a broker's host: through the configured access, else as notes.

    The commands are sent as a script on standard input, so that no shell in between interprets them a second time.
    """
    lines = [shlex.join(words) for words in commands]
    template = tools.settings.host_command
    if template is None or any("\n" in line for line in lines):
        return [note(f"On broker {broker}'s host: {line}") for line in lines]
    program = template.replace("{broker}", str(broker))
    return ["\n".join([f"{program} <<'{_HEREDOC_END}'", "set -e", *lines, _HEREDOC_END])]
