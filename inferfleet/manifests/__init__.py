"""Kubernetes objects as plain dicts, one module per subject. Values in, dicts out.

Camel-case keys, JSON values, stable order, nothing shared between objects. No decision is made here.
"""
