-- Why records were rejected in the chosen time, and where the last one of each kind lies.
SELECT
  topic,
  reason,
  COUNT(*) AS records,
  MAX(kafka_timestamp_ms) AS at_ms,
  MAX_BY(CAST(partition AS STRING) || '/' || CAST(offset AS STRING), offset) AS example,
  cluster
FROM rejected_records
WHERE kafka_timestamp_ms BETWEEN :from_ms AND :to_ms AND (cluster = 'unknown' OR scoped(cluster))
GROUP BY topic, reason, cluster
ORDER BY 3 DESC, 1, 2, 6
LIMIT 100
