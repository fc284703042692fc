"""What no proposal may do to others' limits on clusters of any shape."""

import random
import re
from dataclasses import replace as dataclass_replace

from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.model.vocabulary import LOG_DIR_THROTTLE, REPLICATION_THROTTLES, THROTTLED_REPLICAS
from logdirwatch.plan.commands.throttles import from_data
from logdirwatch.plan.recommend import recommend
from tests.unit.plan.builders import NOW_MS, policy, space_alert
from tests.unit.plan.responses.test_failure_properties import troubles
from tests.unit.plan.test_properties import clusters

RATES = (*REPLICATION_THROTTLES, LOG_DIR_THROTTLE)
LINE = re.compile(r"^(brokers|topics) (\S+) ([a-z.]+)=(.*)$", re.MULTILINE)


def limited(found, rng):
    """Return the facts with limits that somebody set here and there, at the plans' own usual rate as well."""
    brokers = {
        number: changed_configs(one, {key: rng.choice(["50000000", "7"]) for key in RATES if rng.random() < 0.4})
        for number, one in found.brokers.items()
    }
    topics = {
        name: changed_configs(one, {key: rng.choice(["*", "0:1"]) for key in THROTTLED_REPLICAS if rng.random() < 0.4})
        for name, one in found.layout.topics.items()
    }
    layout = type(found.layout)(topics=topics, replicas=found.layout.replicas)
    return dataclass_replace(found, brokers=brokers, layout=layout)


def changed_configs(one, more):
    return dataclass_replace(one, configs={**one.configs, **more})


def is_foreign(entity, name, key, found):
    if entity == "topics":
        return bool(name in found.topics and found.topics[name].configs.get(key))
    return key in found.brokers[int(name)].configs


def all_commands(action):
    return [*action.commands, *action.undo.get("commands", ()), *action.undo.get("while_running", ())]


def check_limits(actions, found):
    for action in actions:
        for command in all_commands(action):
            assert " --throttle " not in command
            assert "--replica-alter-log-dirs-throttle" not in command
            if "--verify" in command or "--cancel" in command:
                assert "--preserve-throttles" in command
            for entity, name, key, _ in LINE.findall(command):
                assert not is_foreign(entity, name, key, found), command
        for one in from_data(action.expected.get("sets_limits") or {"brokers": {}, "topics": {}}):
            assert not is_foreign(one.entity, one.name, one.key, found)


@given(trouble=troubles(), seed=st.integers(0, 2**32))
def test_no_answer_to_a_failure_sets_or_clears_a_limit_of_somebody_else(trouble, seed):
    about, found = trouble
    found = limited(found, random.Random(seed))
    check_limits(recommend(about, found, policy(), NOW_MS), found)


@given(model=clusters(), seed=st.integers(0, 2**32), to=st.sampled_from(["filling", "critical", "saturated"]))
def test_no_answer_to_a_filling_directory_does(model, seed, to):
    found = limited(model.facts, random.Random(seed))
    for broker, path in sorted(found.directories)[:2]:
        check_limits(recommend(space_alert(to, number=broker, log_dir=path), found, policy(), NOW_MS), found)
