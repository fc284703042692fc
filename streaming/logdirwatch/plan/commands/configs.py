"""Commands that set and delete configuration, and commands for a broker's own host."""

import shlex
from collections.abc import Sequence

from logdirwatch.plan.commands.kafka_tools import CONFIGS, Tools, note

HOST_END = "LOGDIRWATCH_END"


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
    return ["\n".join([f"{program} <<'{HOST_END}'", "set -e", *lines, HOST_END])]
