-- What is free for new replicas on each broker, and in its whole cluster.
SELECT
  cluster,
  broker,
  SUM(rebuild_bytes) AS own_bytes,
  SUM(SUM(rebuild_bytes)) OVER (PARTITION BY cluster) AS cluster_bytes,
  COUNT(*) AS disks,
  CASE WHEN COUNT(replica_bytes) = COUNT(*) THEN SUM(replica_bytes) END AS needs_bytes
FROM disks
GROUP BY cluster, broker
