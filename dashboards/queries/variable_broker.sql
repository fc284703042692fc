-- The brokers of the chosen cluster.
SELECT CAST(broker AS STRING) AS broker
FROM broker_state
WHERE scoped(cluster)
GROUP BY broker
ORDER BY MIN(broker_state.broker)
