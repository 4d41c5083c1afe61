"""The LeaderWorkerSet controller of simulated clusters: the real program, outside of the cluster.

Here belongs when a stack has it, how it is started, and how the API server finds its webhooks. The pods of
its groups are run by `agent/` and `engine/` like all others.
"""
