-- Every log directory; of a cluster without a fresh state nothing is known now.
SELECT
  d.cluster,
  d.broker,
  d.log_dir,
  CASE WHEN k.is_fresh THEN d.status ELSE 'unknown' END AS status,
  CASE WHEN k.is_fresh AND d.status <> 'unknown' THEN NULL ELSE COALESCE(d.last_status, d.status) END AS last_status,
  d.cause,
  d.reason,
  d.since_ms,
  d.sample_at_ms,
  d.last_seen_ms,
  d.last_proof_ms,
  d.total_bytes,
  d.usable_bytes,
  d.used_ratio,
  d.replica_count,
  d.replica_bytes,
  d.unaccounted_bytes,
  d.growth_bytes_per_s,
  d.full_at_ms,
  d.forecast_confidence,
  d.volume,
  d.is_cordoned,
  d.is_metadata_dir,
  CASE
    WHEN NOT k.is_fresh THEN 1
    ELSE
      CASE d.status
        WHEN 'offline' THEN 0
        WHEN 'unknown' THEN 1
        WHEN 'saturated' THEN 2
        WHEN 'critical' THEN 3
        WHEN 'filling' THEN 4
        WHEN 'online' THEN 5
        ELSE 1
      END
  END AS badness
FROM log_dir_state AS d
INNER JOIN known AS k ON k.cluster = d.cluster
WHERE scoped(d.cluster, d.broker, d.log_dir)
