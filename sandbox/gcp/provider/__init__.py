"""The plugin `gcp` as the Pulumi engine calls it: checks, diffs, and what the engine is told.

What exists in the cloud and its rules are in the rooms beside.
"""
