"""What exporters say is in the records while it is fresh; one that is slow, broken or gone harms nothing."""

import asyncio
import datetime
import ipaddress
import ssl
from dataclasses import replace

import pytest
import structlog
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from pydantic import ValidationError

from logdirwatch.collect.exporter.scrape import MAX_AGE_INTERVALS, Exporters
from logdirwatch.collect.loop import ClusterWatch
from logdirwatch.collect.settings import CollectSettings, JmxExporterSettings
from logdirwatch.errors import UserError
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.settings import load
from logdirwatch_lab.ports import free_ports
from tests.support.waiting import DEADLINE_S
from tests.unit.collect.builders import Brokers, Clock, broker_facts, decoded, log_dir, node, ok, poller, reserve_of
from tests.unit.collect.exporter.exporters import GOOD, Answer, serving

FAILED = {"scrape_ok": 0.0}
SECRET = "tops3cret"


@pytest.fixture
def exporter():
    with serving() as running:
        yield running


def settings(exporter, **fields):
    return JmxExporterSettings(**{"url": f"{exporter.url}/{{broker}}", **fields})


def watching(work, configured, clock=None):
    """Run ``work`` with the exporters of one cluster; return what it returns and what was logged."""

    async def run():
        exporters = Exporters("prod", configured, clock or Clock())
        try:
            return await asyncio.wait_for(work(exporters), DEADLINE_S)
        finally:
            exporters.close()

    with structlog.testing.capture_logs() as logged:
        return asyncio.run(run()), logged


def scraped(configured, *brokers):
    """Scrape once; return the metrics of each broker and what was logged."""
    facts = brokers or (broker_facts(1),)

    async def work(exporters):
        await exporters.scrape(facts)
        return [exporters.metrics_of(broker) for broker in facts]

    return watching(work, configured)


def test_values_are_there_with_their_age(exporter):
    clock = Clock()

    async def work(exporters):
        await exporters.scrape([broker_facts(1)])
        clock.at_ms += 700
        return exporters.metrics_of(broker_facts(1, kafka_version="4.3"))

    found, logged = watching(work, settings(exporter), clock)
    assert found == {
        "OfflineLogDirectoryCount": 1.0,
        "OfflineReplicaCount": 3.0,
        "scrape_ok": 1.0,
        "scrape_age_ms": 700.0,
    }
    assert logged == []


@pytest.mark.parametrize("version", [None, "4.2"])
def test_a_gauge_that_this_release_counts_wrongly_is_not_known(exporter, version):
    (found,), _ = scraped(settings(exporter), broker_facts(1, kafka_version=version))
    assert found["OfflineReplicaCount"] is None
    assert found["OfflineLogDirectoryCount"] == 1.0


def test_before_the_first_scrape_and_without_an_exporter_nothing_is_said(exporter):
    only_one = JmxExporterSettings(urls={1: exporter.url})
    (first, second), logged = scraped(only_one, broker_facts(1), broker_facts(2))
    assert first["scrape_ok"] == 1.0
    assert second == {}
    assert scraped(JmxExporterSettings(), broker_facts(1)) == ([{}], [])
    assert logged == []


def test_values_that_are_too_old_are_left_out(exporter):
    clock = Clock()
    limit_ms = MAX_AGE_INTERVALS * 1_000

    async def work(exporters):
        await exporters.scrape([broker_facts(1)])
        clock.at_ms += limit_ms
        at_the_limit = exporters.metrics_of(broker_facts(1))
        clock.at_ms += 1
        return at_the_limit, exporters.metrics_of(broker_facts(1))

    (at_the_limit, over), _ = watching(work, settings(exporter, interval_ms=1_000), clock)
    assert at_the_limit["scrape_age_ms"] == limit_ms
    assert over == FAILED


def test_an_exporter_that_hangs_delays_no_other_and_is_not_asked_twice(exporter):
    exporter.says = {"/2": None, "/3": Answer(b"")}
    brokers = [broker_facts(2), broker_facts(1)]

    async def work(exporters):
        hanging = asyncio.create_task(exporters.scrape(brokers))
        while not exporters.metrics_of(broker_facts(1)):
            await asyncio.sleep(0.001)
        await exporters.scrape(brokers)
        assert not hanging.done()
        found = exporters.metrics_of(broker_facts(1)), exporters.metrics_of(broker_facts(2))
        exporter.released.set()
        await hanging
        return found

    (good, silent), _ = watching(work, settings(exporter, timeout_ms=60_000))
    assert good["scrape_ok"] == 1.0
    assert silent == {}
    assert sorted(exporter.asked) == ["/1", "/1", "/2"]


