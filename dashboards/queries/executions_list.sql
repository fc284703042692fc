-- What runs or is stuck, and what ended in the chosen time: the promise against what was seen, and how far it is by the
-- newest listing of replicas. To go on or back: logdirwatch apply --resume ID, logdirwatch apply --undo ID.
SELECT
  e.started_at_ms,
  CASE WHEN e.back THEN 'undo of ' || e.kind ELSE e.kind END AS kind,
  e.state,
  e.reason,
  e.step,
  TRY_CAST(GET_JSON_OBJECT(a.observed, '$.reached') AS DOUBLE)
    / NULLIF(TRY_CAST(GET_JSON_OBJECT(a.observed, '$.of') AS DOUBLE), 0) AS progress_ratio,
  e.planned_bytes,
  TRY_CAST(GET_JSON_OBJECT(a.expected, '$.frees_bytes') AS DOUBLE) AS expected_bytes,
  TRY_CAST(GET_JSON_OBJECT(a.observed, '$.frees_bytes') AS DOUBLE) AS observed_bytes,
  TRY_CAST(GET_JSON_OBJECT(a.expected, '$.needs_ms') AS DOUBLE) AS expected_ms,
  CASE WHEN e.state = 'done' THEN e.at_ms - e.started_at_ms END AS observed_ms,
  e.at_ms,
  e.`by` AS started_by,
  e.cluster,
  SUBSTRING(e.action_id, 1, 8) AS id
FROM latest_executions AS e
LEFT JOIN latest_actions AS a ON a.action_id = e.action_id
WHERE e.standing <> 'over' OR e.at_ms BETWEEN :from_ms AND :to_ms
ORDER BY
  CASE e.standing WHEN 'stuck' THEN 0 WHEN 'running' THEN 1 ELSE 2 END,
  e.at_ms DESC,
  e.execution_id
LIMIT 200
