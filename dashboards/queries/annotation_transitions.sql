-- Changes of status as marks in time.
SELECT
  TIMESTAMP_MILLIS(at_ms) AS time,
  'broker ' || CAST(broker AS STRING) || COALESCE(' ' || log_dir, '') || ': ' || COALESCE(from_status || ' to ', '')
  || to_status || COALESCE(' (' || cause || ')', '') AS text,
  to_status AS tags
FROM transitions
WHERE at_ms BETWEEN :from_ms AND :to_ms AND scoped(cluster, broker) AND (log_dir IS NULL OR scoped(log_dir))
ORDER BY at_ms
LIMIT 500
