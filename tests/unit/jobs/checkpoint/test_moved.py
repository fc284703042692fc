"""What a state's metadata says of where its checkpoint lies."""

import json

from logdirwatch.jobs.checkpoint.repair import told_of

SCHEMA = "/state/0/_stateSchema/default/0_1f"


def metadata(*places, **rest):
    store = {"storeName": "default", "stateSchemaFilePaths": [f"{place}{SCHEMA}" for place in places]} | rest
    return "v2\n" + json.dumps({"operatorInfo": {"operatorId": 0}, "stateStoreInfo": [store]})


def test_every_path_follows_and_all_else_stays():
    before = metadata("file:/a/detect", "s3a://old/detect", note="file:/a/detect")
    assert told_of(before, "file:/b/detect") == metadata("file:/b/detect", "file:/b/detect", note="file:/a/detect")


def test_a_folder_called_state_above_is_no_part_of_the_checkpoint():
    assert told_of(metadata("file:/state/detect"), "file:/b/state/detect") == metadata("file:/b/state/detect")


def test_stores_without_a_schema_file_are_left_alone():
    text = "v2\n" + json.dumps({"stateStoreInfo": [{"storeName": "default"}]})
    assert told_of(text, "file:/b/detect") == text
