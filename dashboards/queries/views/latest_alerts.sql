-- Each alert by its newest revision: only that one tells the directory when the first did not.
SELECT alert_id, status, rule, severity, cluster, broker, log_dir, cause, opened_at_ms, at_ms, summary, stale_since_ms
FROM revisions
WHERE place = 1 AND (cluster = '*' OR log_dir IS NULL OR scoped(log_dir))
