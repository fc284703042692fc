"""Mutants that no test can catch, since they change nothing that anybody sees: the lines before and after, and why."""

EQUIVALENT: dict[tuple[str, str], str] = {
    (
        "seen = self._with_all_alerts(snapshot, policy_of)",
        "seen = self._with_all_alerts(None, policy_of)",
    ): "it fails, no alert is found to be the reason, and the same is done again with the snapshot",
    (
        "copy_rates.write_rate(replica, self._snapshot), replica.size_bytes or 0, self._rate",
        "copy_rates.write_rate(replica, self._snapshot), replica.size_bytes or 1, self._rate",
    ): "one byte of a replica whose size is not known",
    (
        "in_half = int(copied * 1000 / max(1.0, left_ms * SHARE_OF_TIME_LEFT)) + 1",
        "in_half = int(copied * 1000 / max(1.0, left_ms * SHARE_OF_TIME_LEFT)) - 1",
    ): "two bytes a second of a rate that is shown in MiB a second",
    (
        'return _role(action) in _IN_TURN and not action.vetoes and (action.expected.get("frees_bytes") or 0) > 0',
        'return _role(action) in _IN_TURN and not action.vetoes and (action.expected.get("frees_bytes") or 0) > 1',
    ): "an action that frees one byte",
    (
        "rows, size = [], 0",
        "rows, size = [], 1",
    ): "a batch for Spark is cut one byte earlier",
    (
        "waiting, items = [], 0",
        "waiting, items = [], 1",
    ): "digests are computed of one item fewer at once",
}
