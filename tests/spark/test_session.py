"""The session that Spark gives, or does not."""

import pytest
import yaml

from tests.kafka import collecting
from tests.kafka.conftest import JARS_HOME

LINE = (
    "logdirwatch: Spark gives no session: [JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port "
    "number. Its own lines above say why; look at the section stream of the configuration, or at what spark-submit "
    "was given"
)


@pytest.mark.parametrize("wrong", [{"master": "nowhere"}, {"driver_memory": "much"}], ids=str)
def test_what_spark_cannot_start_with_is_one_line(tmp_path, wrong):
    config = tmp_path / "logdirwatch.yaml"
    config.write_text(
        yaml.safe_dump({"telemetry": {"bootstrap_servers": "127.0.0.1:1"}, "stream": wrong, "home": str(JARS_HOME)})
    )
    done = collecting.run(config, "maintain")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == LINE
    assert "Traceback" not in done.stderr
