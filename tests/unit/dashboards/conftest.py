"""The library that writes dashboards needs Python 3.11; what it writes needs nothing."""

import sys

collect_ignore_glob = ["test_*.py"] if sys.version_info < (3, 11) else []
