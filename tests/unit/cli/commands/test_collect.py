"""What ``logdirwatch collect`` refuses before it asks anybody, and a single round."""

from collections import Counter

import pytest

from logdirwatch.cli.commands import collect
from logdirwatch.cli.commands.collect import chosen
from logdirwatch.collect import loop
from logdirwatch.errors import UserError
from logdirwatch.settings import ClusterSettings, Settings

CLUSTERS = {"prod": ClusterSettings(), "test": ClusterSettings()}


def test_all_clusters_are_watched_unless_some_are_named():
    assert list(chosen(CLUSTERS, None)) == ["prod", "test"]
    assert list(chosen(CLUSTERS, ["test"])) == ["test"]


def test_a_cluster_that_is_not_configured_is_named_with_those_that_are():
    with pytest.raises(UserError, match=r"no cluster named staging; configured: prod, test") as refused:
        chosen(CLUSTERS, ["staging"])
    assert refused.value.exit_code == 2


def test_without_any_cluster_the_way_out_is_said():
    with pytest.raises(UserError, match="logdirwatch-lab up") as refused:
        chosen({}, None)
    assert refused.value.exit_code == 2


class Publisher:
    """Stands where a publisher is that sent one record and lost others as told."""

    def __init__(self, left=0, dropped=0, refused=0):
        self.left = left
        self.dropped = dropped
        self.refused = refused
        self.sent = Counter({"logdir.metrics": 1})

    def start(self):
        pass

    def put(self, sent):
        pass

    def stop(self, drain_s):
        return self.left


def collect_once(monkeypatch, publisher, incomplete=()):
    async def run_once(watched):
        return list(incomplete)

    monkeypatch.setattr(collect, "publisher_of", lambda settings: publisher)
    monkeypatch.setattr(collect, "_watches", lambda *arguments: [])
    monkeypatch.setattr(loop, "run_once", run_once)
    collect._collect_once(Settings(), {})


def test_all_sent_and_all_asked_is_no_error(monkeypatch, capsys):
    collect_once(monkeypatch, Publisher())
    assert capsys.readouterr().out == "logdir.metrics: 1 records\n"


@pytest.mark.parametrize("lost", ["left", "dropped", "refused"])
def test_a_record_that_did_not_arrive_is_an_error_however_it_was_lost(monkeypatch, lost):
    with pytest.raises(UserError, match="3 records could not be sent"):
        collect_once(monkeypatch, Publisher(**{lost: 3}))


def test_a_cluster_that_was_not_asked_completely_is_an_error(monkeypatch):
    with pytest.raises(UserError, match="prod did not answer completely"):
        collect_once(monkeypatch, Publisher(), ["prod"])
