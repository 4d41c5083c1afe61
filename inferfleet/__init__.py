"""All decisions of inferfleet: documents in, everything that should exist out.

Pure Python that never imports pulumi. Files are read in `api.loading`, clusters and Google in `reach`; `run`
and `cli` join them.
"""
