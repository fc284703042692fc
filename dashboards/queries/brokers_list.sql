-- The brokers, the worst first.
SELECT
  broker, status, reason, since_ms, last_seen_ms, offline_log_dirs, log_dir_count, recovering_logs, host, rack,
  kafka_version, cluster,
  place(cluster, broker, NULL) AS place
FROM brokers
ORDER BY badness, cluster, broker
LIMIT 5000
