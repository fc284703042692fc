"""The chart with a real helm: linted, rendered, and every manifest held against the schemas of Kubernetes."""

import json
import re

import kubernetes_validate
import pytest
import yaml
from typer.main import get_command

from logdirwatch.cli.main import app
from logdirwatch.settings import Settings
from tests.chart.conftest import CHART, ROOT, RefusedError

STRIMZI = ROOT / "conf" / "strimzi"
SMALL = {
    "telemetry": {"bootstrapServers": "telemetry-1:9092"},
    "clusters": {"prod": {"bootstrapServers": "kafka-1:9092"}},
    "console": {"passwordSecret": {"name": "console"}},
}
FULL = {
    **SMALL,
    "image": {"repository": "registry.example.com/logdirwatch", "tag": "1", "pullSecrets": ["registry"]},
    "telemetry": {
        "bootstrapServers": "telemetry-1:9092,telemetry-2:9092",
        "client": {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "disks"},
        "passwordSecret": {"name": "telemetry"},
        "replicationFactor": 1,
    },
    "clusters": {
        "prod": {"bootstrapServers": "kafka-1:9092", "passwordSecret": {"name": "prod", "key": "secret"}},
        "eu-west": {"bootstrapServers": "kafka-2:9092", "client": {"security.protocol": "PLAINTEXT"}},
    },
    "certificates": [{"secret": "prod-ca", "path": "/etc/kafka/prod"}],
    "config": {"detect": {"debounce_samples": 3}, "collect": {"consumer_groups": False}},
    "environmentSecret": "more",
    "podLabels": {"team": "kafka"},
    "podAnnotations": {"prometheus.io/scrape": "true"},
    "serviceAccountName": "disks",
    "nodeSelector": {"disk": "fast"},
    "tolerations": [{"key": "kafka", "operator": "Exists"}],
    "notify": {"enabled": True, "urlsSecret": {"name": "urls"}},
    "autopilot": {
        "enabled": True,
        "clusters": {"prod": {"kinds": {"move_log_dir": {}}}},
        "users": {"prod": {"username": "hand", "passwordSecret": {"name": "hand"}}},
        "telemetry": {"username": "hand", "passwordSecret": {"name": "hand-telemetry"}},
    },
    "console": {
        "passwordSecret": {"name": "console"},
        "login": {"usersSecret": {"name": "people", "key": "console-users"}, "behindTlsProxy": True},
    },
    "networkPolicy": {
        "from": [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}],
        "consoleFrom": [{"podSelector": {"matchLabels": {"app": "proxy"}}}],
    },
}
BUCKET = {**SMALL, "storage": {"url": "s3a://bucket/disks"}}
SHARED = {**SMALL, "storage": {"accessMode": "ReadWriteMany", "storageClass": "nfs"}}
LEAST = {
    **SMALL,
    "console": {"enabled": False},
    "optimize": {"enabled": False},
    "networkPolicy": {"enabled": False},
    "telemetry": {"bootstrapServers": "telemetry-1:9092", "createTopics": False},
    "storage": {"existingClaim": "disks"},
}
VALUES = {"small": SMALL, "full": FULL, "bucket": BUCKET, "shared": SHARED, "least": LEAST}
VALUES["strimzi"] = yaml.safe_load((STRIMZI / "values.yaml").read_text(encoding="utf-8"))

(VALUES["documented"],) = map(
    yaml.safe_load,
    re.findall(r"^``` { .yaml .values }\n(.*?)^```", (ROOT / "docs" / "kubernetes.md").read_text(), re.M | re.S),
)


def pods(manifests):
    """Return the templates of all pods by the name of their part."""
    specs = [manifest["spec"] for manifest in manifests]
    specs = [spec.get("jobTemplate", {"spec": spec})["spec"] for spec in specs]
    found = [spec["template"] for spec in specs if "template" in spec]
    return {pod["metadata"]["labels"]["app.kubernetes.io/component"]: pod for pod in found}


def rendered(helm, values):
    """Return the pods' specifications by part, and the settings that they are given."""
    manifests = helm.render(values)
    with_spec = [manifest for manifest in manifests if "spec" in manifest]
    (config,) = [manifest for manifest in manifests if manifest["kind"] == "ConfigMap"]
    settings = Settings(**yaml.safe_load(config["data"]["logdirwatch.yaml"]))
    return {part: pod["spec"] for part, pod in pods(with_spec).items()}, settings


