"""The ports of a local session: every user of the machine reaches them, and only those with its secret are answered."""

import psutil
import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway

from tests.support.waiting import DEADLINE_S

ENDPOINTS = ("BlockManagerMaster", "LocalSchedulerBackendEndpoint", "MapOutputTracker", "HeartbeatReceiver")
PATIENCE = {"spark.rpc.askTimeout": "60s", "spark.rpc.lookupTimeout": "60s"}


@pytest.fixture(scope="module")
def other_jvm():
    """A JVM of its own: in the driver's, Hadoop hands the secret to whoever asks."""
    gateway = launch_gateway()
    yield gateway.jvm
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(DEADLINE_S)


@pytest.fixture
def guest(spark, other_jvm):
    """Return a function that reaches an endpoint of the driver through its port, with a configuration of its own."""
    jvm, made = other_jvm, []

    def reach(endpoint, **conf):
        client = jvm.org.apache.spark.SparkConf(False)
        for key, value in {**PATIENCE, **conf}.items():
            client.set(key, value)
        file = getattr(getattr(jvm.org.apache.spark.internal.config, "package$"), "MODULE$").AUTH_SECRET_FILE()
        trust = jvm.org.apache.spark.SecurityManager(client, jvm.scala.Option.empty(), file)
        made.append(jvm.org.apache.spark.rpc.RpcEnv.create("guest", "127.0.0.1", 0, client, trust, True))
        port = int(spark.sparkContext.getConf().get("spark.driver.port"))
        return made[-1].setupEndpointRef(jvm.org.apache.spark.rpc.RpcAddress("127.0.0.1", port), endpoint)

    yield reach
    for env in made:
        env.shutdown()


GUESSED = {"spark.authenticate": "true", "spark.authenticate.secret": "guessed"}


@pytest.mark.parametrize(
    ("endpoint", "conf"),
    [
        *((endpoint, {}) for endpoint in ENDPOINTS),
        (ENDPOINTS[0], GUESSED),
        (ENDPOINTS[0], {**GUESSED, "spark.network.crypto.enabled": "true"}),
    ],
    ids=str,
)
def test_a_client_without_the_secret_reaches_no_endpoint(guest, endpoint, conf):
    # PySpark looks for the exception of the other JVM in its own one.
    with pytest.raises((Py4JError, PySparkException)):
        guest(endpoint, **conf)


@pytest.mark.parametrize("endpoint", ENDPOINTS[:2])
def test_a_client_with_the_secret_does(spark, guest, endpoint):
    secret = spark.sparkContext._jsc.sc().env().securityManager().getSecretKey()
    trust = {"spark.authenticate": "true", "spark.authenticate.secret": secret, "spark.network.crypto.enabled": "true"}
    assert guest(endpoint, **trust).name() == endpoint


def test_each_session_has_a_secret_that_is_long_and_in_no_configuration(spark):
    secret = spark.sparkContext._jsc.sc().env().securityManager().getSecretKey()
    assert len(secret) >= 32
    assert secret not in str(spark.sparkContext.getConf().getAll())


def test_no_port_is_open_beyond_this_machine(spark):
    driver = psutil.Process(spark._jvm.java.lang.ProcessHandle.current().pid())
    listening = {one.laddr.ip for one in driver.net_connections("tcp") if one.status == psutil.CONN_LISTEN}
    assert listening <= {"127.0.0.1", "::ffff:127.0.0.1", "::1"}
