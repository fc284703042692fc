"""Polls that follow inventory scans."""

from logdirwatch.model.records import ReplicaMoves
from tests.unit.detect.builders import Driver

MINUTE_MS = 60_000
FOLLOWER = "follower.replication.throttled.rate"
WITHIN = "replica.alter.log.dirs.io.max.bytes.per.second"


class Scans(Driver):
    """Polls that each follow an inventory scan, a minute apart."""

    def scan(self, *dirs, **moves):
        self.at_ms += MINUTE_MS - 5_000
        given = {"at_ms": self.at_ms, "reassignments": 0, "copies": 0, "throttles": {}, "throttled_replicas": 0} | moves
        return self.poll(*dirs, moves=ReplicaMoves(**given))

    def scans(self, count, *dirs, **moves):
        for _ in range(count):
            self.scan(*dirs, **moves)
        return self
