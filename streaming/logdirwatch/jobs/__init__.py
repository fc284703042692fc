"""The Spark application: its queries, checkpoints, session and checks; wiring only."""
