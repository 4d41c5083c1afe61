"""Pods and a few other objects by Kubernetes' own types: their fields, names and quantities.

A rule belongs here if a new cluster would say it only once nodes are billed, or not at all; what else an API
server refuses it says itself.
"""
