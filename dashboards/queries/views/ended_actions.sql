-- Actions that were carried out in the chosen time: what was promised, and what was seen under the same name.
SELECT
  cluster, kind, status, status_reason, target, at_ms, action_id,
  TRY_CAST(GET_JSON_OBJECT(expected, '$.needs_ms') AS DOUBLE) AS expected_ms,
  at_ms - TRY_CAST(GET_JSON_OBJECT(observed, '$.started_at_ms') AS DOUBLE) AS observed_ms,
  CASE
    WHEN NOT GET_JSON_OBJECT(observed, '$.frees_bytes') IS NULL
      THEN TRY_CAST(GET_JSON_OBJECT(expected, '$.frees_bytes') AS DOUBLE)
    ELSE TRY_CAST(GET_JSON_OBJECT(expected, '$.copies_bytes') AS DOUBLE)
  END AS expected_bytes,
  COALESCE(
    TRY_CAST(GET_JSON_OBJECT(observed, '$.frees_bytes') AS DOUBLE),
    TRY_CAST(GET_JSON_OBJECT(observed, '$.copies_bytes') AS DOUBLE)
  ) AS observed_bytes
FROM actions
WHERE status IN ('done', 'failed') AND at_ms BETWEEN :from_ms AND :to_ms AND scoped(cluster)
