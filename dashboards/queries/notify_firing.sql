-- The alerts that fire and cannot wait, the most severe first.
SELECT severity, summary, cluster, broker, log_dir, rule, opened_at_ms, alert_id
FROM open_alerts
WHERE severity IN ('page', 'critical')
ORDER BY badness, opened_at_ms, alert_id
