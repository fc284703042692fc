"""Servers over histories that are written beforehand."""

from contextlib import ExitStack

import pytest

from tests.support import prometheus


@pytest.fixture(scope="session")
def serving(tmp_path_factory):
    """Start a server over series by name; further arguments are those of :func:`prometheus.serving`."""
    with ExitStack() as servers:

        def start(series, **more):
            folder = tmp_path_factory.mktemp("prometheus")
            return servers.enter_context(prometheus.serving(folder, prometheus.open_metrics(series), **more))

        try:
            prometheus.program("promtool")
        except FileNotFoundError as error:
            pytest.fail(str(error), pytrace=False)
        yield start
