"""Reads clusters: do they answer, which ones are they, whose objects stand there. Never writes.

What follows from the answers is decided in `desired` and below.
"""
