-- Each execution by its last record. One that got stuck and was followed by another one of its action needs nobody.
SELECT
  execution_id, action_id, kind, cluster, state, back, step, planned_bytes, `by`, reason, started_at_ms, at_ms,
  CASE
    WHEN state IN ('done', 'rolled_back') THEN 'over'
    WHEN place_of_action > 1 THEN 'over'
    WHEN state = 'stuck' THEN 'stuck'
    ELSE 'running'
  END AS standing
FROM (
  SELECT
    execution_id, action_id, kind, cluster, state, back, step, planned_bytes, `by`, reason, started_at_ms, at_ms,
    ROW_NUMBER() OVER (PARTITION BY execution_id ORDER BY source_offset DESC) AS place,
    ROW_NUMBER() OVER (PARTITION BY action_id ORDER BY source_offset DESC) AS place_of_action
  FROM executions
  WHERE scoped(cluster)
) AS states
WHERE place = 1
