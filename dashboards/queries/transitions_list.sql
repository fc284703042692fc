-- What changed in the chosen time, the newest first; without a directory it is the broker's own status.
SELECT at_ms, broker, log_dir, from_status, to_status, cause, reason, cluster, place(cluster, broker, log_dir) AS place
FROM transitions
WHERE at_ms BETWEEN :from_ms AND :to_ms AND scoped(cluster, broker, log_dir)
ORDER BY at_ms DESC, cluster, broker, log_dir NULLS FIRST, to_status
LIMIT 200
