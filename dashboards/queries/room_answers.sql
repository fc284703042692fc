-- Can any one log directory, any one broker, be lost and rebuilt on the others, no disk going above the critical level?
-- Only bytes are compared: racks, and brokers that hold another replica already, can only make it worse.
SELECT
  CASE
    WHEN NOT s.is_clear OR d.disks = 0 THEN 'unknown'
    WHEN d.short > 0 THEN 'no'
    WHEN d.unknown > 0 THEN 'unknown'
    ELSE 'yes'
  END AS any_log_dir,
  CASE
    WHEN NOT s.is_clear OR b.brokers = 0 THEN 'unknown'
    WHEN b.short > 0 THEN 'no'
    WHEN b.unknown > 0 THEN 'unknown'
    ELSE 'yes'
  END AS any_broker,
  CASE WHEN s.is_clear THEN GREATEST(d.missing_bytes, b.missing_bytes) END AS missing_bytes
FROM sight AS s
CROSS JOIN (
  SELECT
    COUNT(*) AS disks,
    COUNT_IF(disks.replica_bytes IS NULL) AS unknown,
    COUNT_IF(disks.replica_bytes > rooms.cluster_bytes - rooms.own_bytes) AS short,
    COALESCE(MAX(GREATEST(0, disks.replica_bytes - (rooms.cluster_bytes - rooms.own_bytes))), 0) AS missing_bytes
  FROM disks
  INNER JOIN rooms ON rooms.cluster = disks.cluster AND rooms.broker = disks.broker
) AS d
CROSS JOIN (
  SELECT
    COUNT(*) AS brokers,
    COUNT_IF(needs_bytes IS NULL) AS unknown,
    COUNT_IF(needs_bytes > cluster_bytes - own_bytes) AS short,
    COALESCE(MAX(GREATEST(0, needs_bytes - (cluster_bytes - own_bytes))), 0) AS missing_bytes
  FROM rooms
) AS b
