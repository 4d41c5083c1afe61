"""Sandboxes that belong to nobody any more: whose they are, how that is noticed, and their end.

Nothing here ends a sandbox whose checkout exists and whose owner, if it has one, is alive.
"""
