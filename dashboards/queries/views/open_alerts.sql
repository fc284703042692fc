-- The alerts that fire.
SELECT
  alert_id, rule, severity, cluster, broker, log_dir, cause, opened_at_ms, summary, stale_since_ms,
  CASE severity WHEN 'page' THEN 0 WHEN 'critical' THEN 1 WHEN 'warning' THEN 3 ELSE 4 END AS badness
FROM latest_alerts
WHERE status = 'firing'
