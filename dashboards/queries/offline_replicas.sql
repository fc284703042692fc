-- Replicas that are not served, by topic and by what took them.
SELECT
  topic,
  COUNT_IF(cause = 'directory') AS by_directory,
  COUNT_IF(cause = 'broker') AS by_broker,
  COUNT_IF(cause IS NULL OR NOT cause IN ('directory', 'broker')) AS by_unknown,
  cluster,
  place(cluster, NULL, NULL) AS place
FROM replica_state
WHERE scoped(cluster) AND status IN ('offline', 'unknown') AND NOT is_future
GROUP BY topic, cluster
ORDER BY COUNT(*) DESC, topic, cluster
LIMIT 200
