"""A fleet that is seen at once is not written at once."""

from logdirwatch.detect import state_view
from logdirwatch.detect.state.broker_state import BrokerMemory

T0_MS = 1_700_000_000_000
POLL_MS = 10_000
REFRESH_MS = 30_000


def test_unchanged_brokers_are_written_in_turn_and_none_is_late():
    brokers = [BrokerMemory(cluster="prod", broker=number) for number in range(600)]
    written = []
    for poll in range(13):
        for broker in brokers:
            broker.newest_ms = T0_MS + poll * POLL_MS
        due = [broker for broker in brokers if state_view.has_news(broker, REFRESH_MS)]
        assert all(broker.newest_ms - broker.emitted_ms <= REFRESH_MS for broker in due if poll)
        for broker in due:
            state_view.state_record(broker, [])
        written.append(len(due))
    assert written[0] == len(brokers), "of a broker that nobody was told of there is a record at once"
    assert sum(written[1:]) == 4 * len(brokers)
    assert max(written[1:]) <= 1.2 * len(brokers) / 3


def test_without_a_pause_every_batch_writes_a_broker():
    broker = BrokerMemory(cluster="prod", broker=1, newest_ms=T0_MS)
    state_view.state_record(broker, [])
    assert state_view.has_news(broker, 0)
    assert not state_view.has_news(broker, REFRESH_MS)
