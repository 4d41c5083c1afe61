"""The Kubernetes side of the cloud: real API servers behind clusters, Node objects behind pools, autoscaling.

What belongs here: how a record becomes API servers and nodes, and how pods change the number of nodes. What
does not: which pools may exist, quota and stock; `kubernetes_engine` decides these, and this package does
what it asks for or asks it for nodes.
"""
