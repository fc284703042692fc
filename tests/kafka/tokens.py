"""An authorization server of OAuth: tokens for those who know their secret, and the key that verifies them."""

import json
import threading
import time
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

LIFE_S = 60
KEY_ID = "1"


class Issuer:
    """Grants tokens by client credentials (RFC 6749); ``keys`` is the file with its public key, as brokers read it."""

    AUDIENCE = "kafka"

    def __init__(self, folder: Path, secrets: Mapping[str, str]) -> None:
        self._secrets = secrets
        self._key = rsa.generate_private_key(65_537, 2_048)
        public = self._key.public_key().public_numbers()
        modulus, exponent = (_encoded(number.to_bytes(256, "big").lstrip(b"\0")) for number in (public.n, public.e))
        key = {"kty": "RSA", "kid": KEY_ID, "alg": "RS256", "use": "sig", "n": modulus, "e": exponent}
        self.keys = folder / "keys.json"
        self.keys.write_text(json.dumps({"keys": [key]}))
        self.granted: list[str] = []
        """To whom, in order."""

    def answer(self, authorization: str, body: str) -> tuple[int, dict[str, object]]:
        """Return status and answer of a request for a token."""
        client, _, secret = b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
        if self._secrets.get(client) != secret:
            return 401, {"error": "invalid_client"}
        self.granted.append(client)
        now_s = int(time.time())
        (scope,) = parse_qs(body)["scope"]
        claims = {"sub": client, "aud": self.AUDIENCE, "iat": now_s, "exp": now_s + LIFE_S, "scope": scope}
        return 200, {"access_token": self._signed(claims), "expires_in": LIFE_S, "token_type": "Bearer"}

    def _signed(self, claims: Mapping[str, object]) -> str:
        """Return claims as a signed JSON Web Token (RFC 7519)."""
        parts = [_encoded(json.dumps(part).encode()) for part in ({"alg": "RS256", "kid": KEY_ID}, claims)]
        signature = self._key.sign(".".join(parts).encode(), padding.PKCS1v15(), SHA256())
        return ".".join([*parts, _encoded(signature)])

    @contextmanager
    def endpoint(self) -> Iterator[str]:
        """Serve tokens; yields the address."""
        issuer = self

        class Endpoint(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                status, answer = issuer.answer(self.headers["Authorization"], body)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as server:
            thread = threading.Thread(target=server.serve_forever, daemon=True)
            thread.start()
            yield f"http://127.0.0.1:{server.server_port}/token"
            server.shutdown()
            thread.join()


def _encoded(part: bytes) -> str:
    return urlsafe_b64encode(part).rstrip(b"=").decode()
