"""One process: the collector, the stream's judgement and the planner, without Spark's engine and without topics."""
