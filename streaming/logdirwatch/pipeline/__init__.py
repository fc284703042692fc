"""How the queries of the stream fare: what they have read, what waits, what was lost, what could not be read."""
