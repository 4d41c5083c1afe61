"""How a cluster or Google is asked: connections, credentials, time limits. GET requests only.

What an answer means for a run belongs to the rooms above.
"""
