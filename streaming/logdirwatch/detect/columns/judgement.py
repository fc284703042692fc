"""Judges samples of many brokers at once: it may say only that nothing but numbers changes, and changes these.

Whatever is not certain is left to the state machine. Each condition names the step of the long way that it makes
unnecessary; what is changed is changed as there. Shapes: (brokers,) and (brokers, directories).
"""

import numpy as np

from logdirwatch.config.section import HOUR_MS
from logdirwatch.detect import predicates
from logdirwatch.detect.alerts import urgency
from logdirwatch.detect.columns.answers import Polls, Reach
from logdirwatch.detect.columns.rows import EXACT, NONE, SAMPLE_NUMBERS, TIMER_GRID_MS, Rows, Truth, Whole
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state import shared_volumes
from logdirwatch.detect.state.turns import are_turns
from logdirwatch.model.times import GAP_POLLS, LEAST_STEP_MS


def advance(
    of_broker: Rows, of_log_dir: Rows, polls: Polls, limits: Reach, now_ms: int, settings: DetectSettings
) -> Truth:
    """Take the answers of brokers; return which of them are at rest, and so have their new numbers in the rows.

    The rows of the others are to be thrown away.
    """
    polls = _in_evidence_time(of_broker, polls)
    at_rest: Truth = _is_next(of_broker, polls, now_ms, settings) & _is_scan_quiet(
        of_broker, of_log_dir, polls, settings
    )
    # ``broker_gauges.judge_answer`` forgets the last flush if there are no gauges.
    at_rest &= (polls.has_gauges != 0) | (of_broker["has_flush"] == 0)
    at_rest &= _are_quiet(of_log_dir, polls, limits, settings).all(axis=1)
    at_rest &= ~_is_uneven(polls, settings) & ~_may_share(of_broker, polls)
    _follow_use(of_broker, of_log_dir, polls)
    _keep_numbers(of_log_dir, polls)
    _keep_times(of_broker, polls, now_ms)
    return at_rest


def _in_evidence_time(of_broker: Rows, polls: Polls) -> Polls:
    """Shift the times of answers, as ``clocks.in_evidence_time`` does."""
    shift_ms = of_broker["shift_ms"]
    counted_ms = np.where(polls.moves_at_ms == NONE, NONE, np.maximum(polls.moves_at_ms + shift_ms, 0))
    return polls._replace(at_ms=polls.at_ms + shift_ms, moves_at_ms=counted_ms)


def _is_next(of_broker: Rows, polls: Polls, now_ms: int, settings: DetectSettings) -> Truth:
    """Tell whether an answer is newer than the last one, soon after it, and in the same hour.

    For ``machine._is_replay``, ``predicates.is_gap``, and ``forecast.note``, which closes hours.
    """
    last_ms, at_ms = of_broker["sample_ms"], polls.at_ms
    is_new = (polls.partition == of_broker["partition"]) & (polls.offset > of_broker["offset"])
    truth: Truth = is_new & _is_followed(of_broker, polls, now_ms, settings)
    truth &= at_ms // HOUR_MS == last_ms // HOUR_MS
    # ``Shard.keep``: after the stream's clock was set back, a timer of before is too late.
    silence_ms = np.maximum(predicates.SILENCE_POLLS * of_broker["interval_ms"], settings.silence_min_ms)
    truth &= of_broker["timer_ms"] <= now_ms + silence_ms + TIMER_GRID_MS
    return truth


def _is_followed(of_broker: Rows, polls: Polls, now_ms: int, settings: DetectSettings) -> Truth:
    """Tell whether the time of an answer goes on from the last one: ``WriterClock.evidence_ms`` then only shifts it."""
    last_ms, at_ms, shift_ms = of_broker["sample_ms"], polls.at_ms, of_broker["shift_ms"]
    step_ms, interval_ms, written_ms = at_ms - last_ms, of_broker["interval_ms"], at_ms - shift_ms
    earliest_ms = np.where(polls.kafka_ms < 0, now_ms, np.minimum(polls.kafka_ms, now_ms))
    is_set_right = (written_ms > last_ms) & (written_ms <= earliest_ms + settings.clock_skew_ms)
    truth: Truth = (step_ms >= LEAST_STEP_MS) & (step_ms <= GAP_POLLS * interval_ms)
    truth &= (shift_ms == 0) | ~is_set_right
    truth &= at_ms <= np.maximum(polls.kafka_ms, now_ms) + settings.clock_skew_ms
    return truth


