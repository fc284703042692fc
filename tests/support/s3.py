"""A server of S3's protocol on this machine, and the jars with which Spark reaches it.

It answers one request after the other: moto looks for an object and then puts it, which is atomic only then.
"""

import os
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pyspark

from logdirwatch.jars import JarSet, _materialised, artifact_id
from logdirwatch.local.ports import free_ports
from tests.support.waiting import DEADLINE_S, wait_until

BUCKET = "bucket"
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
HOME = Path(os.environ.get("LOGDIRWATCH_HOME", Path(__file__).parents[2] / ".logdirwatch"))

# What S3A needs of Amazon's SDK; the bundle that it depends on has 650 MiB.
_SDK = "2.35.4"
_MODULES = ("s3", "s3-transfer-manager", "sts")


def spark_jars():
    """Return the jars of Hadoop's S3A for the Spark that is installed."""
    shipped = Path(pyspark.__file__).parent / "jars"
    provided = {artifact_id(path.name): path.name for path in shipped.glob("*.jar")}
    hadoop = provided["hadoop-client-api"].removesuffix(".jar").rpartition("-")[2]
    coordinates = (
        f"org.apache.hadoop:hadoop-aws:{hadoop}",
        *(f"software.amazon.awssdk:{module}:{_SDK}" for module in _MODULES),
    )
    excluded = ("software.amazon.awssdk:bundle", "org.wildfly.openssl:wildfly-openssl")
    jars = JarSet(f"s3a-{hadoop}", coordinates, excluded, frozenset(provided), f"pyspark {pyspark.__version__}")
    return _materialised(jars, HOME)


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
