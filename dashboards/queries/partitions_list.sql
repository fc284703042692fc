-- Partitions in danger, Kafka's own topics first, then what is worse.
SELECT
  topic,
  partition,
  danger,
  leader,
  ARRAY_JOIN(TRANSFORM(isr, b -> CAST(b AS STRING)), ' ') AS isr,
  ARRAY_JOIN(TRANSFORM(replicas, b -> CAST(b AS STRING)), ' ') AS replicas_on,
  min_insync_replicas,
  is_internal,
  cluster,
  place(cluster, leader, NULL) AS place
FROM endangered
ORDER BY CASE WHEN is_internal THEN 0 ELSE 1 END, badness, cluster, topic, partition
LIMIT 500
