-- Open alerts by severity. Unknown where nobody looks: no alert may then mean that nobody would say so.
SELECT
  CASE WHEN is_clear OR page > 0 THEN page END AS page,
  CASE WHEN is_clear OR critical > 0 THEN critical END AS critical_alerts,
  CASE WHEN is_clear OR warning > 0 THEN warning END AS warning
FROM sight
CROSS JOIN (
  SELECT
    COUNT_IF(severity = 'page') AS page,
    COUNT_IF(severity = 'critical') AS critical,
    COUNT_IF(severity = 'warning') AS warning
  FROM open_alerts
) AS counted
