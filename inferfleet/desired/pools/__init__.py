"""Pools of existing clusters as documents declare them, for whoever compares them with nodes.

Here belong values. What nodes are like is seen in `preflight`.
"""
