"""Files of a checkpoint that were half written, or that another release wrote."""

import json

import pytest

from logdirwatch.detect.spark import shard
from logdirwatch.jobs.checkpoint.repair import is_whole
from logdirwatch.jobs.checkpoint.unusable import variables_of

OFFSETS = 'v1\n{"batchWatermarkMs":0}\n{"logdir.metrics":{"0":12}}'
COMMITS = 'v1\n{"nextBatchWatermarkMs":0}'
SOURCES = '\x00v1\n{"logdir.metrics":{"0":12}}'
NOTE = 'v2\n{"operatorInfo":{"operatorId":0},"stateStoreInfo":[]}'


@pytest.mark.parametrize("text", [OFFSETS, OFFSETS + "\n-", OFFSETS.replace("v1", "v2")])
def test_what_spark_wrote_in_full_is_whole(text):
    assert is_whole("offsets", text)


@pytest.mark.parametrize(
    ("kind", "text"), [("offsets", OFFSETS), ("commits", COMMITS), ("notes", NOTE), ("sources", SOURCES)]
)
def test_what_is_cut_anywhere_is_torn(kind, text):
    assert is_whole(kind, text)
    assert [text[:end] for end in range(len(text)) if is_whole(kind, text[:end])] == []


@pytest.mark.parametrize("text", ["", "\x00" * 40, "v1", "v1\n", "{}\n{}", "vx\n{}"])
def test_what_is_no_checkpoint_file_is_torn(text):
    assert not is_whole("commits", text)


def test_the_id_of_a_query_is_whole_when_it_is_an_object_and_torn_when_it_is_cut_anywhere():
    text = '{"id":"0b9a1f5e-6a2f-4c26-a5ac-54d7d6f3bb6d"}'
    assert is_whole("id", text)
    assert [text[:end] for end in range(len(text)) if is_whole("id", text[:end])] == []
    assert not is_whole("id", '"id"')


def metadata(*names):
    variables = [{"stateName": name, "ttlEnabled": False} for name in ("$procTimers_keyToTimestamp", *names)]
    return "v2\n" + json.dumps({"operatorPropertiesJson": json.dumps({"stateVariables": variables})})


def test_the_present_form_is_what_detect_declares():
    assert variables_of(metadata(*shard.VARIABLES)) <= set(shard.VARIABLES)
    assert not variables_of(metadata("broker")) <= set(shard.VARIABLES)
