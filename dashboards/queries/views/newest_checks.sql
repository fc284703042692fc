-- What the newest run of each suite of data quality checks found.
SELECT suite, expectation, unexpected, observed, error, at_ms, COALESCE(success, FALSE) AS is_met
FROM (
  SELECT
    suite, expectation, unexpected, observed, error, at_ms, success,
    RANK() OVER (PARTITION BY suite, cluster ORDER BY at_ms DESC) AS place
  FROM quality_results
  WHERE cluster = '*' OR scoped(cluster)
) AS runs
WHERE place = 1
