-- What apply and autopilot carry out now, what is stuck and needs a person, and what ended in the chosen time.
SELECT
  CASE WHEN s.is_clear OR e.stuck > 0 THEN e.stuck END AS stuck,
  CASE WHEN s.is_clear OR e.running > 0 THEN e.running END AS running,
  e.done,
  e.rolled_back
FROM sight AS s
CROSS JOIN (
  SELECT
    COUNT_IF(standing = 'stuck') AS stuck,
    COUNT_IF(standing = 'running') AS running,
    COUNT_IF(state = 'done' AND at_ms BETWEEN :from_ms AND :to_ms) AS done,
    COUNT_IF(state = 'rolled_back' AND at_ms BETWEEN :from_ms AND :to_ms) AS rolled_back
  FROM latest_executions
) AS e
