"""A controller that has died is not asked for ever."""

import asyncio

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ConfigResourceType
from kafka.errors import KafkaConnectionError, UnknownBrokerIdError

from logdirwatch.kafka.client_library import AdminClient


@pytest.mark.parametrize(("source", "name"), [(-1, "UNKNOWN"), (77, "UNKNOWN"), (0, "UNKNOWN"), (5, "DEFAULT_CONFIG")])
def test_a_source_of_a_value_that_kafka_does_not_have_is_unknown(source, name):
    config = {"name": "retention.ms", "value": "1", "read_only": False, "config_source": source}
    assert AdminClient._process_config(config, ConfigResourceType.TOPIC) == "retention.ms"
    assert config["config_source"] == name


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
