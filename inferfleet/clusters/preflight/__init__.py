"""May this run go on: clusters answer, are the right ones, nothing there is somebody else's, quotas hold.

Reads clusters and Google Cloud through `reach`; never writes.
"""