def test_an_exporter_that_hangs_does_not_delay_a_poll(exporter):
    exporter.says = {"/1": None}
    sent = []

    async def work(exporters):
        polling = poller(Brokers({1: ok(log_dir())}, {1: node(1)}), sent)
        polling.metrics_of = exporters.metrics_of
        hanging = asyncio.create_task(exporters.scrape([broker_facts(1)]))
        while not exporter.asked:
            await asyncio.sleep(0.001)
        await polling.poll()
        assert not hanging.done()
        exporter.released.set()
        await hanging
        await polling.poll()

    watching(work, settings(exporter, timeout_ms=60_000))
    assert [decoded(record).metrics for record in sent] == [{}, FAILED]
    assert all(decoded(record).log_dirs for record in sent)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (Answer(status=500), "HTTP 500 Internal Server Error"),
        (Answer(status=799), "HTTP 799"),
        (Answer(status=302, headers={"Location": "/1"}), "HTTP 302 Found"),
        (Answer(b"<html>Sign in</html>"), "no metric of a Kafka broker"),
        (Answer(b"node_load1 0.2\n"), "no metric of a Kafka broker"),
        (Answer(bytes(range(256))), "no metric of a Kafka broker"),
        (Answer(b""), "no metric of a Kafka broker"),
        (Answer(GOOD, headers={"Content-Length": "10000"}), "cut off"),
        (Answer(b"5\r\nkafka", headers={"Transfer-Encoding": "chunked"}), "cut off"),
        (None, "no complete answer within 200 ms"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_an_answer_that_is_of_no_use_is_a_failed_scrape_and_one_line(exporter, answer, says):
    exporter.says = {"/1": answer}
    (found,), (line,) = scraped(settings(exporter, timeout_ms=200 if answer is None else 60_000))
    assert found == FAILED
    assert line["event"] == "collect.exporter.failed"
    assert (line["cluster"], line["broker"], line["url"]) == ("prod", 1, f"{exporter.url}/1")
    assert says in line["error"]
    assert "\n" not in line["error"]


@pytest.mark.parametrize(
    ("url", "says"),
    [
        (f"http://127.0.0.1:{free_ports(1)[0]}/metrics", "Errno"),
        ("http://{host}:7071/metrics", "a character that a URL cannot have"),
    ],
    ids=["nobody listens", "no URL"],
)
def test_an_exporter_that_cannot_be_reached_is_a_failed_scrape(url, says):
    odd = replace(broker_facts(1), node=replace(node(1), host="two words"))
    (found,), (line,) = scraped(JmxExporterSettings(url=url), odd)
    assert found == FAILED
    assert says in line["error"]


def test_a_chunked_body_is_put_together(exporter):
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (GOOD[:30], GOOD[30:], b""))
    exporter.says = {"/1": Answer(chunks, headers={"Transfer-Encoding": "chunked"})}
    (found,), _ = scraped(settings(exporter))
    assert found["OfflineLogDirectoryCount"] == 1.0


def test_a_failure_is_told_when_it_begins_and_when_it_is_over(exporter):
    async def work(exporters):
        for is_good in (True, False, False, True, True, False):
            exporter.says = {"/1": Answer() if is_good else Answer(status=503)}
            await exporters.scrape([broker_facts(1)])

    _, logged = watching(work, settings(exporter))
    failed, again = "collect.exporter.failed", "collect.exporter.recovered"
    assert [line["event"] for line in logged] == [failed, again, failed]


CREDENTIALS = [
    ({"username": "reader", "password": SECRET}, "Basic cmVhZGVyOnRvcHMzY3JldA=="),
    ({"bearer_token": SECRET}, f"Bearer {SECRET}"),
]


@pytest.mark.parametrize(("credentials", "header"), CREDENTIALS, ids=["basic", "bearer"])
def test_credentials_are_sent_and_never_shown_though_the_server_sends_them_back(exporter, credentials, header):
    configured = settings(exporter, url=f"{exporter.url}/{{broker}}?key={SECRET}", **credentials)
    exporter.says = {"/1": Answer(header.encode(), 500, {"Echo": header}, reason=header)}
    _, logged = scraped(configured)
    assert exporter.headers[0]["Authorization"] == header
    assert exporter.asked == [f"/1?key={SECRET}"]
    assert logged
    without_url = settings(exporter, **credentials)
    for shown in (str(logged), repr(without_url), without_url.model_dump_json()):
        assert SECRET not in shown
        assert header.split()[1] not in shown


def test_without_credentials_none_are_sent(exporter):
    scraped(settings(exporter))
    assert "Authorization" not in exporter.headers[0]


