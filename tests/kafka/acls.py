"""The ACLs that the pages grant: their commands as data, granted by Kafka's own tool and taken away one by one."""

import re
import shlex
import subprocess
from contextlib import contextmanager
from itertools import pairwise, product
from pathlib import Path
from typing import NamedTuple

from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)

from logdirwatch.kafka import clients
from logdirwatch_lab import jvm
from tests.kafka.conftest import JARS_HOME
from tests.kafka.secured import Secured
from tests.support.waiting import DEADLINE_S

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS / f"{name}.md" for name in ("security", "apply", "autopilot")]
TOOL = "org.apache.kafka.tools.AclCommand"


class Acl(NamedTuple):
    """One operation that one user may do on one resource."""

    user: str
    operation: str
    kind: str
    name: str
    pattern: str

    def __str__(self) -> str:
        return f"{self.user}-{self.operation}-{self.kind}-{self.name}"


def commands() -> list[list[str]]:
    """Return the words of every ``kafka-acls.sh`` of the pages."""
    lines = [line for page in PAGES for line in re.findall(r"^kafka-acls\.sh .*$", page.read_text(), re.MULTILINE)]
    return [shlex.split(line) for line in lines]


def documented(user: str) -> list[Acl]:
    """Return every single ACL that the pages grant to a user."""
    return [acl for words in commands() for acl in acls_of(words) if acl.user == user]


def acls_of(words: list[str]) -> list[Acl]:
    """Return the single ACLs that one command adds."""
    values = {flag: [b for a, b in pairwise(words) if a == flag] for flag in words}
    (principal,) = values["--allow-principal"]
    pattern = values.get("--resource-pattern-type", ["literal"])[0]
    kinds = ("topic", "group", "transactional-id")
    resources = [(kind.replace("-", "_"), name) for kind in kinds for name in values.get(f"--{kind}", ())]
    resources += [("cluster", "kafka-cluster")] if "--cluster" in words else []
    return [
        Acl(principal.removeprefix("User:"), operation, kind, name, pattern)
        for operation, (kind, name) in product(values["--operation"], resources)
    ]


def run_tool(secured: Secured, words: list[str]) -> None:
    """Run a ``kafka-acls.sh`` command against the secured broker, as the user who may."""
    properties = secured.folder / "admin.properties"
    escaped = {key: value.replace("\\", "\\\\") for key, value in secured.client("admin").items()}
    properties.write_text("".join(f"{key}={value}\n" for key, value in escaped.items()))
    kafka, _ = jvm.plain_jvm(JARS_HOME)
    server = words.index("--bootstrap-server") + 1
    arguments = [*words[1:server], secured.sasl, *words[server + 1 :]]
    command = [*kafka.command(jvm.TOOL_HEAP_MIB), TOOL, "--command-config", str(properties), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def grant(secured: Secured, granting: list[list[str]]) -> None:
    """Grant what commands say: the first of each form by Kafka's own tool, a JVM each; those like it by a client."""
    forms = {frozenset(word for word in words if word.startswith("--")): words for words in reversed(granting)}
    for words in forms.values():
        run_tool(secured, words)
    alike = [_parts(acl) for words in granting if words not in forms.values() for acl in acls_of(words)]
    with clients.admin(secured.admin) as admin:
        admin.create_acls([ACL(*who, ResourcePattern(*resource)) for who, resource in alike])


@contextmanager
def without(secured: Secured, *acls: Acl):
    """Take ACLs away for the time of the block."""
    parts = [_parts(acl) for acl in acls]
    with clients.admin(secured.admin) as admin:
        deleted = admin.delete_acls([ACLFilter(*who, ResourcePatternFilter(*resource)) for who, resource in parts])
        try:
            for acl, (_, found, _) in zip(acls, deleted, strict=True):
                assert len(found) == 1, f"{acl} was not granted"
            yield
        finally:
            admin.create_acls([ACL(*who, ResourcePattern(*resource)) for who, resource in parts])


def _parts(acl: Acl):
    """Return who may do what, and the resource."""
    operation = ACLOperation[re.sub(r"(?<!^)([A-Z])", r"_\1", acl.operation).upper()]
    resource = ResourceType[acl.kind.upper()], acl.name, ACLResourcePatternType[acl.pattern.upper()]
    return (f"User:{acl.user}", "*", operation, ACLPermissionType.ALLOW), resource
