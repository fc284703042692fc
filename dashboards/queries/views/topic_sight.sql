-- Whether the partitions of every chosen cluster were listed lately.
SELECT COUNT(*) > 0 AND COUNT_IF(COALESCE(s.is_fresh, FALSE)) = COUNT(*) AS is_clear
FROM known AS k
LEFT JOIN scans AS s ON s.cluster = k.cluster
