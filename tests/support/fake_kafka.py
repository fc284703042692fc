"""Kafka's tools as far as limits go: what they set and clear, as Kafka 4.3.1's commands do it, on a file.

Run as ``kafka-configs.sh`` or ``kafka-reassign-partitions.sh``; the state is in the file that ``FAKE_KAFKA`` names.
"""

import json
import os
import re
import sys
from pathlib import Path

STATE = Path(os.environ.get("FAKE_KAFKA", "state.json"))
RATES = (
    "leader.replication.throttled.rate",
    "follower.replication.throttled.rate",
    "replica.alter.log.dirs.io.max.bytes.per.second",
)


def option(name):
    found = [word for word in sys.argv if word == name or word.startswith(f"{name}=")]
    if not found:
        return None
    return found[0].split("=", 1)[1] if "=" in found[0] else sys.argv[sys.argv.index(name) + 1]


def configs(state):
    entity = state.setdefault(f"{option('--entity-type')} {option('--entity-name')}", {})
    if "--describe" in sys.argv:
        sys.stdout.write(f"Dynamic configs for {option('--entity-type')[:-1]} {option('--entity-name')} are:\n")
        for key, value in sorted(entity.items()):
            sys.stdout.write(f"  {key}={value} sensitive=false synonyms={{DYNAMIC_BROKER_CONFIG:{key}={value}}}\n")
    if option("--add-config"):
        for change in re.split(r",(?=[^\]]*(?:\[|$))", option("--add-config")):
            key, value = change.split("=", 1)
            entity[key] = value.replace("[", "").replace("]", "")
    if option("--delete-config"):
        for key in option("--delete-config").split(","):
            if key not in entity:
                raise SystemExit(f"Invalid config(s): {key}")
            del entity[key]


def reassign(state):
    plan = json.loads(sys.stdin.read())
    state.setdefault("calls", []).append([word for word in sys.argv[1:] if word.startswith("--")])
    if "--execute" in sys.argv:
        state["seen"] = {name: dict(entity) for name, entity in state.items() if isinstance(entity, dict)}
        for broker in sorted({broker for entry in plan["partitions"] for broker in entry["replicas"]}):
            if option("--throttle"):
                state.setdefault(f"brokers {broker}", {})[RATES[0]] = option("--throttle")
                state.setdefault(f"brokers {broker}", {})[RATES[1]] = option("--throttle")
            if option("--replica-alter-log-dirs-throttle"):
                state.setdefault(f"brokers {broker}", {})[RATES[2]] = option("--replica-alter-log-dirs-throttle")
    elif "--preserve-throttles" not in sys.argv:
        # clearAllThrottles: of every broker of the cluster, and of the topics that the plan names.
        for name, entity in state.items():
            if name.startswith(("brokers ", "topics ")):
                for key in [key for key in entity if "throttled" in key or key in RATES]:
                    del entity[key]


def main():
    state = json.loads(STATE.read_text()) if STATE.exists() else {}
    if sys.argv[0].endswith("kafka-configs.sh"):
        configs(state)
    elif sys.argv[0].endswith("kafka-reassign-partitions.sh"):
        reassign(state)
    STATE.write_text(json.dumps(state))


if __name__ == "__main__":
    main()
