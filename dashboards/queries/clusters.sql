-- One line a cluster, the worst first.
SELECT
  k.cluster,
  CASE WHEN k.is_fresh THEN COALESCE(a.severity, 'none') ELSE 'unknown' END AS severity,
  CASE WHEN k.at_ms - :now_ms <= 60000 THEN :now_ms - k.at_ms END AS state_age_ms,
  b.brokers,
  b.troubled_brokers,
  d.log_dirs,
  d.troubled_log_dirs,
  d.used_ratio,
  d.full_in_ms,
  place(k.cluster, NULL, NULL) AS place
FROM known AS k
LEFT JOIN (
  SELECT cluster, COUNT(*) AS brokers, COUNT_IF(status <> 'online') AS troubled_brokers
  FROM brokers
  GROUP BY cluster
) AS b ON b.cluster = k.cluster
LEFT JOIN (
  SELECT
    cluster,
    COUNT(*) AS log_dirs,
    COUNT_IF(status <> 'online') AS troubled_log_dirs,
    MAX(used_ratio) AS used_ratio,
    MIN(CASE WHEN status <> 'offline' THEN full_at_ms END) - :now_ms AS full_in_ms
  FROM directories
  GROUP BY cluster
) AS d ON d.cluster = k.cluster
LEFT JOIN (
  SELECT cluster, MIN_BY(severity, badness) AS severity, MIN(badness) AS badness
  FROM open_alerts
  GROUP BY cluster
) AS a ON a.cluster = k.cluster
ORDER BY CASE WHEN k.is_fresh THEN COALESCE(a.badness, 5) ELSE 2 END, k.cluster
