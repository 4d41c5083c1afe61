"""What a front door runs on: Envoy Gateway beside a cluster, and the ways from its pods to other clusters.

Here belongs what the real programs are told so that they run here. What they make of Gateways, routes and
policies is their own business.
"""
