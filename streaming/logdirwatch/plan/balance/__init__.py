"""Plans for whole clusters: balance and evacuation on a model in memory, without Spark or Kafka."""
