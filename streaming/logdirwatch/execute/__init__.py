"""Carries out accepted actions: operations become steps; each is observed, decided and called.

A journal allows resuming. The decisions are pure; only ``admin`` and ``journal`` talk to Kafka.
"""
