-- What is wrong now, the worst first; said is who takes care of it. A cluster that nobody sees is listed too.
SELECT severity, summary, opened_at_ms, said, cluster, broker, log_dir, rule, alert_id, place(cluster, broker, log_dir) AS place
FROM (
  SELECT
    a.severity, a.summary, a.opened_at_ms, s.word AS said, a.cluster, a.broker, a.log_dir, a.rule, a.alert_id, a.badness
  FROM open_alerts AS a
  LEFT JOIN said AS s ON s.id = a.alert_id
  UNION ALL
  SELECT
    'unknown' AS severity, summary, at_ms AS opened_at_ms, CAST(NULL AS STRING) AS said, cluster,
    CAST(NULL AS INT) AS broker, CAST(NULL AS STRING) AS log_dir, 'no fresh state' AS rule, '' AS alert_id, 2 AS badness
  FROM blind_spots
) AS listed
ORDER BY badness, opened_at_ms DESC, alert_id
LIMIT 200
