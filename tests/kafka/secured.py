"""One broker that asks who you are: an authorizer, and listeners for nobody, for a name and password, and for TLS."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from logdirwatch import kafka_clients
from logdirwatch.errors import UserError
from logdirwatch.local import config, jvm, ports, processes
from logdirwatch.settings import KafkaSettings
from tests.support.waiting import wait_until

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
PASSWORD = 'se"cret\\x'
STORE_PASSWORD = "changeit"
HEAP_MIB = 256
DEADLINE_S = 60


@dataclass(frozen=True)
class Secured:
    """Where the broker listens, and with what it lets one in; ``admin`` may do everything, nobody else anything."""

    open: str
    sasl: str
    tls: str
    certificate: Path

    def client(self, user: str, password: str = PASSWORD) -> dict[str, str]:
        """Return the client properties of a user of the SASL listener."""
        return {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": _login(username=user, password=password),
        }

    @property
    def tls_client(self) -> dict[str, str]:
        """Return the client properties of the TLS listener."""
        return {"security.protocol": "SSL", "ssl.truststore.location": str(self.certificate)}


@contextmanager
def secured_broker(folder: Path, jars_home: Path) -> Iterator[Secured]:
    """Start the broker, wait until it serves, and kill it at the end."""
    kafka, _ = jvm.plain_jvm(jars_home)
    numbers = ports.free_ports(4)
    certificate = _make_certificate(folder, Path(kafka.java).parent / "keytool")
    properties = folder / "server.properties"
    properties.write_text(_properties(folder, numbers))
    jvm.run_tool(jvm.format_command(kafka, config.new_cluster_id(), properties))
    command = [*kafka.command(HEAP_MIB, broker=True), jvm.BROKER, str(properties)]
    secured = Secured(*(f"127.0.0.1:{number}" for number in numbers[:3]), certificate)
    with ExitStack() as clean_up:
        process = processes.spawn(command, folder / "server.log")
        clean_up.callback(lambda: processes.kill([process]))
        settings = KafkaSettings(bootstrap_servers=secured.sasl, client=secured.client("admin"))
        wait_until(lambda: _serves(settings), DEADLINE_S, f"the secured broker; see {folder / 'server.log'}")
        yield secured


def _serves(settings: KafkaSettings) -> bool:
    try:
        with kafka_clients.admin(settings, 2_000) as admin:
            return bool(admin.describe_cluster()["brokers"])
    except UserError:
        return False


def _login(**options: str) -> str:
    escaped = {key: value.replace("\\", "\\\\").replace('"', '\\"') for key, value in options.items()}
    return f"{PLAIN} required " + " ".join(f'{key}="{value}"' for key, value in escaped.items()) + ";"


def _make_certificate(folder: Path, keytool: Path) -> Path:
    store = ["-keystore", str(folder / "broker.p12"), "-storepass", STORE_PASSWORD, "-alias", "broker"]
    make = ["-genkeypair", "-keyalg", "RSA", "-dname", "CN=broker", "-ext", "SAN=ip:127.0.0.1", "-validity", "2"]
    certificate = folder / "broker.pem"
    subprocess.run([keytool, *make, *store], check=True, capture_output=True)
    subprocess.run([keytool, "-exportcert", "-rfc", "-file", certificate, *store], check=True, capture_output=True)
    return certificate


def _properties(folder: Path, numbers: list[int]) -> str:
    free, sasl, tls, controller = numbers
    users = _login(username="admin", password=PASSWORD, user_admin=PASSWORD, user_watcher=PASSWORD)
    names = {"OPEN": free, "SASL": sasl, "TLS": tls, "CONTROLLER": controller}
    protocols = "OPEN:PLAINTEXT,SASL:SASL_PLAINTEXT,TLS:SSL,CONTROLLER:SASL_PLAINTEXT"
    lines = {
        "node.id": 0,
        "process.roles": "broker,controller",
        "controller.quorum.voters": f"0@127.0.0.1:{controller}",
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in names.items()),
        "advertised.listeners": ",".join(f"{n}://127.0.0.1:{p}" for n, p in names.items() if n != "CONTROLLER"),
        "listener.security.protocol.map": protocols,
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "SASL",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl.plain.sasl.jaas.config": users,
        "listener.name.controller.plain.sasl.jaas.config": users,
        "ssl.keystore.location": folder / "broker.p12",
        "ssl.keystore.password": STORE_PASSWORD,
        "ssl.key.password": STORE_PASSWORD,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:admin",
        "log.dirs": folder / "logs",
        "offsets.topic.replication.factor": 1,
    }
    return "".join(f"{key}={str(value).replace(chr(92), chr(92) * 2)}\n" for key, value in lines.items())
