-- What lies in the chosen directories, by topic, the largest first; how long each topic keeps its records.
SELECT
  r.topic,
  SUM(r.size_bytes) AS size_bytes,
  SUM(r.size_bytes) / SUM(SUM(CAST(r.size_bytes AS DOUBLE))) OVER () AS share,
  COUNT(*) AS replicas,
  COUNT_IF(r.is_leader) AS leaders,
  MAX(TRY_CAST(t.retention_ms AS BIGINT)) AS retention_ms,
  MAX(TRY_CAST(t.retention_bytes AS BIGINT)) AS retention_bytes
FROM replica_state AS r
LEFT JOIN (
  SELECT
    cluster,
    topic,
    ELEMENT_AT(configs, 'retention.ms') AS retention_ms,
    ELEMENT_AT(configs, 'retention.bytes') AS retention_bytes
  FROM topic_state
  WHERE scoped(cluster) AND partition = 0
) AS t ON t.cluster = r.cluster AND t.topic = r.topic
WHERE scoped(r.cluster, r.broker, r.log_dir) AND NOT r.log_dir IS NULL
GROUP BY r.topic
ORDER BY 2 DESC NULLS LAST, 1
LIMIT 100
