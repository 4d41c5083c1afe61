"""From classes and clusters to the exact inputs of networks, clusters and node pools.

Inputs are plain values under their wire names; there are no references between resources.
"""
