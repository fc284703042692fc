"""A server of S3's protocol on this machine, and the jars with which Spark reaches it.

It answers one request after the other: moto looks for an object and then puts it, which is atomic only then.
"""

import os
import subprocess
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pyspark
from jgo.maven import MavenContext

from logdirwatch_lab.ports import free_ports
from tests.support.waiting import DEADLINE_S, wait_until

BUCKET = "bucket"
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
HOME = Path(os.environ.get("LOGDIRWATCH_HOME", Path(__file__).parents[2] / ".logdirwatch"))

# What S3A needs, without the bundle of all of Amazon's SDK, which has 650 MiB. Each is named: jgo does not resolve the
# parents of these POMs.
_SDK = """
annotations apache-client arns auth aws-core aws-query-protocol aws-xml-protocol checksums checksums-spi crt-core
endpoints-spi http-auth http-auth-aws http-auth-aws-eventstream http-auth-spi http-client-spi identity-spi json-utils
metrics-spi netty-nio-client profiles protocol-core regions retries retries-spi s3 s3-transfer-manager sdk-core sts
third-party-jackson-core utils utils-lite
"""
_COORDINATES = (
    *(f"software.amazon.awssdk:{name}:2.35.4" for name in _SDK.split()),
    "software.amazon.eventstream:eventstream:1.0.1",
    "software.amazon.s3.analyticsaccelerator:analyticsaccelerator-s3:1.3.1",
    "org.reactivestreams:reactive-streams:1.0.4",
    "commons-logging:commons-logging:1.2",
)


def spark_jars():
    """Return the jars of Hadoop's S3A for the Spark that is installed; they are downloaded once."""
    (client,) = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
    hadoop = client.stem.removeprefix("hadoop-client-api-")
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(_jar, (f"org.apache.hadoop:hadoop-aws:{hadoop}", *_COORDINATES)))


def _jar(coordinate):
    group, artifact, version = coordinate.split(":")
    return MavenContext().project(group, artifact).at_version(version).artifact().resolve()


def conf(endpoint):
    """Return what ``stream.extra`` has for a server: its jars, and S3A's properties."""
    return {"spark.jars": ",".join(map(str, spark_jars())), **properties(endpoint)}


def properties(endpoint):
    """Return S3A's properties for a server."""
    return {
        "spark.hadoop.fs.s3a.endpoint": endpoint,
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.access.key": KEYS["AWS_ACCESS_KEY_ID"],
        "spark.hadoop.fs.s3a.secret.key": KEYS["AWS_SECRET_ACCESS_KEY"],
    }


@contextmanager
def server():
    """Yield the address of a server with an empty bucket; it ends with the block."""
    (port,) = free_ports(1)
    address = f"http://127.0.0.1:{port}"
    process = subprocess.Popen([sys.executable, "-m", "tests.support.s3", str(port)], cwd=Path(__file__).parents[2])
    try:
        wait_until(lambda: _is_there(address, process), DEADLINE_S, "the S3 server answers")
        request = urllib.request.Request(f"{address}/{BUCKET}", method="PUT")
        urllib.request.urlopen(request).close()
        yield address
    finally:
        process.terminate()
        process.wait()


def _is_there(address, process):
    assert process.poll() is None, "the S3 server has ended"
    try:
        urllib.request.urlopen(f"{address}/moto-api/").close()
    except OSError:
        return False
    return True


def _serve(port):
    from moto.server import DomainDispatcherApplication, create_backend_app
    from waitress import serve

    serve(DomainDispatcherApplication(create_backend_app), host="127.0.0.1", port=port, threads=1)


if __name__ == "__main__":
    os.environ.update(KEYS)
    _serve(int(sys.argv[1]))
