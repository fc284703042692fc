-- What people said last of each alert, as long as it holds.
SELECT id, MAX(word) AS word
FROM (
  SELECT
    id,
    decision || 'd by ' || `by` AS word,
    until_ms,
    ROW_NUMBER() OVER (PARTITION BY id, decision ORDER BY at_ms DESC) AS place
  FROM decisions
  WHERE decision IN ('acknowledge', 'silence')
) AS spoken
WHERE place = 1 AND (until_ms IS NULL OR until_ms > :now_ms)
GROUP BY id
