"""Clouds in which the stack creates clusters: `values` that all rooms read, `provider` whom they ask.

What one cloud knows is in a room of its own, which nobody outside imports. Nothing here touches the network.
"""
