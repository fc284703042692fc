-- The rows of bench_dashboards.py: one SELECT a table, headed by its name; a column that it does not name is null.
-- brokers and log_dirs are views of the fleet; h is a number of each directory's own, from 0 to 1023.

-- table broker_state
SELECT
  cluster, broker, 1 AS sequence, 'online' AS status, $at_ms AS at_ms, $at_ms AS last_seen_ms, $at_ms AS since_ms,
  $log_dirs AS log_dir_count, 0 AS offline_log_dirs
FROM brokers;

-- table log_dir_state
SELECT
  cluster, broker, log_dir, $at_ms AS at_ms, $at_ms AS since_ms, $at_ms AS sample_at_ms, $at_ms AS last_seen_ms,
  CASE WHEN h = 0 THEN 'offline' WHEN h > 1000 THEN 'filling' ELSE 'online' END AS status,
  $total_bytes AS total_bytes, $total_bytes - used_bytes AS usable_bytes, used_bytes / $total_bytes AS used_ratio,
  $partitions AS replica_count, used_bytes AS replica_bytes, 1e6 AS growth_bytes_per_s,
  CASE WHEN h > 900 THEN $now_ms + h * 300000L END AS full_at_ms, 0.9 AS forecast_confidence
FROM log_dirs;

-- table log_dir_inventory
SELECT cluster, broker, log_dir, $at_ms AS inventory_at_ms FROM log_dirs
UNION ALL
SELECT cluster, NULL, NULL, $at_ms FROM brokers WHERE broker = 0;

-- table replica_state
SELECT
  cluster, broker, log_dir, CONCAT('topic-', (broker * 7 + p) % 500) AS topic, p + d * $partitions AS partition,
  FALSE AS is_future, CAST(h + p AS BIGINT) * 10000000 AS size_bytes, 'online' AS status, p % 3 = 0 AS is_leader,
  TRUE AS in_isr, TRUE AS is_listed, $at_ms AS inventory_at_ms
FROM log_dirs
CROSS JOIN (SELECT id AS p FROM RANGE($partitions));

-- table topic_state
SELECT
  cluster, CONCAT('topic-', t) AS topic, p AS partition, 1 AS leader, ARRAY(1, 2, 3) AS replicas, ARRAY(1, 2) AS isr,
  t = 7 AND p = 1 AS is_leaderless, t = 7 AS is_under_min_isr, t = 8 AS is_at_min_isr, FALSE AS is_sole_replica,
  2 AS min_insync_replicas, FALSE AS is_internal, MAP('retention.ms', '86400000') AS configs
FROM (SELECT cluster FROM brokers WHERE broker = 0)
CROSS JOIN (SELECT id AS t FROM RANGE(500))
CROSS JOIN (SELECT id AS p FROM RANGE(100));

-- table transitions
SELECT
  UUID() AS transition_id, cluster, broker, log_dir, 'online' AS from_status, 'filling' AS to_status, 'used' AS reason,
  $from_ms + h * 590000L AS at_ms
FROM log_dirs
WHERE h % 4 = 0;

-- table alerts
SELECT
  CONCAT(cluster, broker, d) AS alert_id, revision, 'log_dir_space' AS rule, 'warning' AS severity, cluster, broker,
  log_dir, CASE WHEN revision = 3 AND h > 5 THEN 'resolved' ELSE 'firing' END AS status, 'stateful' AS lane,
  $from_ms + h * 590000L AS opened_at_ms, $from_ms + h * 590000L + revision AS at_ms, 'It is filling.' AS summary
FROM log_dirs
CROSS JOIN (SELECT id + 1 AS revision FROM RANGE(3))
WHERE h % 4 = 0;

-- table actions
SELECT
  CONCAT(cluster, broker, d) AS action_id, revision, CONCAT(cluster, broker, d) AS alert_id, 'move_log_dir' AS kind,
  CASE WHEN revision = 3 AND h > 5 THEN 'done' ELSE 'proposed' END AS status, '{"severity":"warning"}' AS alert, cluster,
  CONCAT('{"broker":', broker, ',"log_dir":"', log_dir, '"}') AS target, 'It is filling.' AS reason,
  '{"frees_bytes":5,"needs_ms":7}' AS expected, '{"frees_bytes":5}' AS observed, '[]' AS vetoes, 0 AS position,
  $now_ms + 1 AS expires_at_ms, $from_ms + h * 590000L + revision AS at_ms
FROM log_dirs
CROSS JOIN (SELECT id + 1 AS revision FROM RANGE(3))
WHERE h % 4 = 0;

-- table executions
SELECT
  CONCAT('e', cluster, broker, d) AS execution_id, CONCAT(cluster, broker, d) AS action_id, 1 AS revision,
  'move_log_dir' AS kind, cluster, FALSE AS back, n AS step, 5 AS planned_bytes, 'autopilot' AS `by`,
  CASE WHEN n = 2 THEN CASE WHEN h > 5 THEN 'done' ELSE 'stuck' END ELSE 'copying' END AS state,
  $from_ms + h * 590000L AS started_at_ms, $from_ms + h * 590000L + n AS at_ms, broker * 100 + d * 3 + n AS source_offset
FROM log_dirs
CROSS JOIN (SELECT id AS n FROM RANGE(3))
WHERE h % 40 = 0;

-- table log_dir_samples
SELECT *
FROM (
  SELECT
    cluster, broker, log_dir, timestamp_ms, 'c1' AS collector, 'ok' AS status, $interval_ms AS interval_ms,
    'log_dir' AS kind, 0 AS error_code, $total_bytes AS total_bytes,
    $total_bytes - used_bytes - (timestamp_ms - $from_ms) AS usable_bytes
  FROM log_dirs
  CROSS JOIN (SELECT $from_ms + id * $interval_ms AS timestamp_ms FROM RANGE(CAST(604800000 / $interval_ms AS BIGINT)))
  UNION ALL
  SELECT
    cluster, broker, NULL, timestamp_ms, 'c1', 'ok', $interval_ms, 'poll', NULL, NULL, NULL
  FROM brokers
  CROSS JOIN (SELECT $from_ms + id * $interval_ms AS timestamp_ms FROM RANGE(CAST(604800000 / $interval_ms AS BIGINT)))
);
