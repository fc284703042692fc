-- Every partition in danger with the worst that it suffers.
SELECT
  cluster, topic, partition, leader, replicas, isr, min_insync_replicas, is_internal,
  CASE
    WHEN is_leaderless THEN 'leaderless'
    WHEN is_under_min_isr THEN 'under min ISR'
    WHEN is_sole_replica THEN 'sole replica'
    ELSE 'at min ISR'
  END AS danger,
  CASE WHEN is_leaderless THEN 0 WHEN is_under_min_isr THEN 1 WHEN is_sole_replica THEN 2 ELSE 3 END AS badness
FROM topic_state
WHERE scoped(cluster) AND (is_leaderless OR is_under_min_isr OR is_sole_replica OR is_at_min_isr)
