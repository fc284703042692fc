-- How old each cluster's newest state and inventory are in the tables.
SELECT
  k.cluster,
  :now_ms - k.at_ms AS state_age_ms,
  :now_ms - s.inventory_at_ms AS inventory_age_ms,
  :now_ms - d.inventory_at_ms AS oldest_listing_age_ms,
  place(k.cluster, NULL, NULL) AS place
FROM known AS k
LEFT JOIN scans AS s ON s.cluster = k.cluster
LEFT JOIN (
  SELECT cluster, MIN(inventory_at_ms) AS inventory_at_ms
  FROM log_dir_inventory
  WHERE NOT broker IS NULL AND scoped(cluster)
  GROUP BY cluster
) AS d ON d.cluster = k.cluster
ORDER BY 2 DESC, 1
