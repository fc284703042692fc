-- Each action by its highest revision.
SELECT
  action_id, status, status_reason, kind, alert_id, alert, cluster, target, reason, expected, vetoes, data_loss,
  requires_approval, expires_at_ms, observed, position, at_ms
FROM (
  SELECT
    action_id, status, status_reason, kind, alert_id, alert, cluster, target, reason, expected, vetoes, data_loss,
    requires_approval, expires_at_ms, observed, position, at_ms,
    ROW_NUMBER() OVER (PARTITION BY action_id ORDER BY revision DESC) AS place
  FROM actions
  WHERE cluster = '*' OR scoped(cluster)
) AS revisions
WHERE place = 1