def environment(pod):
    return {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in pod["containers"][0]["env"]}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_helm_accepts_the_chart_and_kubernetes_its_manifests(helm, values):
    assert "0 chart(s) failed" in helm.lint(values)
    manifests = helm.render(values)
    for manifest in manifests:
        kubernetes_validate.validate(manifest, kubernetes_validate.latest_version(), strict=True)
    names = [(manifest["kind"], manifest["metadata"]["name"]) for manifest in manifests]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_every_pod_runs_a_command_that_there_is_without_privileges(helm, values):
    parts, _ = rendered(helm, values)
    assert {"collect", "stream"} <= set(parts)
    for part, pod in parts.items():
        (container,) = pod["containers"]
        assert container["args"][0] in get_command(app).commands
        assert pod["securityContext"]["runAsNonRoot"], part
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
        }
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] == bool(values.get("serviceAccountName"))
        assert pod["enableServiceLinks"] is False
        assert {"name": "tmp", "emptyDir": {}} in pod["volumes"]
        assert {"requests", "limits"} == set(container["resources"])
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        assert mounted == {volume["name"] for volume in pod["volumes"]}, part


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_the_configuration_is_valid_and_says_what_the_values_say(helm, values):
    _, settings = rendered(helm, values)
    assert settings.telemetry.bootstrap_servers == values["telemetry"]["bootstrapServers"]
    assert {name: cluster.bootstrap_servers for name, cluster in settings.clusters.items()} == {
        name: cluster["bootstrapServers"] for name, cluster in values["clusters"].items()
    }


def test_probes_ask_the_ports_that_are_served(helm):
    parts, settings = rendered(helm, FULL)
    served = {part: getattr(settings, part).listen for part in ("collect", "stream", "notify", "autopilot")}
    for part, listen in served.items():
        (container,) = parts[part]["containers"]
        (port,) = container["ports"]
        assert listen == f"0.0.0.0:{port['containerPort']}"
        paths = {kind: container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("liveness", "readiness")}
        assert paths == {"liveness": "/health", "readiness": "/ready"}
    (console,) = parts["console"]["containers"]
    assert environment(parts["console"])["LOGDIRWATCH_CONSOLE__LISTEN"].endswith(
        f":{console['ports'][0]['containerPort']}"
    )


PASSWORD_OF = "LOGDIRWATCH_{}__CLIENT__sasl.password"
SECRETS = [
    "hush",
    'a"b',
    "a\\b",
    "'a'",
    "{a: b}",
    '"}',
    "$(PATH) $$ ${HOME}",
    "a b ",
    "ключ 鍵 é",
    "true",
    "1e3",
    "null",
    "a\nb",
    "#",
]


def started(helm, pod, values, secrets, monkeypatch):
    """Return the settings of a pod, whose variables from secrets have the given values."""
    for name, value in environment(pod).items():
        if name.startswith("LOGDIRWATCH_") and name != "LOGDIRWATCH_CONFIG":
            monkeypatch.setenv(name, secrets if isinstance(value, dict) else as_kubernetes_does(value))
    return rendered(helm, values)[1]


def as_kubernetes_does(value):
    """Return a variable's value with its references resolved: those to unknown variables stay, $$ is $."""
    return value.replace("$$", "$")


def test_passwords_are_referred_to_and_stand_in_no_manifest(helm):
    parts, settings = rendered(helm, FULL)
    found = environment(parts["collect"])
    assert found[PASSWORD_OF.format("CLUSTERS__PROD")] == {"secretKeyRef": {"name": "prod", "key": "secret"}}
    assert settings.clusters["prod"].client == {}
    assert not [value for value in found.values() if "sasl" in str(value)]


@pytest.mark.parametrize("secret", SECRETS)
def test_a_password_arrives_as_it_is_whatever_is_in_it(helm, monkeypatch, secret):
    parts, _ = rendered(helm, FULL)
    settings = started(helm, parts["collect"], FULL, secret, monkeypatch)
    assert settings.clusters["prod"].client == {"sasl.password": secret}
    assert settings.telemetry.client == {**FULL["telemetry"]["client"], "sasl.password": secret}
    assert settings.clusters["eu-west"].client == {"security.protocol": "PLAINTEXT"}


