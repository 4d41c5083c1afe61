"""Who scales replicas: the objects that do, and whether what they go by is there.

What Kubernetes or KEDA is told belongs here; how many replicas there may be is decided in `fleet`.
"""
