-- What to do now, for the loudest alert first and in the order to try. logdirwatch actions show ID prints the commands.
SELECT
  GET_JSON_OBJECT(alert, '$.severity') AS severity,
  kind,
  CASE WHEN JSON_ARRAY_LENGTH(vetoes) > 0 THEN 'must not be done now' ELSE status END AS standing,
  reason,
  TRY_CAST(GET_JSON_OBJECT(expected, '$.frees_bytes') AS DOUBLE) AS frees_bytes,
  TRY_CAST(GET_JSON_OBJECT(expected, '$.needs_ms') AS DOUBLE) AS needs_ms,
  data_loss,
  requires_approval,
  cluster,
  TRY_CAST(GET_JSON_OBJECT(target, '$.broker') AS INT) AS broker,
  GET_JSON_OBJECT(target, '$.log_dir') AS log_dir,
  expires_at_ms,
  SUBSTRING(action_id, 1, 8) AS id,
  place(
    cluster, TRY_CAST(GET_JSON_OBJECT(target, '$.broker') AS INT), GET_JSON_OBJECT(target, '$.log_dir')
  ) AS place
FROM latest_actions
WHERE status IN ('proposed', 'accepted', 'running')
ORDER BY
  CASE GET_JSON_OBJECT(alert, '$.severity') WHEN 'page' THEN 0 WHEN 'critical' THEN 1 WHEN 'warning' THEN 2 ELSE 3 END,
  alert_id,
  CASE WHEN JSON_ARRAY_LENGTH(vetoes) > 0 THEN 1 ELSE 0 END,
  COALESCE(position, 0),
  action_id
LIMIT 200
