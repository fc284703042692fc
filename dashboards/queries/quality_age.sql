-- Age of the newest run of the data quality checks, and what the newest run of each suite did not find in order.
SELECT
  CASE WHEN MAX(at_ms) - :now_ms <= 60000 THEN :now_ms - MAX(at_ms) END AS run_age_ms,
  CASE WHEN COUNT(*) > 0 THEN COUNT_IF(NOT is_met) END AS not_met
FROM newest_checks
