"""What all responses share: access control, security headers, and compression."""

import gzip
import hmac

from flask import Response, abort, request

from logdirwatch.config.listen import address
from logdirwatch.console.settings import ConsoleSettings

HEADERS = {
    # The style sheet has its arrows and magnifying glass as data: URLs, which fetch nothing.
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
}
LEAST_BYTES = 1_000
"""Below this, compression saves no packet."""
LEVEL = 5


def guarded(settings: ConsoleSettings) -> Response | None:
    """Refuse requests for another host name (DNS rebinding) or without the password."""
    if settings.is_local and not _is_of_this_machine(request.host, settings):
        abort(403, "this console answers only at its configured address")
    if settings.password is None:
        return None
    given = request.authorization
    user, password = (given.username or "", given.password or "") if given is not None else ("", "")
    is_user = hmac.compare_digest(user.encode(), settings.user.encode())
    is_known = hmac.compare_digest(password.encode(), settings.password.get_secret_value().encode())
    if is_user and is_known:
        return None
    return Response(
        "authentication required\n", 401, {"WWW-Authenticate": 'Basic realm="logdirwatch", charset="UTF-8"'}
    )


def finished(response: Response) -> Response:
    """Add the headers, and compress a page if the browser supports it."""
    response.headers.update(HEADERS)
    # A browser may cache style and script if it revalidates them each time; pages must not be cached.
    response.headers["Cache-Control"] = "no-cache" if request.endpoint == "static" else "no-store"
    is_static = response.direct_passthrough
    if is_static or not request.accept_encodings["gzip"] or len(response.get_data()) < LEAST_BYTES:
        return response
    response.set_data(gzip.compress(response.get_data(), LEVEL, mtime=0))
    response.headers["Content-Encoding"] = "gzip"
    response.vary.add("Accept-Encoding")
    return response


def _is_of_this_machine(host: str, settings: ConsoleSettings) -> bool:
    name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
    return name.strip("[]") in {"localhost", "127.0.0.1", "::1", address(settings.listen)[0]}
