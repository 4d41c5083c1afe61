"""Moves among replicas that are new in this plan, and so run nowhere yet: for more of them, or at less cost.

A new replica gives its pool to another one and goes elsewhere itself, where again a new one may have to make
room. Nothing here moves a replica that runs.
"""
