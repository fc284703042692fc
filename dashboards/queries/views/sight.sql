-- Whether every chosen cluster is seen: where one is not, a count of bad things may be too low.
SELECT COUNT(*) > 0 AND COUNT_IF(NOT is_fresh) = 0 AS is_clear
FROM known
