"""The ACL that is missing, in the words of Kafka's own tool."""

import pytest

from logdirwatch.collect.kafka.missing_acls import with_acl


@pytest.mark.parametrize(
    ("what", "acl"),
    [
        ("broker", "Describe on the cluster"),
        ("configs of broker 12", "DescribeConfigs on the cluster"),
        ("configs of some topics", "DescribeConfigs on topics"),
        ("consumer groups", "Describe on groups"),
        ("some topics", "Describe on topics"),
        ("quorum", "Describe on the cluster"),
    ],
)
def test_a_refusal_names_the_acl(what, acl):
    error = "[Error 31] ClusterAuthorizationFailedError"
    assert with_acl(what, error) == f"{error}: the user lacks the ACL {acl}"


def test_another_error_stays_as_it_is():
    assert with_acl("quorum", "TimeoutError: no answer") == "TimeoutError: no answer"
