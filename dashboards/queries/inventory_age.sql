-- Age of the last complete listing of topics, of the cluster where it is oldest. Partitions are those of then.
SELECT
  CASE
    WHEN COUNT(*) = COUNT(s.inventory_at_ms) AND MAX(s.inventory_at_ms) - :now_ms <= 60000
    THEN :now_ms - MIN(s.inventory_at_ms)
  END AS inventory_age_ms
FROM known AS k
LEFT JOIN scans AS s ON s.cluster = k.cluster