def test_a_line_end_after_a_password_is_no_part_of_it(helm, monkeypatch):
    parts, _ = rendered(helm, FULL)
    assert started(helm, parts["collect"], FULL, "hush\n", monkeypatch).telemetry.client["sasl.password"] == "hush"


def test_client_properties_of_a_secret_of_variables_are_added(helm, monkeypatch):
    monkeypatch.setenv("LOGDIRWATCH_CLUSTERS__PROD__CLIENT", '{"client.id": "disks"}')
    parts, _ = rendered(helm, FULL)
    settings = started(helm, parts["collect"], FULL, "hush", monkeypatch)
    assert settings.clusters["prod"].client == {"client.id": "disks", "sasl.password": "hush"}


@pytest.mark.parametrize("user", ["hand", 'a"b', "a\\b", "$(HOME)", "a$$b", "é"])
def test_the_name_of_a_user_arrives_as_it_is(helm, monkeypatch, user):
    autopilot = {**FULL["autopilot"], "users": {"prod": {"username": user, "passwordSecret": {"name": "hand"}}}}
    values = {**FULL, "autopilot": autopilot}
    parts, _ = rendered(helm, values)
    settings = started(helm, parts["autopilot"], values, "hush", monkeypatch)
    assert settings.clusters["prod"].client == {"sasl.username": user, "sasl.password": "hush"}


def test_the_autopilot_is_off_unless_it_is_asked_for(helm):
    parts, settings = rendered(helm, SMALL)
    assert "autopilot" not in parts
    assert settings.autopilot.clusters == {}


def test_the_autopilot_alone_has_users_that_may_change_a_cluster(helm):
    parts, settings = rendered(helm, FULL)
    own, other = environment(parts["autopilot"]), environment(parts["collect"])
    for name, secret in (("CLUSTERS__PROD", "hand"), ("TELEMETRY", "hand-telemetry")):
        assert own[PASSWORD_OF.format(name)] == {"secretKeyRef": {"name": secret, "key": "password"}}
        username = f"LOGDIRWATCH_{name}__CLIENT__sasl.username"
        assert (own[username], username in other) == ("hand", False)
    assert list(settings.autopilot.clusters) == ["prod"]
    assert "hand" not in json.dumps({part: pod for part, pod in parts.items() if part != "autopilot"})


def test_the_console_only_shows_unless_it_has_users(helm):
    parts, settings = rendered(helm, SMALL)
    assert settings.console.login is None
    assert "users" not in {volume["name"] for volume in parts["console"]["volumes"]}


def test_the_console_alone_has_the_file_of_users_where_its_configuration_says(helm):
    parts, settings = rendered(helm, FULL)
    (mount,) = [mount for mount in parts["console"]["containers"][0]["volumeMounts"] if mount["name"] == "users"]
    (volume,) = [volume for volume in parts["console"]["volumes"] if volume["name"] == "users"]
    assert settings.console.login.users_file == f"{mount['mountPath']}/console-users"
    assert settings.console.login.behind_tls_proxy
    assert mount["readOnly"]
    assert volume["secret"] == {"secretName": "people", "defaultMode": 0o440}
    assert "people" not in json.dumps({part: pod for part, pod in parts.items() if part != "console"})


def test_the_proxy_alone_reaches_the_console_and_others_the_metrics(helm):
    (policy,) = [manifest for manifest in helm.render(FULL) if manifest["kind"] == "NetworkPolicy"]
    reached = {rule["ports"][0]["port"]: rule["from"] for rule in policy["spec"]["ingress"]}
    assert reached == {8787: FULL["networkPolicy"]["consoleFrom"], 9464: FULL["networkPolicy"]["from"]}


def test_further_configuration_is_laid_over_that_of_the_values(helm):
    _, settings = rendered(helm, FULL)
    assert (settings.detect.debounce_samples, settings.collect.consumer_groups) == (3, False)
    assert settings.collect.listen == "0.0.0.0:9464"


