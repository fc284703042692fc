-- What nobody sees: clusters whose newest state is too old, and tables that nothing was ever written to.
SELECT
  cluster,
  at_ms,
  'Nothing new is known of this cluster: what is shown of it is the past. Does logdirwatch stream run?' AS summary
FROM known
WHERE NOT is_fresh
UNION ALL
SELECT
  '*' AS cluster,
  CAST(NULL AS BIGINT) AS at_ms,
  'No state was ever stored here: nothing is known. Do logdirwatch collect and stream run?' AS summary
FROM (SELECT COUNT(*) AS clusters FROM known) AS counted
WHERE clusters = 0
