"""The stand-in for model servers: one process per cluster that answers at the addresses of many pods.

Here belongs how an engine reads its arguments, queues, answers, fails and reports its metrics. When a pod
starts or stops, and whether it is ready, is decided by the cluster's agent with the pod's probes.
"""
