"""What GKE is told, in its words: blocks of classes, clusters and pools that have rules of their own.

What a cluster or pool is belongs into `gke_cluster` and `node_pool`; what Google refuses of several fields
together is checked in `gke/recipes`.
"""
