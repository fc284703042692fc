"""The state machine: pure Python, time is an argument; ``spark/`` alone knows Spark."""
