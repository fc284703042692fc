-- Brokers that may be away as planned.
SELECT broker, maintenance_until_ms, maintenance_by, maintenance_reason, status, cluster,
  place(cluster, broker, NULL) AS place
FROM brokers
WHERE maintenance_until_ms > :now_ms
ORDER BY maintenance_until_ms, cluster, broker
