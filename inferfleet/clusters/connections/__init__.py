"""How a cluster, Google or git is asked: connections, credentials, time limits. GET requests, but for
those that ARCHITECTURE.md names.

What an answer means for a run is decided in the rooms above.
"""
