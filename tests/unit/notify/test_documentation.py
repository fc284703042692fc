"""What docs/notifications.md shows can be used as it stands there."""

import re
from pathlib import Path

import pytest
import yaml

from logdirwatch.notify.senders import service
from logdirwatch.settings import Settings

PAGE = (Path(__file__).parents[3] / "docs" / "notifications.md").read_text()
URLS = re.findall(r"^\| [^|]+ \| `(\w+://[^`]+)` \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("block", re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
def test_its_configurations_are_valid(block):
    notify = Settings(**yaml.safe_load(block)).notify
    for receiver in notify.receivers.values():
        assert all(service(url.get_secret_value()) for url in receiver.urls)


def test_apprise_knows_its_urls():
    assert len(URLS) == 4
    assert [url for url in URLS if service(url) is None] == []
