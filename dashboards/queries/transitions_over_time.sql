-- Changes of status of brokers and log directories, by what they changed to.
SELECT
  TIMESTAMP_MILLIS(at_ms - at_ms % :interval_ms) AS time,
  to_status AS status,
  COUNT(*) AS changes
FROM transitions
WHERE at_ms BETWEEN :from_ms AND :to_ms AND scoped(cluster, broker, log_dir)
GROUP BY at_ms - at_ms % :interval_ms, to_status
ORDER BY 1, 2
