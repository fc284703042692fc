"""What all responses share: security headers, and compression."""

import gzip

from flask import Response, request

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
