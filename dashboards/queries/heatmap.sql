-- Every log directory, a broker a row, the worst first: how full it is, its colour and sign by status
-- (▲ filling, ▲▲ critical, ■ saturated, ✖ offline, ? unknown). d01 is the first by path; what a broker has beyond
-- sixteen is counted in more.
SELECT
  cluster,
  broker,
  MAX(CASE WHEN place = 1 THEN cell END) AS d01,
  MAX(CASE WHEN place = 2 THEN cell END) AS d02,
  MAX(CASE WHEN place = 3 THEN cell END) AS d03,
  MAX(CASE WHEN place = 4 THEN cell END) AS d04,
  MAX(CASE WHEN place = 5 THEN cell END) AS d05,
  MAX(CASE WHEN place = 6 THEN cell END) AS d06,
  MAX(CASE WHEN place = 7 THEN cell END) AS d07,
  MAX(CASE WHEN place = 8 THEN cell END) AS d08,
  MAX(CASE WHEN place = 9 THEN cell END) AS d09,
  MAX(CASE WHEN place = 10 THEN cell END) AS d10,
  MAX(CASE WHEN place = 11 THEN cell END) AS d11,
  MAX(CASE WHEN place = 12 THEN cell END) AS d12,
  MAX(CASE WHEN place = 13 THEN cell END) AS d13,
  MAX(CASE WHEN place = 14 THEN cell END) AS d14,
  MAX(CASE WHEN place = 15 THEN cell END) AS d15,
  MAX(CASE WHEN place = 16 THEN cell END) AS d16,
  CASE WHEN COUNT(*) > 16 THEN COUNT(*) - 16 END AS more,
  place(cluster, broker, NULL) AS place
FROM (
  SELECT
    cluster,
    broker,
    badness,
    used_ratio,
    ROW_NUMBER() OVER (PARTITION BY cluster, broker ORDER BY log_dir) AS place,
    CASE badness
      WHEN 0 THEN '✖ offline'
      WHEN 1 THEN '? unknown'
      ELSE
        CASE badness WHEN 2 THEN '■ ' WHEN 3 THEN '▲▲ ' WHEN 4 THEN '▲ ' ELSE '' END
        || COALESCE(CAST(CAST(FLOOR(used_ratio * 100) AS INT) AS STRING), '?')
        || ' %'
    END AS cell
  FROM directories
) AS placed
GROUP BY cluster, broker
ORDER BY MIN(badness), MAX(used_ratio) DESC NULLS LAST, cluster, broker
LIMIT 5000
