"""The agent: the kubelet of a simulated cluster for pods with an engine, an endpoint picker or a proxy.

One process per cluster runs their containers and reports in the pods' status what they do. All other pods are
left to kwok (see cluster/kwok_stages.py). An image that cannot run here is refused in the pod's status;
nothing else is ever run in its place.
"""
