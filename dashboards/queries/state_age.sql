-- Age of the newest state, of the cluster where it is oldest. Old means that all below is the past.
SELECT :now_ms - MIN(at_ms) AS state_age_ms
FROM known
