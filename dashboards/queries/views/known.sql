-- Each cluster with its newest state, and whether that is new enough to be believed; none is of a minute ahead or more.
SELECT
  cluster,
  MAX(at_ms) AS at_ms,
  :now_ms - MAX(at_ms) BETWEEN -60000 AND :state_patience_ms AS is_fresh
FROM broker_state
WHERE scoped(cluster)
GROUP BY cluster
