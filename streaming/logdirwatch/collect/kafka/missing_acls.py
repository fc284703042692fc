"""The ACL that the collector's user lacks when a broker refuses a request. Pure."""

_ACLS = {
    "configs of broker": "DescribeConfigs on the cluster",
    "topic configs": "DescribeConfigs on topics",
    "configs of some topics": "DescribeConfigs on topics",
    "consumer groups": "Describe on groups",
    "reassignments": "Describe on the cluster",
    "quorum": "Describe on the cluster",
    "some topics": "Describe on topics",
    "broker": "Describe on the cluster",
}


def with_acl(what: str, error: str) -> str:
    """Return an error with the missing ACL, if that is its cause; ``what`` is what was requested."""
    acl = next((acl for asked, acl in _ACLS.items() if what.startswith(asked)), None)
    return f"{error}: the user lacks the ACL {acl}" if acl and "AuthorizationFailed" in error else error
