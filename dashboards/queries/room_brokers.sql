-- What the loss of each broker would take, the worst first.
SELECT
  broker,
  CASE
    WHEN needs_bytes IS NULL THEN 'unknown'
    WHEN needs_bytes > cluster_bytes - own_bytes THEN 'no'
    ELSE 'yes'
  END AS can_be_rebuilt,
  CASE WHEN NOT needs_bytes IS NULL THEN GREATEST(0, needs_bytes - (cluster_bytes - own_bytes)) END AS missing_bytes,
  needs_bytes,
  cluster_bytes - own_bytes AS room_bytes,
  disks,
  cluster,
  place(cluster, broker, NULL) AS place
FROM rooms
ORDER BY 3 DESC NULLS FIRST, needs_bytes DESC NULLS FIRST, cluster, broker
LIMIT 500
