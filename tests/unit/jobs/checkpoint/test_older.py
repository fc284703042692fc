"""Which state variables a checkpoint tells of."""

import json

from logdirwatch.detect.spark import shard
from logdirwatch.jobs.checkpoint.older import variables_of


def metadata(*names):
    variables = [{"stateName": name, "ttlEnabled": False} for name in ("$procTimers_keyToTimestamp", *names)]
    return "v2\n" + json.dumps({"operatorPropertiesJson": json.dumps({"stateVariables": variables})})


def test_the_present_form_is_what_detect_declares():
    assert variables_of(metadata(*shard.VARIABLES)) <= set(shard.VARIABLES)
    assert not variables_of(metadata("broker")) <= set(shard.VARIABLES)
