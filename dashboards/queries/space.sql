-- The disks of the choice together, a volume counted once; unknown disks are left out of the sums and counted beside.
SELECT
  SUM(CASE WHEN badness > 1 THEN used_bytes END) / SUM(CASE WHEN badness > 1 THEN total_bytes END) AS used_ratio,
  SUM(CASE WHEN badness > 1 THEN total_bytes - used_bytes END) AS usable_bytes,
  SUM(CASE WHEN badness > 1 THEN total_bytes END) AS total_bytes,
  CASE WHEN COUNT(*) > 0 THEN COUNT_IF(badness <= 1 OR used_bytes IS NULL) END AS unseen_disks
FROM disks
