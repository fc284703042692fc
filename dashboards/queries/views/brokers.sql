-- Every broker; of a cluster without a fresh state nothing is known now.
SELECT
  b.cluster,
  b.broker,
  CASE WHEN k.is_fresh THEN b.status ELSE 'unknown' END AS status,
  CASE WHEN k.is_fresh THEN b.reason ELSE 'no state of the cluster is new enough' END AS reason,
  b.since_ms,
  b.last_seen_ms,
  b.host,
  b.rack,
  b.kafka_version,
  b.log_dir_count,
  b.offline_log_dirs,
  b.recovering_logs,
  b.maintenance_until_ms,
  b.maintenance_by,
  b.maintenance_reason,
  CASE
    WHEN NOT k.is_fresh THEN 1
    ELSE CASE b.status WHEN 'offline' THEN 0 WHEN 'unknown' THEN 1 WHEN 'degraded' THEN 2 WHEN 'online' THEN 3 ELSE 1 END
  END AS badness
FROM broker_state AS b
INNER JOIN known AS k ON k.cluster = b.cluster
WHERE scoped(b.cluster, b.broker)
