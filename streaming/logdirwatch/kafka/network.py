"""kafka-python's connections, extended to report why they failed: its clients only report that they did."""

import os
import re
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from kafka.errors import (
    AuthorizationError,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    RequestTimedOutError,
    SaslAuthenticationFailedError,
)
from kafka.net.compat import KafkaNetClient
from kafka.net.connection import KafkaConnection
from kafka.net.selector import NetworkSelector

from logdirwatch.errors import UserError
from logdirwatch.kafka.connecting import BoundedManager

# OpenSSL's errors, including alerts from a broker's JSSE -> what to check.
_HINTS = {
    "verify failed: certificate has expired": "the broker's certificate has expired",
    "verify failed: .* mismatch": "the broker's certificate is for another host name",
    "certificate verify failed": "does ssl.truststore.location have the CA of the broker's certificate?",
    "alert (certificate required|bad certificate)": "the broker requires a certificate: see ssl.keystore.location",
    "alert (certificate|unknown ca)": (
        "the broker refuses the certificate of ssl.keystore.location: it has expired, or its CA is not trusted"
    ),
    "EOF occurred in violation|Handshake failed: .*reset by peer|wrong version number|record layer failure": (
        "does that port use TLS? See security.protocol"
    ),
    "IllegalSaslState": "that port does not accept SASL: is it a PLAINTEXT or SSL listener? See security.protocol",
    "Invalid frame length": "does that port use TLS, or is it not Kafka? See security.protocol",
}

SETUP_MS = 1_000
"""How long a server may take to be connected at first, twice as long after each failure: others may answer."""
NO_AUTHORITY = "no certificates in PEM"
NO_KEY = "no key with its certificate in PEM that ssl.key.password opens"
_REFUSALS = (SaslAuthenticationFailedError, AuthorizationError)
_AS_PEM = ("ssl_ca_pem", "ssl_cert_pem", "ssl_key_pem")
_STORES = {"ssl_cafile", "ssl_certfile", *_AS_PEM}


class _Remembering(BoundedManager):
    """A connection manager that keeps the most informative failure; None if the last attempt succeeded.

    A broker that refuses a client sends an error and disconnects: each attempt may see either of the two, and the last
    attempt may be interrupted by the timeout.
    """

    failure: Exception | None = None
    worth = 0

    def __init__(self, net: NetworkSelector, on_hopeless: Callable[[Exception], None], **configs: Any) -> None:
        super().__init__(net, **configs)
        self._on_hopeless = on_hopeless
        self._refused: set[object] = set()

    def get_connection(self, node_id: Any, timeout_ms: float | None = None, **options: Any) -> KafkaConnection:
        """Do as kafka-python does, which gives the first bootstrap server all of the time."""
        limits = (timeout_ms, self.socket_connection_setup_timeout_ms(node_id))
        return super().get_connection(node_id, min(each for each in limits if each is not None), **options)

    async def _connect(self, node: Any, conn: KafkaConnection, **options: Any) -> None:
        await super()._connect(node, conn, **options)
        if not conn.init_future.failed():
            self.failure, self.worth = None, 0
            self._refused.clear()
            return
        error = conn.init_future.exception
        failure = told(conn, error)
        self._note(node.node_id, failure)
        worth = _rank(error, failure)
        if worth >= self.worth:
            self.failure, self.worth = failure, worth

    def _note(self, node_id: object, failure: Exception) -> None:
        """Report when no bootstrap server is worth another attempt."""
        if is_final(failure):
            self._refused.add(node_id)
        else:
            self._refused.discard(node_id)
        if {node.node_id for node in self.cluster.bootstrap_brokers()} <= self._refused:
            self._on_hopeless(failure)


def _wait_in_vain(_: Exception) -> None:
    """Wait for the time limit even if no server is worth another attempt."""


class Network(KafkaNetClient):  # type: ignore[misc]
    """The ``kafka_client`` of kafka-python's clients; calls ``on_hopeless`` when nothing listens at any server."""

    def __init__(self, on_hopeless: Callable[[Exception], None] = _wait_in_vain, **configs: Any) -> None:
        net = NetworkSelector(**configs)
        configs["socket_connection_setup_timeout_ms"] = SETUP_MS
        super().__init__(net, _Remembering(net, on_hopeless, **configs))

    def abandon(self) -> None:
        """End the attempts to connect without waiting for one that blocks the network thread.

        A name lookup and a TLS handshake do; kafka-python's ``close`` would wait for them.
        """
        with suppress(RuntimeError, KafkaError, OSError):  # it has ended
            self._net.call_soon_threadsafe(self._manager.close)

    @property
    def failure(self) -> Exception | None:
        """Why the attempts to connect failed; None if the last one did not."""
        failure: Exception | None = self._manager.failure
        return KafkaConnectionError(NO_ANSWER) if isinstance(failure, TIMEOUTS) else failure

    @property
    def worth(self) -> int:
        """The rank of the failure by information, from 0."""
        worth: int = self._manager.worth
        return worth


