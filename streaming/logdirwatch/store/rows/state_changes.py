"""What new state records and configurations change in ``log_dir_state`` and ``broker_state``, decided for each row."""

from collections.abc import Iterable

from logdirwatch.store.direct.arrow import Row
from logdirwatch.store.direct.merge import Changes, Decide, Key, Stored
from logdirwatch.store.rows import plain
from logdirwatch.store.rows.brokers import OF_CONFIGS
from logdirwatch.store.rows.thin import Placed


def broker_of(placed: Placed) -> Key:
    """Return the key of ``broker_state``."""
    return placed.thin.cluster, placed.thin.broker


def log_dir_changes(fresh: Iterable[Placed]) -> Decide:
    """Decide about directories: those in new state records are written, those no longer listed deleted."""
    states = {broker_of(state): state for state in fresh}
    rows = {(*broker, row["log_dir"]): row for broker, state in states.items() for row in plain.log_dirs(state)}

    def decide(stored: Stored) -> Changes:
        written = {key: row for key, row in rows.items() if key not in stored or _is_newer(row, stored[key])}
        gone = {
            key
            for key, row in stored.items()
            if key not in rows and (state := states.get(key[:-1])) and _is_newer({"sequence": state.thin.rank}, row)
        }
        return Changes(written, deleted=gone)

    return decide


def broker_changes(fresh: Iterable[Placed], configs: Iterable[Placed]) -> Decide:
    """Decide about brokers: state and configuration change independently; a configuration alone creates no row."""
    states = {broker_of(state): plain.broker(state) for state in fresh}
    newest = {broker_of(placed): _configs(placed) for placed in configs}

    def decide(stored: Stored) -> Changes:
        written, patched = {}, {}
        for broker in states.keys() | newest.keys():
            state, said, known = states.get(broker), newest.get(broker, {}), stored.get(broker, {})
            new = said if said and said["configs_at_ms"] > _at_ms(known) else {}
            if state is not None and (not known or _is_newer(state, known)):
                written[broker] = {**state, **{name: known.get(name) for name in OF_CONFIGS}, **new}
            elif known and new:
                patched[broker] = new
        return Changes(written, patched)

    return decide


def _configs(placed: Placed) -> Row:
    return {"configs": plain.configs(placed), "configs_at_ms": placed.thin.at_ms}


def _at_ms(known: Row) -> int:
    at_ms: int | None = known.get("configs_at_ms")
    return -1 if at_ms is None else at_ms


def _is_newer(row: Row, stored: Row) -> bool:
    return stored["sequence"] is not None and bool(row["sequence"] > stored["sequence"])
