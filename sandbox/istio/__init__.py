"""Istio itself: its control plane, which runs beside a cluster, and the proxies of its Gateways.

Here belongs what istiod and its Envoys are told so that they run here. What they make of Gateways, routes and
pools is their own business.
"""
