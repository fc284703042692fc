-- What the newest run of each suite of data quality checks did not find in order, and the age of that run.
SELECT suite, expectation, unexpected, observed, error, CASE WHEN at_ms - :now_ms <= 60000 THEN :now_ms - at_ms END AS run_age_ms
FROM newest_checks
WHERE NOT is_met
ORDER BY suite, expectation
LIMIT 100
