"""The service that carries actions out without a person at the terminal, within what its configuration allows.

``judge`` says whether an action may start, from facts alone; ``rules`` has one rule a file; only ``feed``, ``worker``
and ``service`` talk to Kafka.
"""
