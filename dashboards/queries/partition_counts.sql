-- Partitions by danger, each counted in every danger it is in. Unknown where the listing of topics is missing or old, and
-- where the minimum of a topic is not known.
SELECT
  CASE WHEN is_clear OR leaderless > 0 THEN leaderless END AS leaderless,
  CASE WHEN (is_clear AND unjudged = 0) OR under_min_isr > 0 THEN under_min_isr END AS under_min_isr,
  CASE WHEN is_clear OR sole_replica > 0 THEN sole_replica END AS sole_replica,
  CASE WHEN (is_clear AND unjudged = 0) OR at_min_isr > 0 THEN at_min_isr END AS at_min_isr
FROM topic_sight
CROSS JOIN (
  SELECT
    COUNT_IF(is_leaderless) AS leaderless,
    COUNT_IF(is_under_min_isr) AS under_min_isr,
    COUNT_IF(is_sole_replica) AS sole_replica,
    COUNT_IF(is_at_min_isr) AS at_min_isr,
    COUNT_IF(is_under_min_isr IS NULL) AS unjudged
  FROM topic_state
  WHERE scoped(cluster)
) AS counted
