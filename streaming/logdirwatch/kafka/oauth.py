"""What kafka-python needs to log in as Java's client does: tokens (OAuth client credentials), and a profile of AWS."""

import re
import time
from functools import partial
from importlib.util import find_spec
from typing import Any
from urllib.parse import quote_plus

from kafka.errors import KafkaConnectionError, SaslAuthenticationFailedError
from kafka.net.sasl import register_sasl_mechanism
from kafka.net.sasl.msk import SaslMechanismAwsMskIam
from kafka.net.sasl.oauth import AbstractTokenProvider

from logdirwatch.errors import UserError
from logdirwatch.kafka.logins import GSSAPI, MSK_IAM, ClientCredentials

TIMEOUT_S = 10
RENEWED_AFTER = 0.8
"""The part of a token's lifetime after which it is renewed, as in Kafka's own client."""
SHORT_LIFE_S = 60.0
"""The lifetime of a token whose endpoint does not return it."""
LONG_LIFE_S = 900.0
"""A token is not used for longer: it may have expired while this host was suspended, or been revoked."""
_TOKEN = re.compile(r"[A-Za-z0-9\-._~+/]+=*")
"""A bearer token (RFC 6750); in SASL (RFC 7628) another character would end it."""


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
            self._token = granted["access_token"]
            self._renew_s = time.monotonic() + RENEWED_AFTER * _life_s(granted.get("expires_in"))
        return self._token

    def extensions(self) -> dict[str, str]:
        """Return the SASL extensions that go to the broker with each token (RFC 7628)."""
        return dict(self._credentials.extensions)

    def _granted(self) -> dict[str, Any]:
        # Most clusters need no tokens, and it takes a moment to import.
        import requests  # noqa: PLC0415

        from logdirwatch import bounded  # noqa: PLC0415

        asked = self._credentials
        quoted = quote_plus if asked.is_urlencoded else str
        scope = {"scope": asked.scope} if asked.scope else {}
        try:
            ask = partial(
                requests.post,
                asked.endpoint,
                data={"grant_type": "client_credentials", **scope},
                auth=(quoted(asked.client_id), quoted(asked.client_secret)),
                timeout=TIMEOUT_S,
            )
            answer = bounded.within(TIMEOUT_S * 1000, ask, asked.endpoint)
        except (requests.RequestException, TimeoutError) as error:
            raise KafkaConnectionError(f"the token endpoint cannot be reached: {type(error).__name__}") from None
        if not 200 <= answer.status_code < 300:
            raise SaslAuthenticationFailedError(f"the token endpoint answers {answer.status_code}")
        try:
            granted: dict[str, Any] = answer.json()
            is_granted = _TOKEN.fullmatch(granted["access_token"]) is not None
        except (ValueError, KeyError, TypeError):
            is_granted = False
        if not is_granted:
            raise SaslAuthenticationFailedError("the token endpoint answers without a token")
        return granted


def _life_s(given: object) -> float:
    """Return for how long a token is used: a short time where the endpoint says nothing that can be true."""
    try:
        life_s = float(given)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return SHORT_LIFE_S
    return min(life_s, LONG_LIFE_S) if life_s > 0 else SHORT_LIFE_S


class _OfProfile(SaslMechanismAwsMskIam):  # type: ignore[misc]
    """Amazon's mechanism with a profile, as ``sasl_plain_username``: kafka-python has no argument for it."""

    _boto_session_cls: Any

    def __init__(self, **config: Any) -> None:
        super().__init__(**config)
        self._boto_session_cls = partial(self._boto_session_cls, profile=config.get("sasl_plain_username"))

    def _build_client(self) -> Any:
        """Return kafka-python's client; raises a KafkaError, not botocore's errors, if there are no credentials."""
        from botocore.exceptions import (  # type: ignore[import-untyped]  # noqa: PLC0415 - only for this mechanism
            BotoCoreError,
        )

        try:
            return super()._build_client()
        except AttributeError:  # of the credentials, which are None
            raise SaslAuthenticationFailedError(
                "AWS has no credentials here: set AWS_PROFILE, or give a role"
            ) from None
        except BotoCoreError as error:
            raise SaslAuthenticationFailedError(f"AWS: {error}") from None


register_sasl_mechanism(MSK_IAM, _OfProfile, overwrite=True)
_PACKAGES = {MSK_IAM: "botocore", GSSAPI: "gssapi"}
"""What kafka-python needs for a mechanism, besides itself."""


def with_tokens(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return kafka-python's arguments with a token provider and a profile in place of ours.

    Raises UserError without the package that a mechanism needs.
    """
    mechanism = arguments.get("sasl_mechanism", "") if "SASL" in arguments.get("security_protocol", "") else ""
    if (package := _PACKAGES.get(mechanism)) is not None and find_spec(package) is None:
        raise UserError(
            f"Kafka client property sasl.mechanism: {mechanism} needs {package}: pip install {package}", exit_code=2
        )
    rest = {key: value for key, value in arguments.items() if key not in ("client_credentials", "aws_profile")}
    if "client_credentials" in arguments:
        rest["sasl_oauth_token_provider"] = Tokens(arguments["client_credentials"])
    if "aws_profile" in arguments:
        rest["sasl_plain_username"] = arguments["aws_profile"]
    return rest