def _rank(error: Exception, failure: Exception) -> int:
    """Return 2 for an error that names its cause, 1 if only its explanation does, 0 if neither does."""
    if _hint(error) or isinstance(error, _REFUSALS):
        return 2
    return int(failure is not error)


def told(connection: KafkaConnection, error: Exception) -> Exception:
    """Return why a connection failed, with what to check."""
    hint = _hint(error)
    if hint is None and isinstance(error, KafkaConnectionError):
        hint = _silent_refusal(connection)
    text = str(error).removeprefix(f"{type(error).__name__}: ")
    return error if hint is None else KafkaConnectionError(f"{text}; {hint}")


def _hint(error: Exception) -> str | None:
    return next((hint for pattern, hint in _HINTS.items() if re.search(pattern, str(error))), None)


NO_ANSWER = "no answer: is the host down, the broker hanging, or a firewall or a name server in between?"
# Which of the two ends an attempt to connect depends on whose time limit comes first.
TIMEOUTS = (KafkaTimeoutError, RequestTimedOutError)
# Errors of kafka-python and the system about failed connections -> what they mean.
_PLAIN = {
    "ECONNREFUSED": "connection refused: the broker process is probably down",
    "DNS Resolution failure": "unknown host: DNS does not know the name",
    "cannot be looked up": "unknown host: {} (DNS)",
    "ENETUNREACH|EHOSTUNREACH": "no route to the host",
    "^no answer: ": "{}",
    "ETIMEDOUT|Connection timed out": NO_ANSWER,
}


_FINAL = "ECONNREFUSED|DNS Resolution failure"


def plain(error: BaseException) -> str | None:
    """Return the explanation of a failed connection; None if it is unknown."""
    text = " ".join(str(error).removeprefix(f"{type(error).__name__}: ").split())
    if not isinstance(error, KafkaConnectionError | OSError):
        return None
    return next((words.format(text) for pattern, words in _PLAIN.items() if re.search(pattern, text)), None)


def is_final(error: Exception) -> bool:
    """Return whether retrying at once is pointless: nothing listens on the address, or the name is unknown."""
    return isinstance(error, KafkaConnectionError) and bool(re.search(_FINAL, str(error)))


def _silent_refusal(connection: KafkaConnection) -> str | None:
    """Return what to check when a broker disconnected before its first answer, mostly without a reason.

    A refusal of credentials and the disconnect arrive together, and kafka-python reports the latter.
    """
    if connection.parser is None or not connection.init_future.failed():
        return None
    return (
        "it happened during authentication: are the credentials right?"
        if connection.sasl_enabled
        else "it happened before its first answer: does that port require TLS or a password? See security.protocol"
    )


def with_stores(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return kafka-python's arguments, with an SSL context if certificates or a key are given as PEM text.

    Certificates and key are read here, as kafka-python will read the files for every connection. Raises UserError with
    the property that cannot be read.
    """
    if not _STORES & arguments.keys():
        return dict(arguments)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = arguments.get("ssl_check_hostname", True)
    rest = {key: value for key, value in arguments.items() if key not in _AS_PEM}
    # Without a password OpenSSL would ask the terminal for it.
    password = arguments.get("ssl_password") or ""
    if path := arguments.get("ssl_cafile"):
        _read(f"ssl.truststore.location: {path}", NO_AUTHORITY, lambda: context.load_verify_locations(path))
    elif pem := arguments.get("ssl_ca_pem"):
        _read("ssl.truststore.certificates", NO_AUTHORITY, lambda: context.load_verify_locations(cadata=pem))
    else:
        context.load_default_certs()
    if store := arguments.get("ssl_certfile"):
        _read(f"ssl.keystore.location: {store}", NO_KEY, lambda: context.load_cert_chain(store, password=password))
    elif own := [arguments[key] for key in ("ssl_key_pem", "ssl_cert_pem") if key in arguments]:
        own_pem = "\n".join((*own, ""))
        where = "ssl.keystore.key, ssl.keystore.certificate.chain"
        _read(where, NO_KEY, lambda: _load_pem(context, own_pem, password))
    return {**rest, "ssl_context": context} if len(rest) < len(arguments) else rest


def _read(where: str, otherwise: str, load: Callable[[], None]) -> None:
    try:
        load()
    except (ssl.SSLError, ValueError):
        raise UserError(f"Kafka client property {where}: {otherwise}", exit_code=2) from None
    except OSError as error:
        raise UserError(f"Kafka client property {where}: {error.strerror}", exit_code=2) from None


def _load_pem(context: ssl.SSLContext, pem: str, password: str) -> None:
    """Load a certificate chain and its key, which OpenSSL reads only from a file, from a file in memory."""
    with open(os.memfd_create("key"), "wb") as file:  # noqa: PTH123 - it has no path
        file.write(pem.encode())
        file.flush()
        context.load_cert_chain(f"/proc/self/fd/{file.fileno()}", password=password)
