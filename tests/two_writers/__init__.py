"""Two processes, each with a JVM of its own, write one table and are killed again and again: no commit may be lost.

``python -m tests.two_writers --commits 1000 --kills 6`` does it in a folder, and with ``--s3`` on a server of S3's
protocol.
"""
