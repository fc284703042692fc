"""One broker that asks who you are: an authorizer, and a listener for each way of saying it."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from kafka.admin import ScramMechanism, UserScramCredentialUpsertion

from logdirwatch.errors import UserError
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch_lab import config, jvm, ports, processes
from tests.kafka.certificates import Authority
from tests.kafka.tokens import Issuer
from tests.support.waiting import DEADLINE_S, wait_until

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
BEARER = "org.apache.kafka.common.security.oauthbearer"
PASSWORD = 'se"cret\\x'
KEY_PASSWORD = "key-secret"
BEGIN_CERTIFICATE = "-----BEGIN CERTIFICATE"
USERS = ("admin", "watcher", "collector", "stream", "reader", "decider", "notifier", "maker", "applier", "autopilot")
HEAP_MIB = 256
ATTEMPTS = 3
# Name of a listener -> its protocol.
LISTENERS = {
    "OPEN": "PLAINTEXT",
    "SASL": "SASL_PLAINTEXT",
    "TLS": "SSL",
    "SASL_TLS": "SASL_SSL",
    "MUTUAL": "SSL",
    "EXPIRED": "SSL",
    "OAUTH": "SASL_SSL",
    "CONTROLLER": "SASL_PLAINTEXT",
}


@dataclass(frozen=True)
class Secured:
    """Where the broker listens, and with what it lets one in; ``admin`` may do everything, nobody else anything."""

    open: str
    sasl: str
    tls: str
    sasl_tls: str
    mutual: str
    expired: str
    oauth: str
    authority: Authority
    issuer: Issuer
    folder: Path

    def client(self, user: str, password: str = PASSWORD) -> dict[str, str]:
        """Return the client properties of a user of the SASL listener."""
        return {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": _login(PLAIN, username=user, password=password),
        }

    def sasl_tls_client(self, user: str, password: str = PASSWORD) -> dict[str, str]:
        """Return the client properties of a user of the listener that wants SCRAM over TLS."""
        return {
            **self.tls_client,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": _login(SCRAM, username=user, password=password),
        }

    def oauth_client(self, endpoint: str, client_id: str, secret: str = PASSWORD) -> dict[str, str]:
        """Return the client properties of the listener that wants a token of the issuer."""
        return {
            **self.tls_client,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.token.endpoint.url": endpoint,
            "sasl.login.callback.handler.class": f"{BEARER}.secured.OAuthBearerLoginCallbackHandler",
            "sasl.jaas.config": _login(
                f"{BEARER}.OAuthBearerLoginModule", clientId=client_id, clientSecret=secret, scope="kafka"
            ),
        }

    @property
    def tls_client(self) -> dict[str, str]:
        """Return the client properties of the TLS listener."""
        return {"security.protocol": "SSL", "ssl.truststore.location": str(self.authority.certificate)}

    def mutual_client(self, user: str, password: str = KEY_PASSWORD, *, is_expired: bool = False) -> dict[str, str]:
        """Return the client properties of the listener that wants a certificate; the password is its key's."""
        store = self.authority.issue(user, password=password, is_expired=is_expired)
        return {**self.tls_client, "ssl.keystore.location": str(store), "ssl.key.password": password}

    def mutual_java_client(self, user: str) -> dict[str, str]:
        """Return the same with a key that Java can read, too: not encrypted (PBES2 it knows not, as of version 17)."""
        return {**self.tls_client, "ssl.keystore.location": str(self.authority.issue(user))}

    def mutual_client_as_pem(self, user: str) -> dict[str, str]:
        """Return the same with everything in the properties themselves, as an environment without files has it."""
        key, begin, chain = self.authority.issue(user).read_text().partition(BEGIN_CERTIFICATE)
        return {
            "security.protocol": "SSL",
            "ssl.truststore.certificates": self.authority.certificate.read_text(),
            "ssl.keystore.key": key,
            "ssl.keystore.certificate.chain": begin + chain,
        }

    @property
    def admin(self) -> KafkaSettings:
        """How to reach the broker as the one who may do everything."""
        return KafkaSettings(bootstrap_servers=self.sasl, client=self.client("admin"))


@contextmanager
def secured_broker(folder: Path, jars_home: Path) -> Iterator[Secured]:
    """Start the broker, wait until it serves, and kill it at the end."""
    with ExitStack() as clean_up:
        for attempt in range(ATTEMPTS):
            # Another test may take a port between its choice and the broker's start.
            if secured := _started(folder / f"attempt-{attempt}", jars_home, clean_up):
                add_scram_users(secured.admin, dict.fromkeys(USERS, PASSWORD))
                yield secured
                return
    raise AssertionError(f"in {ATTEMPTS} attempts a port of the secured broker was taken by another program")


