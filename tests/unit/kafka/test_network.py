"""Certificates and keys are read before anything connects, and what is wrong with them names its property."""

import socketserver
import ssl
import threading
import time
from contextlib import contextmanager, nullcontext, suppress

import pytest
from kafka.errors import KafkaConnectionError, KafkaError, KafkaTimeoutError, RequestTimedOutError

from logdirwatch.errors import UserError
from logdirwatch.kafka import clients, network
from logdirwatch.kafka.clients import admin, one_line
from logdirwatch.kafka.deadline import Deadline, answers_by
from logdirwatch.kafka.network import told, with_stores
from logdirwatch.kafka.settings import KafkaSettings
from tests.kafka.certificates import Authority

KEY_PASSWORD = "hunter2"
NOT_VERIFIED = "Handshake failed: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed"


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"), "authority")


@pytest.fixture(scope="module")
def store(authority):
    return authority.issue("me", password=KEY_PASSWORD)


def test_files_stay_files_so_that_renewed_ones_are_read(authority, store):
    arguments = {
        "bootstrap_servers": ["a:1"],
        "ssl_cafile": str(authority.certificate),
        "ssl_certfile": str(store),
        "ssl_password": KEY_PASSWORD,
    }
    assert with_stores(arguments) == arguments


def test_pem_itself_becomes_a_context(authority, store):
    key, _, chain = store.read_text().partition("-----BEGIN CERTIFICATE")
    arguments = with_stores(
        {
            "bootstrap_servers": ["a:1"],
            "ssl_check_hostname": False,
            "ssl_ca_pem": authority.certificate.read_text(),
            "ssl_key_pem": key,
            "ssl_cert_pem": f"-----BEGIN CERTIFICATE{chain}",
            "ssl_password": KEY_PASSWORD,
        }
    )
    context = arguments.pop("ssl_context")
    assert arguments.keys() == {"bootstrap_servers", "ssl_check_hostname", "ssl_password"}
    assert isinstance(context, ssl.SSLContext)
    assert (context.check_hostname, context.verify_mode) == (False, ssl.CERT_REQUIRED)
    assert len(context.get_ca_certs()) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"ssl_cafile": "/nowhere/ca.pem"}, "ssl.truststore.location: /nowhere/ca.pem: No such file or directory"),
        ({"ssl_cafile": __file__}, "ssl.truststore.location: .*: no certificates in PEM"),
        ({"ssl_ca_pem": "nonsense"}, "ssl.truststore.certificates: no certificates in PEM"),
        ({"ssl_certfile": "STORE", "ssl_password": "wr0ng"}, "ssl.keystore.location: .* that ssl.key.password opens"),
        ({"ssl_certfile": "STORE"}, "ssl.keystore.location: .* that ssl.key.password opens"),
        ({"ssl_key_pem": "nonsense"}, "ssl.keystore.key, ssl.keystore.certificate.chain: no key"),
    ],
)
def test_what_cannot_be_read_is_named_and_never_shown(store, arguments, said):
    named = {key: str(store) if value == "STORE" else value for key, value in arguments.items()}
    with pytest.raises(UserError, match=said) as raised:
        with_stores(named)
    assert raised.value.exit_code == 2
    assert not any(secret in str(raised.value) for secret in ("wr0ng", KEY_PASSWORD, "nonsense"))


class Connection:
    """Stands where a connection is that ended before it was ready."""

    class init_future:  # noqa: N801 - kafka-python's name
        @staticmethod
        def failed():
            return True

    parser = object()

    def __init__(self, sasl_enabled):
        self.sasl_enabled = sasl_enabled


@pytest.mark.parametrize(
    ("text", "sasl", "hint"),
    [
        # As kafka-python 3.0.12 told them of a broker 4.3.1.
        (
            f"{NOT_VERIFIED}: unable to get local issuer certificate (_ssl.c:1006)",
            False,
            "does ssl.truststore.location have the CA of the broker's certificate?",
        ),
        (f"{NOT_VERIFIED}: certificate has expired (_ssl.c:1006)", False, "the broker's certificate has expired"),
        (
            "[SSL: SSLV3_ALERT_CERTIFICATE_UNKNOWN] sslv3 alert certificate unknown (_ssl.c:2580)",
            False,
            "the broker refuses the certificate of ssl.keystore.location: it has expired, or its CA is not trusted",
        ),
        (
            "[SSL: SSLV3_ALERT_BAD_CERTIFICATE] sslv3 alert bad certificate (_ssl.c:2580)",
            False,
            "the broker requires a certificate: see ssl.keystore.location",
        ),
        (
            "Handshake failed: [SSL: UNEXPECTED_EOF_WHILE_READING] EOF occurred in violation of protocol (_ssl.c:1006)",
            False,
            "does that port use TLS? See security.protocol",
        ),
        ("Invalid frame length: 352518912", False, "does that port use TLS, or is it not Kafka? See security.protocol"),
        ("socket disconnected", True, "it happened during authentication: are the credentials right?"),
        (
            "socket disconnected",
            False,
            "it happened before its first answer: does that port require TLS or a password? See security.protocol",
        ),
    ],
)
def test_a_refusal_says_what_to_look_at(text, sasl, hint):
    error = told(Connection(sasl), KafkaConnectionError(text))
    assert one_line(error) == f"KafkaConnectionError: {text}; {hint}"


