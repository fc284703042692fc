-- The log directories that will be full first, by the forecast.
SELECT
  cluster,
  broker,
  log_dir,
  status,
  used_ratio,
  full_at_ms - :now_ms AS full_in_ms,
  forecast_confidence,
  growth_bytes_per_s,
  place(cluster, broker, log_dir) AS place
FROM directories
WHERE NOT full_at_ms IS NULL AND status <> 'offline'
ORDER BY full_at_ms, cluster, broker, log_dir
LIMIT 50
