-- What people said last of each alert, as long as it holds: until the alert is louder than what it was said of.
SELECT id, MAX(word) AS word
FROM (
  SELECT s.id, s.word
  FROM spoken AS s
  INNER JOIN revisions AS r ON r.alert_id = s.id AND (r.place = 1 OR r.revision > s.revision)
  GROUP BY s.id, s.word, s.covers
  HAVING MAX(ARRAY_POSITION(ARRAY('info', 'warning', 'critical', 'page'), r.severity)) <= s.covers
) AS lasting
GROUP BY id
