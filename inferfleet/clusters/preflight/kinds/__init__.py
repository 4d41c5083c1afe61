"""Kinds that a cluster gets from others: whether it knows them, and whether somebody acts on their objects.

Here belongs what is said of kinds and of what acts on them; what is said of single objects does not.
"""
