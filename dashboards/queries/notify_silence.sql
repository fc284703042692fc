-- What nobody sees: clusters of which nothing new is known, or tables that nothing was ever written to.
SELECT cluster, at_ms, summary
FROM blind_spots
ORDER BY cluster