def _started(folder: Path, jars_home: Path, clean_up: ExitStack) -> Secured | None:
    """Return the broker that serves, None where a port of it was taken."""
    folder.mkdir()
    log_file, properties = folder / "server.log", folder / "server.properties"
    numbers = dict(zip(LISTENERS, ports.free_ports(len(LISTENERS)), strict=True))
    authority, issuer = Authority(folder, "authority"), Issuer(folder, {"admin": PASSWORD})
    properties.write_text(_properties(folder, numbers, authority, issuer))
    kafka, _ = jvm.plain_jvm(jars_home)
    # Since 4.0 Kafka reads no key that is not allowed (CVE-2025-27817).
    allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={issuer.keys.as_uri()}"
    kafka = replace(kafka, java_options=(*kafka.java_options, allowed))
    jvm.run_tool(jvm.format_command(kafka, config.new_cluster_id(), properties))
    places = {name.lower(): f"127.0.0.1:{port}" for name, port in numbers.items() if name != "CONTROLLER"}
    secured = Secured(**places, authority=authority, issuer=issuer, folder=folder)
    process = processes.spawn([*kafka.command(HEAP_MIB, broker=True), jvm.BROKER, str(properties)], log_file)
    clean_up.callback(lambda: processes.kill([process]))
    wait_until(
        lambda: processes.find(process) is None or _serves(secured.admin),
        DEADLINE_S,
        f"the secured broker; see {log_file}",
    )
    if processes.find(process):
        return secured
    assert processes.lost_its_port(log_file), f"the secured broker ended; see {log_file}"
    return None


def _serves(settings: KafkaSettings) -> bool:
    try:
        with clients.admin(settings, 2_000) as admin:
            return bool(admin.describe_cluster()["brokers"])
    except UserError:
        return False


def add_scram_users(settings: KafkaSettings, passwords: dict[str, str]) -> None:
    """Let users in by SCRAM, or change their passwords."""
    made = [UserScramCredentialUpsertion(user, ScramMechanism.SCRAM_SHA_512, one) for user, one in passwords.items()]
    with clients.admin(settings) as admin:
        admin.alter_user_scram_credentials(made)
        wait_until(
            lambda: passwords.keys() <= admin.describe_user_scram_credentials().keys(), DEADLINE_S, "SCRAM users"
        )


def _login(module: str, **options: str) -> str:
    escaped = {key: value.replace("\\", "\\\\").replace('"', '\\"') for key, value in options.items()}
    return f"{module} required " + " ".join(f'{key}="{value}"' for key, value in escaped.items()) + ";"


def _properties(folder: Path, numbers: dict[str, int], authority: Authority, issuer: Issuer) -> str:
    known = {f"user_{user}": PASSWORD for user in USERS}
    users = _login(PLAIN, username="admin", password=PASSWORD, **known)
    places = {name: f"{name}://127.0.0.1:{port}" for name, port in numbers.items()}
    lines = {
        "node.id": 0,
        "process.roles": "broker,controller",
        "controller.quorum.voters": f"0@127.0.0.1:{numbers['CONTROLLER']}",
        "listeners": ",".join(places.values()),
        "advertised.listeners": ",".join(place for name, place in places.items() if name != "CONTROLLER"),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in LISTENERS.items()),
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "SASL",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl.plain.sasl.jaas.config": users,
        "listener.name.controller.plain.sasl.jaas.config": users,
        "listener.name.sasl_tls.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.sasl_tls.scram-sha-512.sasl.jaas.config": f"{SCRAM} required;",
        "listener.name.oauth.sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.oauth.oauthbearer.sasl.jaas.config": f"{BEARER}.OAuthBearerLoginModule required;",
        "listener.name.oauth.oauthbearer.sasl.server.callback.handler.class": (
            f"{BEARER}.OAuthBearerValidatorCallbackHandler"
        ),
        "listener.name.oauth.oauthbearer.sasl.oauthbearer.jwks.endpoint.url": issuer.keys.as_uri(),
        "listener.name.oauth.oauthbearer.sasl.oauthbearer.expected.audience": issuer.AUDIENCE,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": authority.issue("broker"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": authority.certificate,
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.expired.ssl.keystore.location": authority.issue("broker", is_expired=True),
        "ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$1/",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:admin",
        "log.dirs": f"{folder / 'logs'},{folder / 'more-logs'}",
        "offsets.topic.replication.factor": 1,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "transaction.state.log.num.partitions": 3,
    }
    return "".join(f"{key}={str(value).replace(chr(92), chr(92) * 2)}\n" for key, value in lines.items())