@contextmanager
def listening(context=None, only_once=False):
    """A port that takes connections, or only one, with TLS if there is a context; hangs up after the first bytes."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            with suppress(OSError):
                connection = self.request if context is None else context.wrap_socket(self.request, server_side=True)
                connection.recv(1)
                connection.close()
            if only_once:
                self.server.shutdown()
                self.server.socket.close()

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def serving(store):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(store)
    return context


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("another authority", "certificate verify failed.*; does ssl.truststore.location have the CA"),
        ("out of date", "the broker's certificate has expired"),
        ("no TLS", "does that port use TLS"),
        ("hangs up", "before its first answer"),
        ("hangs up, then gone", "before its first answer"),
        ("another authority, then gone", "certificate verify failed.*; does ssl.truststore.location have the CA"),
    ],
)
def test_a_client_that_cannot_connect_says_why(authority, tmp_path, case, said):
    context = {
        "another authority": lambda: serving(Authority(tmp_path, "other").issue("broker")),
        "out of date": lambda: serving(authority.issue("broker", is_expired=True)),
        "no TLS": lambda: None,
        "hangs up": lambda: serving(authority.issue("broker")),
        "hangs up, then gone": lambda: serving(authority.issue("broker")),
        "another authority, then gone": lambda: serving(Authority(tmp_path, "other").issue("broker")),
    }[case]()
    client = {"security.protocol": "SSL", "ssl.truststore.location": str(authority.certificate)}
    with listening(context, only_once="then gone" in case) as servers:
        settings = KafkaSettings(bootstrap_servers=servers, client=client)
        with pytest.raises(UserError, match=f"Kafka at {servers} cannot be reached: .*{said}"), admin(settings, 1_500):
            pass


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("111 ECONNREFUSED", "connection refused: the broker process is probably down"),
        ("DNS Resolution failure", "unknown host: DNS does not know the name"),
        (
            "x cannot be looked up: [Errno -2] Name or service not known",
            "unknown host: x cannot be looked up: [Errno -2] Name or service not known (DNS)",
        ),
        ("113 EHOSTUNREACH", "no route to the host"),
        ("101 ENETUNREACH", "no route to the host"),
        ("Connection timed out", network.NO_ANSWER),
        ("something else", "KafkaConnectionError: something else"),
    ],
)
def test_why_a_connection_did_not_come_about_is_said_in_plain_words(text, said):
    assert one_line(KafkaConnectionError(text)) == said


@pytest.fixture
def tries(monkeypatch):
    """How long each try to make a client was given; each fails as one that found nothing within its time."""
    made = []

    class Failing:
        def __init__(self, failure, worth=0):
            self.failure, self.worth = failure, worth

        def close(self):
            pass

    def script(*failures):
        left = list(failures)
        monkeypatch.setattr(clients, "Network", lambda **_: Failing(*left.pop(0)))

        def make(kafka_client, bootstrap_timeout_ms=None, **_):
            made.append(bootstrap_timeout_ms)
            kafka_client()
            raise KafkaTimeoutError("no brokers")

        monkeypatch.setattr(clients, "KafkaConsumer", make)
        return made

    return script


def opened():
    with pytest.raises(UserError) as raised, clients.consumer(KafkaSettings(bootstrap_servers="a:1")):
        pass
    return str(raised.value)


@pytest.mark.parametrize("text", ["111 ECONNREFUSED", "DNS Resolution failure"])
def test_where_nothing_listens_it_is_not_tried_for_long(tries, text):
    made = tries((KafkaConnectionError(text),))
    assert "Kafka at a:1 cannot be reached: " in opened()
    assert made == [1_500]


def times_out(monkeypatch, client, connected, limit):
    """Let a client of kafka-python fail with ``limit`` after its last attempt to connect failed with ``connected``."""

    def make(kafka_client, **_):
        kafka_client()._manager.failure = connected
        raise limit

    monkeypatch.setattr(clients, client, make)


@pytest.mark.parametrize("limit", [KafkaTimeoutError("no brokers"), RequestTimedOutError("after 297 ms")])
@pytest.mark.parametrize("connected", [None, RequestTimedOutError("after 297 ms"), KafkaTimeoutError("ApiVersions")])
@pytest.mark.parametrize("deadline_ms", [None, 60_000])
def test_whichever_time_limit_comes_first_the_message_is_the_same(monkeypatch, limit, connected, deadline_ms):
    times_out(monkeypatch, "KafkaConsumer", connected, limit)
    with nullcontext() if deadline_ms is None else answers_by(Deadline(time.monotonic(), deadline_ms)):
        assert opened() == f"Kafka at a:1 cannot be reached: {network.NO_ANSWER}"


@pytest.mark.parametrize("connected", [None, RequestTimedOutError("after 297 ms")])
def test_a_producer_without_an_answer_fails_with_an_error_of_kafka(monkeypatch, connected):
    times_out(monkeypatch, "KafkaProducer", connected, KafkaTimeoutError("no brokers"))
    with pytest.raises(KafkaError, match=network.NO_ANSWER.replace("?", ".")):
        clients.producer(KafkaSettings(bootstrap_servers="a:1"))


def test_what_only_is_slow_gets_the_rest_of_the_time(tries):
    slow = KafkaConnectionError("Connection timed out")
    made = tries((None,), (slow,))
    assert network.NO_ANSWER in opened()
    assert made == [1_500, 2_500]


def test_the_failure_that_says_most_is_told_whichever_try_saw_it(tries):
    made = tries((KafkaConnectionError("hung up; is there TLS?"), 2), (KafkaConnectionError("111 ECONNREFUSED"), 0))
    assert "is there TLS?" in opened()
    assert len(made) == 2
