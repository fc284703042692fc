-- How old each cluster's newest state and inventory are in the tables; of directories that are gone nothing counts.
SELECT
  k.cluster,
  CASE WHEN k.at_ms - :now_ms <= 60000 THEN :now_ms - k.at_ms END AS state_age_ms,
  CASE WHEN s.inventory_at_ms - :now_ms <= 60000 THEN :now_ms - s.inventory_at_ms END AS inventory_age_ms,
  CASE WHEN d.inventory_at_ms - :now_ms <= 60000 THEN :now_ms - d.inventory_at_ms END AS oldest_listing_age_ms,
  place(k.cluster, NULL, NULL) AS place
FROM known AS k
LEFT JOIN scans AS s ON s.cluster = k.cluster
LEFT JOIN (
  SELECT i.cluster, MIN(i.inventory_at_ms) AS inventory_at_ms
  FROM log_dir_inventory AS i
  INNER JOIN log_dir_state AS l ON l.cluster = i.cluster AND l.broker = i.broker AND l.log_dir = i.log_dir
  WHERE scoped(i.cluster)
  GROUP BY i.cluster
) AS d ON d.cluster = k.cluster
ORDER BY 2 DESC, 1
