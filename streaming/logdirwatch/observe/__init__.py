"""What long-running commands tell of themselves over HTTP: metrics for Prometheus, health, readiness."""
