"""placement.lock: placements in force, and what clusters and pools were planned and created with, as value
and text; and capacity.lock, what was seen of pools.

Their text is state: an entry is written in exactly one form.
"""
