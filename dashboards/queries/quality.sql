-- What the newest run of each suite of data quality checks did not find in order, and the age of that run.
SELECT suite, expectation, unexpected, observed, error, :now_ms - at_ms AS run_age_ms
FROM (
  SELECT
    suite, expectation, unexpected, observed, error, at_ms, success, cluster,
    RANK() OVER (PARTITION BY suite, cluster ORDER BY at_ms DESC) AS place
  FROM quality_results
  WHERE cluster = '*' OR scoped(cluster)
) AS runs
WHERE place = 1 AND NOT COALESCE(success, FALSE)
ORDER BY suite, expectation
LIMIT 100
