"""Records to the telemetry cluster, kept while it is away."""
