-- What people said last of each alert and whose end has not come; covers is how loud an alert may be, 4 is the loudest.
SELECT id, word, revision, covers
FROM (
  SELECT
    id,
    decision || 'd by ' || `by` AS word,
    revision,
    COALESCE(ARRAY_POSITION(ARRAY('info', 'warning', 'critical', 'page'), severity), 4) AS covers,
    at_ms,
    LEAST(COALESCE(until_ms, at_ms + :longest_said_ms), at_ms + :longest_said_ms) AS ends_ms,
    ROW_NUMBER() OVER (PARTITION BY id, decision ORDER BY at_ms DESC) AS place
  FROM decisions
  WHERE decision IN ('acknowledge', 'silence')
) AS decided
WHERE place = 1 AND GREATEST(at_ms, :now_ms) < ends_ms
