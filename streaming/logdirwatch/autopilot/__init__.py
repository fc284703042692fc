"""The service that carries out actions unattended, within what its configuration allows.

``judge`` decides from facts alone whether an action may start; ``rules`` has one rule per module; only ``feed``,
``worker`` and ``service`` talk to Kafka.
"""
