"""Plugin model-cache: where an engine keeps the models that it downloads, or finds those that are there.

`plugin` has its config and edits pods; `sources` has what a volume may be, and the sidecar of a bucket.
"""
