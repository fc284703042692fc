"""The published schemas of Strimzi's resources, and kubectl as a script that says what it was asked."""

import json
import shlex
import subprocess
from pathlib import Path

import jsonschema
import yaml

SCHEMAS = yaml.safe_load((Path(__file__).parents[1] / "data" / "strimzi" / "schemas.yaml").read_text())
# kubectl knows one broker, prod-broker-3 of the pool "broker", and one topic. It writes each of its calls to a file.
KUBECTL = """#!/bin/sh
printf '%s\\n' "$(printf '%s\\036' "$@")" >> "$CALLS"
case "$*" in
*"get kafkatopics"*) printf '%s' "$TOPIC" ;;
*"--output name"*) printf 'pod/prod-broker-13\\npod/prod-broker-3\\n' ;;
*pool-name*) printf 'prod-broker-13 other\\nprod-broker-3 broker\\n' ;;
esac
"""


def errors(resource):
    """Return what a resource's published schema has against it; unknown fields too, which Kubernetes would drop."""
    schema = _closed(SCHEMAS[resource["kind"]])
    return [f"{error.json_path}: {error.message}" for error in jsonschema.Draft7Validator(schema).iter_errors(resource)]


def _closed(schema):
    """Return a schema that refuses fields that it does not name."""
    if not isinstance(schema, dict):
        return schema
    found = {key: _closed_part(key, value) for key, value in schema.items()}
    is_open = "additionalProperties" in schema or schema.get("x-kubernetes-preserve-unknown-fields")
    return found if is_open or "properties" not in schema else {**found, "additionalProperties": False}


def _closed_part(key, value):
    if key == "properties":
        # Kubernetes itself knows what metadata holds.
        return {name: part if name == "metadata" else _closed(part) for name, part in value.items()}
    return _closed(value) if key in ("items", "additionalProperties") else value


def merged(resource, patch):
    """Return a resource after a merge patch (RFC 7396)."""
    found = dict(resource)
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merged(found.get(key, {}), value) if isinstance(value, dict) else value
    return found


def patched(resource, patch):
    """Return a resource after a JSON patch (RFC 6902) of the operations that are rendered."""
    found = json.loads(json.dumps(resource))
    for change in patch:
        *way, last = change["path"].split("/")[1:]
        at = found
        for name in way:
            at = at[int(name)] if isinstance(at, list) else at[name]
        if change["op"] == "test":
            assert at[last] == change["value"], change
        elif isinstance(at, list):
            assert (change["op"], last) == ("add", "-")
            at.append(change["value"])
        else:
            assert change["op"] == "add" or last in at
            at[last] = change["value"]
    return found


def calls(folder, commands, topic="orders"):
    """Run commands in a shell and return the arguments of each call of kubectl, and what the shell said."""
    program, told = folder / "kubectl", folder / "calls"
    program.write_text(KUBECTL)
    program.chmod(0o755)
    told.write_text("")
    script = f"CALLS={shlex.quote(str(told))}; TOPIC={shlex.quote(topic)}; export CALLS TOPIC\n" + "\n".join(commands)
    environment = {"PATH": f"{folder}:/usr/bin:/bin"}
    done = subprocess.run(
        ["sh"], input=script, env=environment, cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    return [line.split("\036")[:-1] for line in told.read_text().split("\n")[:-1]], done.stderr


def patch_of(call):
    """Return the patch of a call."""
    return json.loads(call[call.index("--patch") + 1])
