-- Log directories by status; those of clusters without a fresh state are unknown.
SELECT
  CASE WHEN known > 0 THEN offline END AS offline,
  CASE WHEN known > 0 THEN unknown END AS unknown,
  CASE WHEN known > 0 THEN saturated END AS saturated,
  CASE WHEN known > 0 THEN critical END AS critical,
  CASE WHEN known > 0 THEN filling END AS filling,
  CASE WHEN known > 0 THEN online END AS online
FROM (
  SELECT
    COUNT(*) AS known,
    COUNT_IF(status = 'offline') AS offline,
    COUNT_IF(badness = 1) AS unknown,
    COUNT_IF(status = 'saturated') AS saturated,
    COUNT_IF(status = 'critical') AS critical,
    COUNT_IF(status = 'filling') AS filling,
    COUNT_IF(status = 'online') AS online
  FROM directories
) AS counted
