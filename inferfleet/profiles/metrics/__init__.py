"""The metrics of engines: which ones go up and down, and between which numbers.

A table for each engine belongs here, with the source that it was read from.
"""
