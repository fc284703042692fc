-- Age of the newest state, of the cluster where it is oldest. Old means that all below is the past.
SELECT CASE WHEN MAX(at_ms) - :now_ms <= 60000 THEN :now_ms - MIN(at_ms) END AS state_age_ms
FROM known