def _is_scan_quiet(of_broker: Rows, of_log_dir: Rows, polls: Polls, settings: DetectSettings) -> Truth:
    """Tell whether the inventory scan is an old one, or counts nothing that ``upkeep.judge`` would note."""
    few = polls.out_of_sync_count < settings.lagging_replicas_min
    keeps_up = (polls.out_of_sync_count == NONE) | ((of_log_dir["keeps_up"] != 0) & few)
    is_old, counts_nothing = _counted_ms(polls) <= of_broker["moves_at_ms"], polls.has_throttles == 0
    truth: Truth = is_old | (counts_nothing & keeps_up.all(axis=1))
    return truth


def _counted_ms(polls: Polls) -> Whole:
    """Return when each answer's moves were counted; one without a scan counts by itself."""
    counted_ms: Whole = np.where(polls.moves_at_ms == NONE, polls.at_ms, np.minimum(polls.moves_at_ms, polls.at_ms))
    return counted_ms


def _are_quiet(of_log_dir: Rows, polls: Polls, limits: Reach, settings: DetectSettings) -> Truth:
    """Tell for each directory whether ``take_good_sample`` of ``rules.log_dir_space`` would judge nothing.

    Its size is that of before, its level by space and forecast is online, no forecast is due, moves add nothing, and
    its own replicas account for its bytes.
    """
    at_ms, turn = polls.at_ms[:, None], of_log_dir["turn"]
    total_bytes, usable_bytes = polls.total_bytes, polls.usable_bytes
    is_same = (total_bytes > 0) & (total_bytes == of_log_dir["total_bytes"]) & (usable_bytes >= 0)
    is_same &= polls.incoming_bytes <= 0
    is_same &= (polls.future_bytes == NONE) | (polls.future_bytes == of_log_dir["peaks.future_bytes"])
    used_ratio = 1.0 - usable_bytes / np.maximum(total_bytes, 1)
    full_in_ms = np.maximum(of_log_dir["full_at_ms"] - at_ms, 0)
    is_online = used_ratio < limits.filling_ratio
    is_online &= (of_log_dir["full_at_ms"] == NONE) | (full_in_ms >= limits.within_ms)
    is_foreseen = ~are_turns(of_log_dir["forecast_at_ms"], at_ms, HOUR_MS, turn)
    unaccounted_bytes = total_bytes - usable_bytes - polls.replica_bytes
    is_accounted = (polls.replica_bytes >= 0) & (unaccounted_bytes < settings.unaccounted_ratio * total_bytes)
    # ``log_dir_changed.note_content``: its replicas have not lost half of their bytes.
    is_accounted &= (2 * polls.replica_bytes > of_log_dir["replica_bytes"]) | (of_log_dir["replica_bytes"] == 0)
    own_bytes = total_bytes - usable_bytes - of_log_dir["peaks.brought_bytes"]
    truth: Truth = is_same & is_online & is_foreseen & is_accounted & (np.abs(own_bytes) < EXACT)
    return truth


def _is_uneven(polls: Polls, settings: DetectSettings) -> Truth:
    """Tell whether ``log_dir_imbalance`` has something to judge."""
    free = polls.usable_bytes / np.maximum(polls.total_bytes, 1)
    is_out = polls.is_cordoned > 0
    least, most = np.where(is_out, 1.0, free).min(axis=1), np.where(is_out, 0.0, free).max(axis=1)
    lowest, highest = 1.0 - np.maximum(most, 0.0), 1.0 - np.minimum(least, 1.0)
    truth: Truth = (highest - lowest >= settings.imbalance_ratio) & (highest >= settings.imbalance_from_ratio)
    return truth


