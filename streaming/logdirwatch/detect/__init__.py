"""The state machine: pure Python, time is an argument; ``processor`` alone knows Spark."""
