"""Carrying an accepted action out: operations to steps, look, decide, call, and a journal to go on from.

The judgement is pure; only ``admin`` and ``journal`` talk to Kafka.
"""
