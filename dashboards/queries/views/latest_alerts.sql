-- Each alert by its highest revision.
SELECT
  alert_id, status, rule, severity, cluster, broker, log_dir, cause, opened_at_ms, at_ms, summary, stale_since_ms
FROM (
  SELECT
    alert_id, status, rule, severity, cluster, broker, log_dir, cause, opened_at_ms, at_ms, summary, stale_since_ms,
    ROW_NUMBER() OVER (PARTITION BY alert_id ORDER BY revision DESC) AS place
  FROM alerts
  WHERE
    cluster = '*'
    OR (scoped(cluster) AND (broker IS NULL OR scoped(broker)) AND (log_dir IS NULL OR scoped(log_dir)))
) AS revisions
WHERE place = 1
