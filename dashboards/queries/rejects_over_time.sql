-- Records that could not be believed, by topic.
SELECT
  TIMESTAMP_MILLIS(kafka_timestamp_ms - kafka_timestamp_ms % :interval_ms) AS time,
  topic,
  COUNT(*) AS records
FROM rejected_records
WHERE kafka_timestamp_ms BETWEEN :from_ms AND :to_ms AND (cluster = 'unknown' OR scoped(cluster))
GROUP BY kafka_timestamp_ms - kafka_timestamp_ms % :interval_ms, topic
ORDER BY 1, 2
