"""Pods of a deployment whose prefill and decode are apart.

What both roles need besides other pods: the routing proxy of decode pods, and how KV caches find their way.
"""
