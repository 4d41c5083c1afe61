"""The Kubernetes side of the cloud: API servers behind clusters, nodes behind pools, autoscaling.

Nodes offer pods what GKE leaves of a machine.
"""
