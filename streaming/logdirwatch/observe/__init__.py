"""The HTTP endpoint of long-running commands: metrics for Prometheus, health, readiness."""
