-- The log directories of the chosen broker.
SELECT DISTINCT log_dir
FROM log_dir_state
WHERE scoped(cluster, broker)
ORDER BY log_dir
