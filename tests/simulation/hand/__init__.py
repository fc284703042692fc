"""What carries out actions, against everybody else: a model of Kafka's admin side, and events drawn from a seed.

``kafka`` is the model (compared with real brokers in ``tests/kafka/test_apply_kafka.py``), ``adversary`` what others do
and when, ``laws`` what must hold after every event, and ``run`` one schedule of one seed.
"""