def _may_share(of_broker: Rows, polls: Polls) -> Truth:
    """Tell whether two directories look like one volume, which ``shared_volumes.watch`` would note."""
    order = np.lexsort((polls.usable_bytes, polls.total_bytes), axis=-1)
    total_bytes = np.take_along_axis(polls.total_bytes, order, axis=1)
    usable_bytes = np.take_along_axis(polls.usable_bytes, order, axis=1)
    apart_bytes = np.minimum(shared_volumes.APART_BYTES, shared_volumes.APART_RATIO * total_bytes[:, 1:])
    are_alike = (np.diff(total_bytes, axis=1) == 0) & (np.diff(usable_bytes, axis=1) <= apart_bytes)
    truth: Truth = are_alike.any(axis=1) & (of_broker["are_volumes_told"] == 0)
    return truth


def _follow_use(of_broker: Rows, of_log_dir: Rows, polls: Polls) -> None:
    """Follow each directory's own use, as ``forecast.note`` and ``urgency.note`` do within an hour."""
    at_ms, last_ms = polls.at_ms, of_broker["sample_ms"]
    last_bytes = of_log_dir["peaks.last_bytes"].copy()
    own_bytes = polls.total_bytes - polls.usable_bytes - of_log_dir["peaks.brought_bytes"]
    in_ms = np.maximum(at_ms - last_ms, 1)
    now = (own_bytes - last_bytes) / in_ms[:, None] * 1000
    spans = zip(in_ms.tolist(), of_broker["interval_ms"].tolist(), strict=True)
    # numpy's power may differ from Python's in the last bit.
    weights = np.array([predicates.growth_weight(*span) for span in spans])
    of_log_dir["growth_bytes_per_s"] += weights[:, None] * (now - of_log_dir["growth_bytes_per_s"])
    of_log_dir["peaks.last_bytes"] = own_bytes
    np.maximum(of_log_dir["peaks.peak_bytes"], own_bytes, out=of_log_dir["peaks.peak_bytes"])
    _follow_rise(of_log_dir, at_ms[:, None], own_bytes, last_bytes)


def _follow_rise(of_log_dir: Rows, at_ms: Whole, own_bytes: Whole, last_bytes: Whole) -> None:
    rise = {name: of_log_dir[f"rise.{name}"] for name in ("from_ms", "from_bytes", "next_ms", "next_bytes")}
    steps, risen_ms = of_log_dir["rise.steps"], of_log_dir["rise.risen_ms"]
    begins = own_bytes < (rise["from_bytes"] + last_bytes) / 2
    has_risen = ~begins & (own_bytes > last_bytes)
    steps[has_risen] = np.minimum(steps[has_risen] + 1, urgency.STEPS)
    steps[begins] = 0
    np.copyto(risen_ms, at_ms, where=has_risen)
    risen_ms[begins] = 0
    goes_on = begins | (at_ms - rise["next_ms"] >= urgency.SPAN_MS)
    for kind, present in (("ms", at_ms), ("bytes", own_bytes)):
        np.copyto(rise[f"from_{kind}"], np.where(begins, present, rise[f"next_{kind}"]), where=goes_on)
        np.copyto(rise[f"next_{kind}"], present, where=goes_on)


def _keep_numbers(of_log_dir: Rows, polls: Polls) -> None:
    """Keep the numbers of the samples, as ``log_dir_space.remember_numbers`` does."""
    has_grown = polls.replica_bytes > of_log_dir["replica_bytes"]
    np.copyto(of_log_dir["proof_ms"], polls.at_ms[:, None], where=has_grown)
    for name in SAMPLE_NUMBERS:
        of_log_dir[name] = getattr(polls, name)


def _keep_times(of_broker: Rows, polls: Polls, now_ms: int) -> None:
    of_broker["sample_ms"], of_broker["offset"] = polls.at_ms, polls.offset
    np.maximum(of_broker["newest_kafka_ms"], polls.kafka_ms, out=of_broker["newest_kafka_ms"])
    of_broker["heard_ms"] = now_ms
    np.maximum(of_broker["moves_at_ms"], _counted_ms(polls), out=of_broker["moves_at_ms"])


def are_due(of_broker: Rows, settings: DetectSettings) -> Truth:
    """Tell of which brokers the state is due to be written, as ``state_view.has_news`` tells it of one at rest."""
    if not settings.state_refresh_ms:
        return np.ones(len(of_broker), np.bool_)
    written_ms, sample_ms = of_broker["emitted_ms"], of_broker["sample_ms"]
    return are_turns(written_ms, sample_ms, settings.state_refresh_ms, of_broker["seed"])
