"""placement.lock: placements in force, and what clusters and pools were created with, as value and text.

Its text is state: an entry is written in exactly one form.
"""
