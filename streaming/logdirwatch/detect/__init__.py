"""The state machine: pure Python with time as an argument; only ``spark/`` depends on Spark."""
