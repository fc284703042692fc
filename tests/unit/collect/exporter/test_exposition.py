"""The text format of exporters."""

from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.collect.exporter import mbeans
from logdirwatch.collect.exporter.exposition import Sample, samples

LINE = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["kafka_log_LogManager_Value", "kafka_log_logmanager_logdirectoryoffline", "#", ""]),
    st.sampled_from(["", "{", '{name="OfflineLogDirectoryCount"', '{logdirectory="\\"/d1\\"",}', "}", "{} "]),
    st.text(max_size=20),
    st.sampled_from([" 1", "\n", " NaN\n", '"} 2\n']),
)


@given(st.binary(max_size=200) | st.lists(LINE, max_size=8).map(lambda lines: "".join(lines).encode()))
def test_no_bytes_are_an_error(body):
    for sample in samples(body, lambda _: True):
        assert isinstance(sample, Sample)
    assert all(value is None or value - value == 0 for value in mbeans.metrics(body).values())


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), st.text(max_size=20), max_size=4), st.floats())
def test_what_is_written_by_the_rules_is_read_back(labels, value):
    escaped = {k: v.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"') for k, v in labels.items()}
    written = ",".join(f'{name}="{text}"' for name, text in escaped.items())
    (sample,) = samples(f"m{{{written}}} {value!r}\n".encode(), lambda name: name == "m")
    assert sample == Sample("m", labels, value if value - value == 0 else None)
