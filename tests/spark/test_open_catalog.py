"""Tables in a Hive metastore: the stream's writer finds them by name, everything else reads them at their location."""

import json

import pytest
import yaml

from tests.kafka.collecting import run as logdirwatch
from tests.spark.test_given_session import run

WRITE = """
from logdirwatch.config.stream import StreamSettings
from logdirwatch.jobs.session import build_session, end_session
from logdirwatch.settings import Settings
from logdirwatch.store.schema.definitions import TABLES
from logdirwatch.store.settings import TableSettings
from logdirwatch.store.tables import Tables
from tests.spark.lake import Lake, alert, metrics, replicas, scan_end, state

warehouse = folder / "warehouse"
hive = {
    "spark.sql.catalogImplementation": "hive",
    "spark.sql.warehouse.dir": str(warehouse),
    "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder / 'metastore'};create=true",
}
options = {"driver_java_options": f"-Dderby.stream.error.file={folder / 'derby.log'}", "extra": hive}
in_hive = TableSettings(catalog="spark_catalog", table_schema="logdirs")
settings = Settings(home=str(home), default_cluster="home", stream=StreamSettings(**options), tables=in_hive)
spark = build_session(settings)
spark.sql("CREATE SCHEMA logdirs")
lake = Lake(spark, warehouse / "logdirs.db")
lake.tables = Tables(spark, settings)
lake.tables.create_missing(TABLES.values())
lake.store(metrics(), state(log_dirs={"/d1": "offline", "/d2": "online"}), alert())
lake.scan(replicas("t-0"), scan_end(1))
assert lake.tables.are_direct()
print(spark.sql("DESCRIBE EXTENDED spark_catalog.logdirs.alerts").where("col_name = 'Type'").first()["data_type"])
end_session(spark)
"""


@pytest.mark.long
def test_status_reads_what_the_stream_writes_into_a_hive_metastore(tmp_path):
    done = run(tmp_path, WRITE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "MANAGED"
    config = tmp_path / "reader.yaml"
    tables = {"path": str(tmp_path / "warehouse" / "logdirs.db")}
    config.write_text(yaml.safe_dump({"telemetry": {"bootstrap_servers": "127.0.0.1:1"}, "tables": tables}))
    read = json.loads(logdirwatch(config, "status", "--json").stdout)
    (cluster,), errors = read["clusters"], read["table_errors"]
    (broker,) = cluster["brokers"]
    found = {one["log_dir"]: one["last_status"] for one in broker["log_dirs"]}
    assert (found, errors) == ({"/d1": "offline", "/d2": "online"}, {})
    assert [one["topic"] for one in cluster["last_offline_replicas"]] == ["t"]
