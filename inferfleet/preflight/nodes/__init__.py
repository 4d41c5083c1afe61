"""Nodes of existing clusters against what documents declare of them.

Here belongs what is read from nodes before an update; what `inferfleet capacity` notes does not.
"""
