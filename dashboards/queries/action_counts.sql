-- Actions that wait or run now, and those that ended in the chosen time.
SELECT
  CASE WHEN s.is_clear OR a.proposed > 0 THEN a.proposed END AS proposed,
  CASE WHEN s.is_clear OR a.accepted > 0 THEN a.accepted END AS accepted,
  CASE WHEN s.is_clear OR a.running > 0 THEN a.running END AS running,
  e.done,
  e.failed
FROM sight AS s
CROSS JOIN (
  SELECT
    COUNT_IF(status = 'proposed') AS proposed,
    COUNT_IF(status = 'accepted') AS accepted,
    COUNT_IF(status = 'running') AS running
  FROM latest_actions
) AS a
CROSS JOIN (SELECT COUNT_IF(status = 'done') AS done, COUNT_IF(status = 'failed') AS failed FROM ended_actions) AS e
