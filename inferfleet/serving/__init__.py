"""Kubernetes objects as plain dicts, one module per subject, and what documents and placements say that would
make no working object of them. Values in, dicts and problems out.

Camel-case keys, JSON values, stable order, nothing shared between objects. What runs where is decided before.
"""
