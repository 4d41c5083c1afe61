"""placement.lock: the placements in force and what clusters and pools were made with, as value and as text.

Its text is state: an entry is written in exactly one form.
"""
