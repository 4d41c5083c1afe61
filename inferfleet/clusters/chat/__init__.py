"""One question to a model of the stack, through the gateway of a cluster or through its API server.

Here belongs which way a question goes and what an answer means. It writes nothing, and asks one cluster.
"""
