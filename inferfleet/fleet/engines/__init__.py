"""Engines by their command lines: how they are read, and what they must say of the pods of a worker.

Here belongs what a word means to an engine, by the tables in `profiles.engines`. What contradicts a document
is told by `fleet.engine_args`, and which ports serve by `fleet.ports`.
"""
