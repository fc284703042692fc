-- Brokers by status; those of clusters without a fresh state are unknown.
SELECT
  CASE WHEN known > 0 THEN offline END AS offline,
  CASE WHEN known > 0 THEN unknown END AS unknown,
  CASE WHEN known > 0 THEN degraded END AS degraded,
  CASE WHEN known > 0 THEN online END AS online
FROM (
  SELECT
    COUNT(*) AS known,
    COUNT_IF(status = 'offline') AS offline,
    COUNT_IF(badness = 1) AS unknown,
    COUNT_IF(status = 'degraded') AS degraded,
    COUNT_IF(status = 'online') AS online
  FROM brokers
) AS counted
