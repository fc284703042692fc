-- Age of the newest run of the data quality checks, and what it did not find in order.
SELECT
  :now_ms - MAX(at_ms) AS run_age_ms,
  CASE WHEN COUNT(*) > 0 THEN COUNT_IF(NOT COALESCE(success, FALSE)) END AS not_met
FROM quality_results
WHERE
  (cluster = '*' OR scoped(cluster))
  AND run_id IN (SELECT MAX_BY(run_id, at_ms) FROM quality_results WHERE cluster = '*' OR scoped(cluster) GROUP BY suite)
