"""Kubernetes objects as plain dicts, one module per kind of thing. Values in, dicts out.

Camel-case keys, JSON values, stable order, nothing shared between objects. No decision is made here.
"""