def certificate(folder):
    """Write a certificate for 127.0.0.1 that nobody but itself vouches for; return its file and a server's context."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = datetime.datetime.now(datetime.timezone.utc)
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + datetime.timedelta(days=1))
        .add_extension(address, critical=True)
        .sign(key, hashes.SHA256())
    )
    no_password = serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, no_password)
    file, both = folder / "ca.pem", folder / "server.pem"
    file.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    both.write_bytes(pem + file.read_bytes())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(both)
    return file, context


def test_https_needs_a_certificate_that_is_trusted(tmp_path):
    file, context = certificate(tmp_path)
    with serving(context) as exporter:
        (good,), _ = scraped(settings(exporter, ca_file=str(file)))
        (refused,), (line,) = scraped(settings(exporter))
    assert good["scrape_ok"] == 1.0
    assert refused == FAILED
    assert "CERTIFICATE_VERIFY_FAILED" in line["error"]


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_a_file_of_authorities_that_cannot_be_read_is_named_at_the_start(tmp_path, content):
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)
    with pytest.raises(UserError, match=r"clusters\.prod\.jmx_exporter\.ca_file: .*ca\.pem") as raised:
        Exporters("prod", JmxExporterSettings(url="https://h/", ca_file=str(file)), Clock())
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("fields", "url"),
    [
        ({"url": "http://{host}:7071/metrics"}, "http://b7.example:7071/metrics"),
        ({"url": "http://kafka-{broker}.kafka:7071/"}, "http://kafka-7.kafka:7071/"),
        ({"url": "http://{host}/", "urls": {"7": "https://other/{broker}"}}, "https://other/7"),
        ({"urls": {8: "http://other/"}}, None),
    ],
)
def test_every_broker_has_its_url(fields, url):
    assert JmxExporterSettings(**fields).url_of(7, "b7.example") == url


def test_an_ipv6_address_is_put_into_brackets():
    assert JmxExporterSettings(url="http://{host}:7071/").url_of(7, "fd00::1") == "http://[fd00::1]:7071/"


@pytest.mark.parametrize(
    "fields",
    [
        {"url": f"http://reader:{SECRET}@host/"},
        {"url": f"ftp://{SECRET}/"},
        {"url": f"http://host:{SECRET}/"},
        {"url": f"{SECRET}:7071"},
        {"url": f"http:///{SECRET}"},
        {"url": f"http://{{hots}}/{SECRET}"},
        {"url": f"http://host/{SECRET} two"},
        {"urls": {1: f"//{SECRET}"}},
        {"username": "reader"},
        {"password": SECRET},
        {"username": "a:b", "password": SECRET},
        {"username": "reader", "password": SECRET, "bearer_token": SECRET},
        {"bearer_token": f"{SECRET}\n"},
        {"bearer_token": ""},
        {"urls": {"one": "http://host/"}},
    ],
)
def test_what_cannot_be_meant_is_refused_without_being_shown(tmp_path, fields):
    with pytest.raises(ValidationError):
        JmxExporterSettings(**fields)
    file = tmp_path / "c.yaml"
    file.write_text(yaml.safe_dump({"clusters": {"prod": {"jmx_exporter": fields}}}))
    with pytest.raises(UserError, match=r"clusters\.prod\.jmx_exporter") as raised:
        load(file)
    assert SECRET not in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.fixture
def watch(monkeypatch):
    """Return a function that makes a watch of a cluster with one broker, as the collector does."""
    brokers = Brokers({1: ok(log_dir())}, {1: node(1)})
    monkeypatch.setattr("logdirwatch.collect.loop.Admin", lambda *_: brokers)
    collect = CollectSettings(collector="c", metrics_interval_ms=100)

    def make(sent, configured):
        return ClusterWatch("prod", KafkaSettings(), configured, collect, reserve_of, sent.extend, Clock())

    return make


def test_a_watch_scrapes_before_it_polls_once(exporter, watch):
    sent = []

    async def once():
        watched = watch(sent, settings(exporter))
        try:
            await watched.once()
        finally:
            watched.close()

    asyncio.run(asyncio.wait_for(once(), DEADLINE_S))
    (record,) = [decoded(outgoing) for outgoing in sent if outgoing.topic == "logdir.metrics"]
    assert record.metrics["OfflineLogDirectoryCount"] == 1.0
    assert record.metrics["scrape_ok"] == 1.0


@pytest.mark.parametrize(("interval_ms", "scrapes"), [(100, 3), (600_000, 1)])
def test_a_watch_scrapes_as_soon_as_it_knows_the_brokers_and_again(exporter, watch, interval_ms, scrapes):
    sent = []

    async def run():
        watched = watch(sent, settings(exporter, interval_ms=interval_ms))
        running = asyncio.create_task(watched.run())
        try:
            while not any(b'"scrape_ok":1.0' in outgoing.value for outgoing in sent) or len(exporter.asked) < scrapes:
                await asyncio.sleep(0.001)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            watched.close()

    asyncio.run(asyncio.wait_for(run(), DEADLINE_S))
