"""The gateway controller of simulated clusters: one real Envoy per Gateway, told by files what to route.

`config.py` decides from what is snapshot in the cluster, as values; `server.py` watches, writes and runs
Envoys.
"""
