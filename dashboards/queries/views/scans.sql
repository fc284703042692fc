-- Each cluster's last complete listing of its topics, and whether that is new enough to be believed.
SELECT
  cluster,
  MAX(inventory_at_ms) AS inventory_at_ms,
  :now_ms - MAX(inventory_at_ms) BETWEEN -60000 AND :inventory_patience_ms AS is_fresh
FROM log_dir_inventory
WHERE broker IS NULL AND scoped(cluster)
GROUP BY cluster
