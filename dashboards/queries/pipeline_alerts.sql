-- What logdirwatch says of itself: open alerts of its own queries.
SELECT severity, rule, summary, opened_at_ms, alert_id, place(cluster, broker, log_dir) AS place
FROM open_alerts
WHERE cluster = '*'
ORDER BY badness, opened_at_ms DESC, alert_id
LIMIT 50
