"""Tokens for SASL/OAUTHBEARER from a token endpoint (OAuth client credentials), with Kafka's own properties."""

import time
from functools import partial
from importlib.util import find_spec
from typing import Any

from kafka.errors import KafkaConnectionError, SaslAuthenticationFailedError
from kafka.net.sasl.oauth import AbstractTokenProvider

from logdirwatch.errors import UserError
from logdirwatch.kafka.properties import MSK_IAM, ClientCredentials

TIMEOUT_S = 10
RENEWED_AFTER = 0.8
"""The part of a token's lifetime after which it is renewed, as in Kafka's own client."""
SHORT_LIFE_S = 60.0
"""The lifetime of a token whose endpoint does not return it."""


class Tokens(AbstractTokenProvider):  # type: ignore[misc]
    """A valid token, renewed before it expires."""

    def __init__(self, credentials: ClientCredentials) -> None:
        super().__init__()
        self._credentials = credentials
        self._token = ""
        self._renew_s = 0.0

    def token(self) -> str:
        """Return the token; raises a KafkaError without any part of the credentials if there is none."""
        if time.monotonic() >= self._renew_s:
            granted = self._granted()
            self._token = str(granted["access_token"])
            self._renew_s = time.monotonic() + RENEWED_AFTER * float(granted.get("expires_in") or SHORT_LIFE_S)
        return self._token

    def _granted(self) -> dict[str, Any]:
        # Most clusters need no tokens, and it takes a moment to import.
        import requests  # noqa: PLC0415

        from logdirwatch import bounded  # noqa: PLC0415

        asked = self._credentials
        scope = {"scope": asked.scope} if asked.scope else {}
        try:
            ask = partial(
                requests.post,
                asked.endpoint,
                data={"grant_type": "client_credentials", **scope},
                auth=(asked.client_id, asked.client_secret),
                timeout=TIMEOUT_S,
            )
            answer = bounded.within(TIMEOUT_S * 1000, ask, asked.endpoint)
        except (requests.RequestException, TimeoutError) as error:
            raise KafkaConnectionError(f"the token endpoint cannot be reached: {type(error).__name__}") from None
        if not 200 <= answer.status_code < 300:
            raise SaslAuthenticationFailedError(f"the token endpoint answers {answer.status_code}")
        try:
            granted: dict[str, Any] = answer.json()
            granted["access_token"]
        except (ValueError, KeyError, TypeError):
            raise SaslAuthenticationFailedError("the token endpoint answers without a token") from None
        return granted


def with_tokens(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return kafka-python's arguments with a token provider instead of the credentials.

    Raises UserError without botocore, which signs for Amazon's mechanism.
    """
    if arguments.get("sasl_mechanism") == MSK_IAM and find_spec("botocore") is None:
        raise UserError(f"Kafka client property sasl.mechanism: {MSK_IAM} needs botocore: pip install botocore")
    rest = {key: value for key, value in arguments.items() if key != "client_credentials"}
    credentials = arguments.get("client_credentials")
    return rest if credentials is None else {**rest, "sasl_oauth_token_provider": Tokens(credentials)}
