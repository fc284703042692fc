"""The address at which a command listens for Prometheus."""

from typing import Annotated

from pydantic import AfterValidator

from logdirwatch.config.servers import is_address


def address(listen: str) -> tuple[str, int]:
    """Return host and port of ``host:port`` or ``[host]:port``."""
    host, _, port = listen.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _listen(text: str) -> str:
    if not is_address(text, lowest_port=0):
        msg = "expected host:port, such as 127.0.0.1:9464; [::1]:9464 for IPv6"
        raise ValueError(msg)
    return text


Listen = Annotated[str, AfterValidator(_listen)]
