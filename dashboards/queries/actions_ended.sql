-- What was carried out in the chosen time: the promise against what was seen. Unknown where nobody could see it.
SELECT
  at_ms, kind, status, expected_bytes, observed_bytes, expected_ms, observed_ms, status_reason, cluster,
  TRY_CAST(GET_JSON_OBJECT(target, '$.broker') AS INT) AS broker,
  GET_JSON_OBJECT(target, '$.log_dir') AS log_dir,
  SUBSTRING(action_id, 1, 8) AS id,
  place(
    cluster, TRY_CAST(GET_JSON_OBJECT(target, '$.broker') AS INT), GET_JSON_OBJECT(target, '$.log_dir')
  ) AS place
FROM ended_actions
ORDER BY at_ms DESC, action_id
LIMIT 200
