-- The clusters that the tables know.
SELECT DISTINCT cluster
FROM broker_state
ORDER BY cluster
