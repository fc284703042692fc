-- What the newest run of each suite of data quality checks did not find in order, and the age of that run.
SELECT suite, expectation, unexpected, observed, error, :now_ms - at_ms AS run_age_ms
FROM newest_checks
WHERE NOT is_met
ORDER BY suite, expectation
LIMIT 100
