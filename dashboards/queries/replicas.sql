-- The largest replicas in the chosen directories, those in trouble first; size and place are those of the last listing.
SELECT
  topic, partition, status, size_bytes, offset_lag, is_leader, in_isr, is_future, cause, log_dir, inventory_at_ms, broker,
  cluster
FROM replica_state
WHERE scoped(cluster, broker, log_dir)
ORDER BY
  CASE status WHEN 'offline' THEN 0 WHEN 'unknown' THEN 1 WHEN 'saturated' THEN 2 WHEN 'moving' THEN 3 ELSE 4 END,
  size_bytes DESC NULLS LAST,
  topic,
  partition,
  is_future,
  broker,
  cluster
LIMIT 200
