-- The chosen log directories, the worst first. What is unknown shows what was last seen.
SELECT
  log_dir, status, cause, used_ratio, usable_bytes, full_at_ms - :now_ms AS full_in_ms, growth_bytes_per_s, reason,
  since_ms, last_seen_ms, last_proof_ms, last_status, replica_count, unaccounted_bytes, volume, is_cordoned,
  is_metadata_dir, broker, cluster,
  place(cluster, broker, log_dir) AS place
FROM directories
ORDER BY badness, used_ratio DESC NULLS LAST, cluster, broker, log_dir
LIMIT 1000
