-- The track record of each kind in the chosen time; the ratios count only actions of which both sides are known.
SELECT
  kind,
  COUNT_IF(status = 'done') AS done,
  COUNT_IF(status = 'failed') AS failed,
  SUM(CASE WHEN status = 'done' AND NOT expected_bytes IS NULL THEN observed_bytes END)
  / NULLIF(SUM(CASE WHEN status = 'done' AND NOT observed_bytes IS NULL THEN expected_bytes END), 0) AS bytes_ratio,
  SUM(CASE WHEN status = 'done' AND NOT expected_ms IS NULL THEN observed_ms END)
  / NULLIF(SUM(CASE WHEN status = 'done' AND NOT observed_ms IS NULL THEN expected_ms END), 0) AS time_ratio
FROM ended_actions
GROUP BY kind
ORDER BY kind
