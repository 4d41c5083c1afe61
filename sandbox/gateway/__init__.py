"""The gateway controller of simulated clusters: one real Envoy per Gateway, configured by files.

`config.py` decides as values what follows from a snapshot of the cluster. `server.py` watches the cluster,
writes the files, runs the Envoys and writes statuses back.
"""
