"""Prefill and decode of a deployment as a pair: whether one can read the KV caches that the other writes.

Here belongs what compares the two sides. What one command line says is read in `fleet.engines`, and the
names of connectors and versions are in `profiles.kv_transfer`.
"""
