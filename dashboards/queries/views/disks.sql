-- Log directories that share a volume are one disk. rebuild_bytes is what new replicas may take, up to the critical
-- level; nothing where it is not certain that Kafka would place them there.
SELECT
  cluster,
  broker,
  COALESCE('volume ' || volume, log_dir) AS disk,
  MIN(log_dir) AS log_dir,
  MIN(badness) AS badness,
  MAX(total_bytes) AS total_bytes,
  MAX(total_bytes - usable_bytes) AS used_bytes,
  CASE WHEN COUNT(replica_bytes) = COUNT(*) THEN SUM(replica_bytes) END AS replica_bytes,
  MAX(
    CASE
      WHEN status IN ('online', 'filling', 'critical', 'saturated')
        AND NOT COALESCE(is_cordoned, FALSE)
        AND NOT total_bytes - usable_bytes IS NULL
        THEN GREATEST(0, CAST(FLOOR(total_bytes * :critical_ratio) AS BIGINT) - (total_bytes - usable_bytes))
      ELSE 0
    END
  ) AS rebuild_bytes
FROM directories
GROUP BY cluster, broker, COALESCE('volume ' || volume, log_dir)
