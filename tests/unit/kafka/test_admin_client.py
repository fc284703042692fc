"""A controller that has died is not asked for ever."""

import asyncio

import pytest
from kafka import KafkaAdminClient
from kafka.errors import KafkaConnectionError, UnknownBrokerIdError

from logdirwatch.kafka.admin_client import AdminClient


@pytest.mark.parametrize("error", [UnknownBrokerIdError(0), KafkaConnectionError("closed"), OSError("reset")])
def test_after_an_error_the_controller_is_looked_for_again(monkeypatch, error):
    asked = []

    async def send(self, request):
        asked.append(self._controller_id)
        if self._controller_id == 0:
            raise error
        return request

    monkeypatch.setattr(KafkaAdminClient, "_send_request_to_controller", send)
    client = AdminClient.__new__(AdminClient)
    client._controller_id = 0
    with pytest.raises(type(error)):
        asyncio.run(client._send_request_to_controller("request"))
    assert asyncio.run(client._send_request_to_controller("request")) == "request"
    assert asked == [0, None]
