"""One simulated cluster: its API server and etcd, CRDs, nodes, networks, ports, and the processes beside it.

Here belongs how one cluster is created, started, stopped, populated and asked. Which clusters a stack has is
decided in `sandbox/plans.py` and `sandbox/clusters.py`; what runs in the pods belongs to `agent/`, `engine/`
and `gateway/`.
"""
