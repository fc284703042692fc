-- The chosen log directory, or the worst of those chosen.
SELECT
  status,
  used_ratio,
  usable_bytes,
  CASE WHEN badness > 1 THEN full_at_ms - :now_ms END AS full_in_ms,
  growth_bytes_per_s,
  CASE WHEN last_seen_ms - :now_ms <= 60000 THEN :now_ms - last_seen_ms END AS seen_age_ms
FROM directories
ORDER BY badness, used_ratio DESC NULLS LAST, cluster, broker, log_dir
LIMIT 1
