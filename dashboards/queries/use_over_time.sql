-- The fullest moment of each stretch of time, by log directory. A gap means that nobody knew.
SELECT
  TIMESTAMP_MILLIS(timestamp_ms - timestamp_ms % :interval_ms) AS time,
  log_dir,
  MAX(1 - CAST(usable_bytes AS DOUBLE) / total_bytes) AS used_ratio
FROM log_dir_samples
WHERE
  timestamp_ms BETWEEN :from_ms AND :to_ms
  AND scoped(cluster, broker, log_dir)
  AND kind = 'log_dir'
  AND error_code = 0
  AND total_bytes > 0
GROUP BY timestamp_ms - timestamp_ms % :interval_ms, log_dir
ORDER BY 1, 2
