"""The open alerts as a series for Prometheus."""

from collections.abc import Mapping

from prometheus_client.core import GaugeMetricFamily, Metric


def firing_alerts(counts: Mapping[tuple[str, str, str], int]) -> Metric:
    """Return the numbers of open alerts by cluster, rule and severity."""
    gauge = GaugeMetricFamily("logdirwatch_alerts_firing", "Open alerts", labels=["cluster", "rule", "severity"])
    for labels, count in sorted(counts.items()):
        gauge.add_metric(list(labels), count)
    return gauge
