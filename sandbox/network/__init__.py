"""The network of a cluster's pods: a network namespace of its own, and the ways in and out of it.

Here belongs how the namespace is made, entered and reached from outside. Which addresses pods get of it is
decided in `cluster/podnet.py`, and what listens at them is the business of `agent/`, `gateway/` and `istio/`.
"""
