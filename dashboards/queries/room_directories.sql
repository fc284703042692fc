-- What the loss of each log directory would take, the worst first; those that share a volume are lost together.
SELECT
  d.broker,
  d.log_dir,
  CASE
    WHEN d.replica_bytes IS NULL THEN 'unknown'
    WHEN d.replica_bytes > r.cluster_bytes - r.own_bytes THEN 'no'
    ELSE 'yes'
  END AS can_be_rebuilt,
  CASE
    WHEN NOT d.replica_bytes IS NULL THEN GREATEST(0, d.replica_bytes - (r.cluster_bytes - r.own_bytes))
  END AS missing_bytes,
  d.replica_bytes AS needs_bytes,
  r.cluster_bytes - r.own_bytes AS room_bytes,
  d.cluster,
  place(d.cluster, d.broker, d.log_dir) AS place
FROM disks AS d
INNER JOIN rooms AS r ON r.cluster = d.cluster AND r.broker = d.broker
ORDER BY 4 DESC NULLS FIRST, d.replica_bytes DESC NULLS FIRST, d.cluster, d.broker, d.log_dir
LIMIT 500
