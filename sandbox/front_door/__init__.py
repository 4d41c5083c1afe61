"""What a front door runs on: Envoy Gateway beside a cluster that nobody else gives one, a DNS server for its
pods, and their ways to the API server and to other clusters.

Here belongs what the real programs are told so that they run here. What they make of Gateways, routes and
policies is their own business.
"""
