"""CEL expressions of documents, compiled once and evaluated once per class.

The library of functions follows Kubernetes' own for DRA.
"""
