"""Kinds that a cluster gets from others: whether it knows them, and whether their definitions are new enough.

Here belongs what is said of kinds and of what acts on them; what is said of single objects does not.
"""
