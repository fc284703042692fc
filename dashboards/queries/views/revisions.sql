-- Every revision of every alert; the newest is in place 1.
SELECT
  alert_id, status, rule, severity, cluster, broker, log_dir, cause, opened_at_ms, at_ms, summary, stale_since_ms, revision,
  ROW_NUMBER() OVER (PARTITION BY alert_id ORDER BY revision DESC) AS place
FROM alerts
WHERE cluster = '*' OR (scoped(cluster) AND (broker IS NULL OR scoped(broker)))
