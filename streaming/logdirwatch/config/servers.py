"""Addresses: of the servers of a Kafka cluster, of HTTP, and at which a command listens itself."""

import ipaddress
import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator

# A label longer than 63 characters, or an empty one, is no host name (RFC 1123).
_SERVER = re.compile(
    r"(?:\[(?P<v6>[0-9a-fA-F:.]+)(?:%[\w.-]+)?\]|(?P<name>[\w-]{1,63}(?:\.[\w-]{1,63})*\.?)):(?P<port>\d{1,5})",
    re.ASCII,
)
# Kafka's ``Utils`` ignores it.
_PROTOCOL = re.compile(r"^[A-Z_]+://")
LONGEST_HOST_CHARACTERS = 253


def server_list(bootstrap_servers: str) -> list[str]:
    """Return each ``host:port`` of ``bootstrap.servers``; as Kafka's clients do, without those that are empty.

    Raises ValueError for one that is no address, by its position and without any part of it.
    """
    found = [part.strip() for part in bootstrap_servers.split(",")]
    for position, server in enumerate(found, 1):
        if server and not is_address(_PROTOCOL.sub("", server)):
            where = f"address {position}: " if len(found) > 1 else ""
            raise ValueError(f"{where}expected host:port, such as kafka-1:9092; [::1]:9092 for IPv6")
    if not any(found):
        raise ValueError("expected host:port, comma-separated")
    return [server for server in found if server]


def is_address(server: str, lowest_port: int = 1) -> bool:
    """Tell whether a text is ``host:port`` or ``[host]:port``, without asking whether there is such a host."""
    match = _SERVER.fullmatch(server)
    if match is None or not lowest_port <= int(match["port"]) < 65_536:
        return False
    if match["v6"] is None:
        return len(match["name"]) <= LONGEST_HOST_CHARACTERS
    try:
        ipaddress.IPv6Address(match["v6"])
    except ValueError:
        return False
    return True


def is_web_url(text: str) -> bool:
    """Tell whether a text is a URL of HTTP with a host, and no blank or control character in it."""
    try:
        parts = urlsplit(text)
        has_host = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return has_host and text.isprintable() and not any(map(str.isspace, text))


def _checked(bootstrap_servers: str) -> str:
    server_list(bootstrap_servers)
    return bootstrap_servers


Servers = Annotated[str, AfterValidator(_checked)]


def address(listen: str) -> tuple[str, int]:
    """Return host and port of ``host:port`` or ``[host]:port``."""
    host, _, port = listen.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), int(port)


def authority(host: str, port: int) -> str:
    """Return host and port as one text, as a URL has them.

    >>> authority("::1", 9464)
    '[::1]:9464'
    """
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _listen(text: str) -> str:
    if not is_address(text, lowest_port=0):
        msg = "expected host:port, such as 127.0.0.1:9464; [::1]:9464 for IPv6"
        raise ValueError(msg)
    return text


Listen = Annotated[str, AfterValidator(_listen)]