def test_tables_are_where_console_and_stream_look_for_them(helm):
    for values, root, beside in (
        (SMALL, "/data", True),
        (SHARED, "/data", False),
        (BUCKET, "s3a://bucket/disks", False),
    ):
        parts, settings = rendered(helm, values)
        assert (settings.tables.path, settings.checkpoints.path) == (f"{root}/tables", f"{root}/checkpoints")
        assert ("affinity" in parts["console"]) == beside
        volumes = {volume["name"] for volume in parts["stream"]["volumes"]}
        assert ("data" in volumes) == root.startswith("/")


def test_only_one_of_those_that_may_not_run_twice_runs_also_while_they_are_replaced(helm):
    manifests = {manifest["metadata"]["name"]: manifest for manifest in helm.render(FULL)}
    for part in ("stream", "notify", "autopilot"):
        spec = manifests[f"disks-logdirwatch-{part}"]["spec"]
        assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({}, "bootstrapServers"),
        ({**SMALL, "clusters": {}}, "at least one monitored cluster"),
        ({**SMALL, "console": {}}, "console.passwordSecret.name"),
        ({**SMALL, "notify": {"enabled": True}}, "notify.urlsSecret.name"),
        ({**SMALL, "autopilot": {"enabled": True}}, "autopilot.clusters"),
        (
            {
                **SMALL,
                "autopilot": {
                    "enabled": True,
                    "clusters": {"prod": {}},
                    "users": {"prd": {"username": "hand", "passwordSecret": {"name": "hand"}}},
                },
            },
            "autopilot.users.prd",
        ),
        ({**FULL, "networkPolicy": {}}, "networkPolicy.consoleFrom"),
        ({**SMALL, "colect": {}}, "colect"),
        ({**SMALL, "clusters": {"prod": {"bootstrapServers": "kafka-1"}}}, "bootstrapServers"),
        (
            {**SMALL, "clusters": {"prod": {"bootstrapServers": "k:1", "client": {"sasl.password": "x"}}}},
            "sasl.password",
        ),
    ],
    ids=[
        "nothing",
        "no cluster",
        "no password",
        "no receivers",
        "nothing allowed",
        "no such cluster",
        "everybody is the proxy",
        "misspelt",
        "no port",
        "a password in the values",
    ],
)
def test_values_that_cannot_work_are_refused_with_their_name(helm, wrong, said):
    with pytest.raises(RefusedError, match=re.escape(said)):
        helm.render(wrong)


def test_the_chart_runs_the_newest_release():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    newest = re.search(r"^## \[(\d.*?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert chart["appVersion"] == newest[1]


def acls(part):
    """Return the ACLs of a part as docs/security.md grants them: resource, name, operation."""
    text = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    block = re.search(rf"^# {part}\n(.*?)(?:\n\n|```)", text, re.MULTILINE | re.DOTALL)[1]
    found = set()
    for command in block.splitlines():
        operations = re.findall(r"--operation (\w+)", command)
        resources = [("cluster", None)] if "--cluster" in command else []
        resources += re.findall(r"--(topic|group) '?([^\s']+)'?", command)
        found |= {(kind, name, operation) for kind, name in resources for operation in operations}
    return found


def test_strimzis_user_of_a_monitored_cluster_has_the_acls_of_the_documentation():
    user = yaml.safe_load((STRIMZI / "monitored.yaml").read_text(encoding="utf-8"))
    granted = {
        (acl["resource"]["type"], acl["resource"].get("name"), operation)
        for acl in user["spec"]["authorization"]["acls"]
        for operation in acl["operations"]
    }
    assert granted == acls("collect, on the monitored cluster")


def test_strimzis_user_of_the_telemetry_cluster_has_what_all_parts_need_there():
    user = yaml.safe_load((STRIMZI / "telemetry.yaml").read_text(encoding="utf-8"))
    (acl,) = user["spec"]["authorization"]["acls"]
    parts = ("collect, on the telemetry cluster.*", "stream", "notify", "people who decide.*", "topics create")
    asked = {need for part in parts for need in acls(part)}
    assert {name.startswith("logdir.") for _, name, _ in asked} == {True}
    assert (acl["resource"]["name"], acl["resource"]["patternType"]) == ("logdir.", "prefix")
    assert set(acl["operations"]) == {operation for *_, operation in asked}
