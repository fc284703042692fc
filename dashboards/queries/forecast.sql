-- Where the use of one log directory goes in four days: of the chosen one, or of that which is full first. The line is
-- logdirwatch's forecast; the band lies between the slowest and the fastest day of the last four.
WITH chosen AS (
  SELECT cluster, broker, log_dir, sample_at_ms, total_bytes, total_bytes - usable_bytes AS used_bytes, full_at_ms
  FROM directories
  WHERE badness > 1 AND total_bytes > 0 AND NOT usable_bytes IS NULL AND NOT sample_at_ms IS NULL
  ORDER BY full_at_ms NULLS LAST, used_ratio DESC, cluster, broker, log_dir
  LIMIT 1
), days AS (
  SELECT
    CAST(FLOOR((c.sample_at_ms - s.timestamp_ms) / 86400000) AS INT) AS day,
    MAX(s.total_bytes - s.usable_bytes) AS peak_bytes
  FROM log_dir_samples AS s
  INNER JOIN chosen AS c ON c.cluster = s.cluster AND c.broker = s.broker AND c.log_dir = s.log_dir
  WHERE
    s.timestamp_ms BETWEEN :now_ms - 432000000 AND :now_ms
    AND scoped(s.cluster, s.broker, s.log_dir)
    AND s.kind = 'log_dir'
    AND s.error_code = 0
    AND s.timestamp_ms <= c.sample_at_ms
    AND s.timestamp_ms > c.sample_at_ms - 432000000
  GROUP BY CAST(FLOOR((c.sample_at_ms - s.timestamp_ms) / 86400000) AS INT)
), growth AS (
  SELECT MIN(day_bytes) AS low_bytes, MAX(day_bytes) AS high_bytes
  FROM (SELECT peak_bytes - LEAD(peak_bytes) OVER (ORDER BY day) AS day_bytes FROM days) AS grown
)
SELECT
  TIMESTAMP_MILLIS(c.sample_at_ms + n * 21600000) AS time,
  CASE
    WHEN c.full_at_ms > c.sample_at_ms
      THEN LEAST(
        1.0E0,
        (c.used_bytes + (c.total_bytes - c.used_bytes) * (n * 2.16E7 / (c.full_at_ms - c.sample_at_ms)))
        / c.total_bytes
      )
  END AS forecast,
  CASE
    WHEN NOT g.low_bytes IS NULL
      THEN GREATEST(0.0E0, LEAST(1.0E0, (c.used_bytes + g.low_bytes * n / 4.0E0) / c.total_bytes))
  END AS slowest,
  CASE
    WHEN NOT g.high_bytes IS NULL
      THEN GREATEST(0.0E0, LEAST(1.0E0, (c.used_bytes + g.high_bytes * n / 4.0E0) / c.total_bytes))
  END AS fastest
FROM chosen AS c
CROSS JOIN growth AS g
CROSS JOIN (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15), (16)) AS steps(n)
ORDER BY 1
