-- What each collector asked in the last 15 minutes and how brokers answered; a collector that is not here is silent.
SELECT
  cluster,
  collector,
  :now_ms - MAX(timestamp_ms) AS seen_age_ms,
  COUNT(DISTINCT broker) AS brokers,
  COUNT_IF(status = 'ok') AS answered,
  COUNT_IF(status <> 'ok') AS not_answered,
  place(cluster, NULL, NULL) AS place
FROM log_dir_samples
WHERE timestamp_ms BETWEEN :now_ms - 900000 AND :now_ms + 60000 AND scoped(cluster) AND kind = 'poll'
GROUP BY cluster, collector
ORDER BY cluster, collector
