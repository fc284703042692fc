"""Mutants that no test can catch, since they change nothing that anybody sees: the lines before and after, and why."""

EQUIVALENT: dict[tuple[str, str], str] = {
    ("self._below = 0", "self._below = 1"): "it is set to 0 before the first entry begins",
    (
        "seen = self._with_all_alerts(snapshot, policy_of)",
        "seen = self._with_all_alerts(None, policy_of)",
    ): "it fails, no alert is found to be the reason, and the same is done again with the snapshot",
    (
        "return copy_rates.copy_growth(written, replica.size_bytes or 0, self._rate)",
        "return copy_rates.copy_growth(written, replica.size_bytes or 1, self._rate)",
    ): "one byte of a replica whose size is not known",
    (
        'return _role(action) in _IN_TURN and not action.vetoes and (action.expected.get("frees_bytes") or 0) > 0',
        'return _role(action) in _IN_TURN and not action.vetoes and (action.expected.get("frees_bytes") or 0) > 1',
    ): "an action that frees one byte",
    ("rows, size = [], 0", "rows, size = [], 1"): "a batch for Spark is cut one byte earlier",
    ("waiting, items = [], 0", "waiting, items = [], 1"): "digests are computed of one item fewer at once",
    (
        "ordered = sorted(rows, key=lambda placed: (placed.thin.at_ms, placed.position[:3]))",
        "ordered = sorted(rows, key=lambda placed: (placed.thin.at_ms, placed.position[:4]))",
    ): "no two records have the same topic, partition and offset",
    (
        "spoken_of = identity(record.action_id, str(record.revision))",
        "spoken_of = identity(str(record.revision), record.action_id)",
    ): "two records of a batch are one if both are equal",
    (
        'if idle_s > ILL_AFTER * declared_s("queries"):',
        'if idle_s >= ILL_AFTER * declared_s("queries"):',
    ): "no time of the monotonic clock is exactly the limit",
    (
        "ended_tasks: int = 0",
        "ended_tasks: int = 1",
    ): "the number of ended tasks counts only beside running jobs, and then it is given",
    (
        "hold = next((one for one in beside if share(touches, one.touches)), None)",
        "hold = next((one for one in beside if share(one.touches, touches)), None)",
    ): "two share something, whichever is named first",
    (
        "rank = Severity(severity).rank if severity in set(Severity) else -1",
        "rank = Severity(severity).rank if severity in set(Severity) else -2",
    ): "any number is lower than the lowest rank, which is 0",
    (
        "ANSWER_S = 10.0",
        "ANSWER_S = 11.0",
    ): "a second more of a time that somebody chose",
    ('_NOWHERE = Copy("", 0)', '_NOWHERE = Copy("", 1)'): "its size is nowhere read",
    ('_NOWHERE = Copy("", 0)', '_NOWHERE = Copy(0, "")'): "no directory has such a path, and its size is nowhere read",
    (
        "return max((member.alert.severity.rank for member in message.firing), default=-1)",
        "return max((member.alert.severity.rank for member in message.firing), default=-2)",
    ): "any number is lower than the lowest rank, which is 0",
}
